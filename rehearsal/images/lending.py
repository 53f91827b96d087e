"""Credentials of its role for a real process in a pod, as the agent of EKS Pod Identity lends them on its node.

Sources: EKS user guide, "Learn how EKS Pod Identity grants pods access"; AWS SDKs and Tools reference guide, "Container
credential provider" (variables, the header, members of the answer, and that on loopback it may be plain HTTP).
"""

import hmac
import json
import secrets
from collections.abc import Mapping

from rehearsal.cluster.pages import Answer, Request
from rehearsal.images import identity
from rehearsal.kubelet.answering import on_loopback
from rehearsal.kubelet.program import Launch

PATH, PORT = "/v1/credentials", 80
_JSON = "application/json"


class Lending:
    """Answers the SDK of one process, each time with what its pod may be then; `close` when the process has ended.

    Where a pod has no role of its own, its node's is lent if it may have that, or the refusal says why not.
    """

    def __init__(self, launch: Launch) -> None:
        self._launch, self._token = launch, secrets.token_urlsafe(30)
        self._key = (launch.namespace, on_loopback(launch.pod_name))
        launch.world.backends.answer(*self._key, PORT, self._answer)

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment by which an AWS SDK asks here."""
        host, port = self._launch.world.backends.find(*self._key, PORT) or ("", 0)
        return {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://{host}:{port}{PATH}",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": self._token,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def close(self) -> None:
        self._launch.world.backends.remove(*self._key, (PORT,))

    def _answer(self, request: Request) -> Answer:
        given = request.headers.get("authorization", "")
        if request.path != PATH or not hmac.compare_digest(given.encode(), self._token.encode()):
            return _refused(403, "Unauthorized", "this is another process' endpoint")
        try:
            role = identity.of(self._launch)
        except identity.CredentialsError as error:
            return _refused(400, "AccessDeniedException", str(error))
        lent = self._launch.world.aws.sts.assume_role(RoleArn=role.arn, RoleSessionName="eks")["Credentials"]
        told = {key: lent[key] for key in ("AccessKeyId", "SecretAccessKey")} | {"Token": lent["SessionToken"]}
        expires = lent["Expiration"].strftime("%Y-%m-%dT%H:%M:%SZ")
        return Answer(json.dumps(told | {"Expiration": expires}), content_type=_JSON)


def _refused(status: int, code: str, message: str) -> Answer:
    return Answer(json.dumps({"code": code, "message": message}), status, _JSON)
