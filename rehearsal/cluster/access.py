"""Who an EKS token belongs to, and what the cluster's access entries, or its ConfigMap `aws-auth`, give them.

A token is `k8s-aws-v1.` and the base64url form of a presigned STS GetCallerIdentity request, whose signature covers the
header `x-k8s-aws-id` with the cluster's name. Source: kubernetes-sigs/aws-iam-authenticator and the EKS user guide,
"Grant IAM users access to Kubernetes with EKS access entries".
"""

import base64
import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import botocore.exceptions
import urllib3
from botocore.config import Config

from rehearsal.cluster import awsauth
from rehearsal.keys import Account

PREFIX = "k8s-aws-v1."
CLUSTER_HEADER = "x-k8s-aws-id"
ADMINISTRATORS = "system:masters"
TOKEN_LIFETIME = datetime.timedelta(minutes=15)
SKEW = datetime.timedelta(minutes=5)
"""How far the clocks of who signs and of STS may be apart (IAM user guide, "Troubleshoot Signature Version 4")."""
_ARN, _CODE = re.compile(r"<Arn>([^<]+)</Arn>"), re.compile(r"<Code>([^<]+)</Code>")
# A new access entry, and a new policy of one, reach the API servers some seconds after the call that made them has
# answered; no number is named (EKS user guide, "Grant IAM users access to Kubernetes with EKS access entries", things
# to consider: eventually consistent). Until then the token is unknown, or known and without rights.
SETTLING = datetime.timedelta(seconds=3)
# Access policies of EKS, as far as they are known here, and the group that stands for each in RBAC.
POLICY_GROUPS = {
    "AmazonEKSClusterAdminPolicy": "eks:cluster-admins",
    "AmazonEKSAdminPolicy": "eks:admins",
    "AmazonEKSEditPolicy": "eks:editors",
    "AmazonEKSViewPolicy": "eks:viewers",
}


class RefusedError(Exception):
    """The token gives no access; the text says why and never holds the token."""


class UnansweredError(Exception):
    """The account did not answer in time: whose the token is is not known yet."""


@dataclass(frozen=True)
class Token:
    """A decoded token: whose key signed it, and what was signed."""

    key_id: str
    host: str
    text: str
    """The query, as it was signed."""
    query: Mapping[str, str]

    @property
    def signed_headers(self) -> list[str]:
        return self.query.get("X-Amz-SignedHeaders", "").split(";")


@dataclass(frozen=True)
class User:
    """A Kubernetes user as the API server is to see it."""

    name: str
    groups: tuple[str, ...]
    arn: str


def decode(token: str, now: datetime.datetime) -> Token:
    """Take a token apart. Raises RefusedError if it is none, is not for a cluster, or is too old."""
    if not token.startswith(PREFIX):
        raise RefusedError(f"the token does not begin with {PREFIX}")
    body = token.removeprefix(PREFIX)
    try:
        parts = urlsplit(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode("ascii"))
    except ValueError as error:
        raise RefusedError("the token is not the base64url form of a URL") from error
    query = dict(parse_qsl(parts.query))
    key_id = query.get("X-Amz-Credential", "").partition("/")[0]
    if query.get("Action") != "GetCallerIdentity" or not key_id:
        raise RefusedError("the token is not a presigned GetCallerIdentity request")
    decoded = Token(key_id, parts.netloc, parts.query, query)
    if CLUSTER_HEADER not in decoded.signed_headers:
        raise RefusedError(f"the token's signature does not cover the header {CLUSTER_HEADER}")
    _check_age(query, now)
    return decoded


def _check_age(query: Mapping[str, str], now: datetime.datetime) -> None:
    try:
        signed = datetime.datetime.strptime(query.get("X-Amz-Date", ""), "%Y%m%dT%H%M%SZ")
    except ValueError as error:
        raise RefusedError("the token carries no date") from error
    age = now - signed.replace(tzinfo=datetime.UTC)
    if age > TOKEN_LIFETIME:
        raise RefusedError("the token is older than 15 minutes")
    if age < -SKEW:
        raise RefusedError("the token is of a time to come: a clock was set back, or this one runs late")


class Access:
    """Answers for one cluster who may enter, by asking the account's STS and EKS.

    As EKS does, it sends the presigned request of the token to STS with this cluster's name in the header: only a token
    made for this cluster, by a key that the account knows, has the signature for that.
    """

    def __init__(
        self,
        account: Account,
        region: str,
        cluster: str,
        config_map: Callable[[], awsauth.Object | None] = lambda: None,
    ) -> None:
        self._account = account
        self._config_map = config_map
        self._region = region
        self._cluster = cluster
        self._eks = self._client()

    def user(self, token: str, now: datetime.datetime | None = None) -> User:
        """The user a token stands for. Raises RefusedError and UnansweredError."""
        now = now or datetime.datetime.now(datetime.UTC)
        decoded = decode(token, now)
        arn = self._identity(decoded)
        try:
            found = self._found(arn, now)
        except botocore.exceptions.BotoCoreError as error:
            raise UnansweredError(f"EKS does not answer for {arn}: {error}") from error
        except botocore.exceptions.ClientError as error:
            raise RefusedError(f"EKS does not answer for {arn}: {error}") from error
        if found is None:
            raise RefusedError(f"cluster {self._cluster} has no access entry for {arn}")
        return found

    def _found(self, arn: str, now: datetime.datetime) -> User | None:
        """Access entries come before the ConfigMap, which the mode may leave out, as it may leave out the entries."""
        cluster = self._eks.describe_cluster(name=self._cluster)["cluster"]
        mode = cluster["accessConfig"]["authenticationMode"]
        entry = None if mode == "CONFIG_MAP" else self._entry(arn)
        if entry is not None and now >= entry["createdAt"] + SETTLING:
            return User(_username(entry, arn), self._groups(entry, now), arn)
        if mode == "API":
            return None
        creator = self._creator() if mode == "CONFIG_MAP" else None
        if creator is not None and same_principal(creator, arn):
            return User("kubernetes-admin", (ADMINISTRATORS,), arn)
        mapped = (each for each in awsauth.entries(self._config_map()) if same_principal(each.principal, arn))
        return next((User(_username({"username": each.username}, arn), each.groups, arn) for each in mapped), None)

    def _creator(self) -> str | None:
        """The principal that made a cluster which knows ConfigMap access only: no API of AWS tells."""
        answer = self._account.ask("GET", "clusters")
        rows = (each for each in answer.json() if (each["region"], each["name"]) == (self._region, self._cluster))
        return next((each["creator"] for each in rows), None)

    def _identity(self, token: Token) -> str:
        if token.host != self._account.host:
            raise RefusedError(f"the token is a request to {token.host}, which is not this account's STS")
        # aws-iam-authenticator, pkg/token, Verify: the request as it was signed, and the cluster's name of its own.
        url, headers = f"{self._account.url}/?{token.text}", {CLUSTER_HEADER: self._cluster}
        try:
            answer = urllib3.request("GET", url, headers=headers, timeout=10.0, retries=False)
        except urllib3.exceptions.HTTPError as error:
            raise UnansweredError(f"STS does not answer: {error}") from error
        found = _ARN.search(answer.data.decode(errors="replace"))
        if answer.status != HTTPStatus.OK or found is None:
            code = _CODE.search(answer.data.decode(errors="replace"))
            reason = code[1] if code else f"status {answer.status}"
            raise RefusedError(
                f"STS refuses the token ({reason}): its key is not known, or it is not for cluster {self._cluster}"
            )
        return found[1]

    def _entry(self, arn: str) -> dict[str, Any] | None:
        """The access entry for an identity, if it has one."""
        pages = self._eks.get_paginator("list_access_entries").paginate(clusterName=self._cluster)
        entries = [principal for page in pages for principal in page["accessEntries"]]
        principal = next((each for each in entries if same_principal(each, arn)), None)
        if principal is None:
            return None
        answer = self._eks.describe_access_entry(clusterName=self._cluster, principalArn=principal)
        return dict(answer["accessEntry"])

    def _groups(self, entry: Mapping[str, Any], now: datetime.datetime) -> tuple[str, ...]:
        """The groups of an entry: its own, and one for each access policy with cluster scope that has settled."""
        answer = self._eks.list_associated_access_policies(
            clusterName=self._cluster, principalArn=entry["principalArn"]
        )
        policies = [
            policy["policyArn"].rpartition("/")[2]
            for policy in answer["associatedAccessPolicies"]
            if policy["accessScope"]["type"] == "cluster" and now >= policy["associatedAt"] + SETTLING
        ]
        granted = [POLICY_GROUPS[policy] for policy in policies if policy in POLICY_GROUPS]
        return tuple(dict.fromkeys([*entry.get("kubernetesGroups", ()), *granted]))

    def _client(self) -> Any:
        retries = {"mode": "standard", "total_max_attempts": 3}
        return self._account.client("eks", self._region, Config(retries=retries, connect_timeout=3, read_timeout=10))


def same_principal(principal: str, arn: str) -> bool:
    """Whether an access entry's principal is the caller: itself, or the role that the caller's session assumed.

    A session's ARN leaves out the role's path, so a role is compared by account and name.
    """
    if principal == arn:
        return True
    _, _, service, _, account, resource = arn.split(":", 5)
    kind, _, rest = resource.partition("/")
    if service != "sts" or kind != "assumed-role":
        return False
    _, _, service, _, its_account, its_resource = principal.split(":", 5)
    its_kind, _, its_path = its_resource.partition("/")
    same_account = (service, its_kind, its_account) == ("iam", "role", account)
    return same_account and its_path.rpartition("/")[2] == rest.partition("/")[0]


def _username(entry: Mapping[str, Any], arn: str) -> str:
    session = arn.rpartition("/")[2]
    return str(entry.get("username") or arn).replace("{{SessionName}}", session)
