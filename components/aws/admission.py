"""Waits until a new cluster admits its deployer, before the Kubernetes provider connects.

An access entry takes some seconds to reach the API servers (EKS user guide, "Grant IAM users access to Kubernetes with
EKS access entries": eventually consistent), and the provider asks once, when it is configured: one 401 there fails
every Kubernetes resource of the run (pulumi-kubernetes, provider.go, Configure). So the kubeconfig is handed on when
its own credentials have been admitted. It takes what the kubeconfig takes anyway, the AWS CLI, and is no resource:
there is nothing to preview, to keep in the state or to differ. A cluster whose access is older is not asked.
"""

import asyncio
import base64
import json
import os
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pulumi

SETTLED = timedelta(minutes=10)
"""Age after which access is everywhere: AWS speaks of seconds and names no number."""
PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 1.0
TIMEOUT_SECONDS = 5.0
IN_A_ROW = 3
"""EKS runs two API servers or more behind one name, and each learns of an entry by itself."""
QUESTION = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SelfSubjectAccessReview",
    "spec": {"resourceAttributes": {"verb": "create", "resource": "namespaces"}},
}
REMEDIES = {
    401: "the deployer has no access entry: check `aws sts get-caller-identity`, and deploy as the principal of the"
    " entry, or set yours (security.deployerArn)",
    403: "the access entry lacks the administrator policy: associate AmazonEKSClusterAdminPolicy",
    0: "the endpoint is unreachable from here: add your network to platform.publicAccessCidrs or platform.access,"
    " and check that it is connected to the VPC if the endpoint is private",
}


class NotAdmittedError(Exception):
    """The API server does not let us in; `status` is its answer, 0 for none."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


async def admitted(kubeconfig: str, granted_at: str) -> str:
    """The kubeconfig, once its cluster lets in who uses it; `granted_at` (RFC 3339) is when access was given.

    A preview does not wait. Raises pulumi.RunError if the cluster does not let us in within a minute.
    """
    if pulumi.runtime.is_dry_run() or datetime.now(UTC) - datetime.fromisoformat(granted_at) > SETTLED:
        return kubeconfig
    await asyncio.to_thread(await_admission, json.loads(kubeconfig))
    return kubeconfig


def await_admission(kubeconfig: dict[str, Any], clock: Callable[[], float] = time.monotonic) -> None:
    """Return when the cluster has let us in several times in a row. Raises pulumi.RunError after `PATIENCE_SECONDS`."""
    server = kubeconfig["clusters"][0]["cluster"]["server"]
    deadline, admissions, bearer = clock() + PATIENCE_SECONDS, 0, ""
    while admissions < IN_A_ROW:
        try:
            bearer = bearer or token(kubeconfig)
            ask(kubeconfig, bearer)
            admissions += 1
        except NotAdmittedError as error:
            if clock() > deadline:
                raise pulumi.RunError(
                    f"the Kubernetes API at {server} has not admitted the deployer after {PATIENCE_SECONDS:.0f} s "
                    f"({error}): {REMEDIES.get(error.status, REMEDIES[0])}; then run again"
                ) from None
            admissions = 0
            time.sleep(PAUSE_SECONDS)


def token(kubeconfig: dict[str, Any]) -> str:
    """A token of the kubeconfig's own command, valid for 15 minutes. Raises pulumi.RunError with what that says."""
    command = kubeconfig["users"][0]["user"]["exec"]
    env = os.environ | {each["name"]: each["value"] for each in command["env"] or ()}
    words = [command["command"], *command["args"]]
    try:
        run = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or error
        raise pulumi.RunError(
            f"`{' '.join(words)}` returns no token ({str(said).strip()}): install the AWS CLI, or fix what it reports"
        ) from None
    return str(json.loads(run.stdout)["status"]["token"])


def ask(kubeconfig: dict[str, Any], bearer: str) -> None:
    """Ask the API server, on a new connection, whether we may make namespaces. Raises NotAdmittedError."""
    cluster = kubeconfig["clusters"][0]["cluster"]
    tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    # Python 3.13 wants key identifiers that the certificates of EKS do not carry.
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    request = urllib.request.Request(  # noqa: S310 - the endpoint that EKS gives is https
        f"{cluster['server']}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        data=json.dumps(QUESTION).encode(),
        headers={"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS, context=tls) as answer:  # noqa: S310
            allowed = json.load(answer)["status"]["allowed"]
    except urllib.error.HTTPError as error:
        raise NotAdmittedError(error.code, f"{error.code} {error.reason}") from None
    except (OSError, ValueError) as error:
        raise NotAdmittedError(0, f"no answer: {getattr(error, 'reason', error)}") from None
    if not allowed:
        raise NotAdmittedError(403, "authenticated, but without permissions")
