"""Who an EKS token belongs to, and what the cluster's access entries, or its ConfigMap `aws-auth`, give them.

A token is `k8s-aws-v1.` and the base64url form of a presigned STS GetCallerIdentity request, whose signature covers the
header `x-k8s-aws-id` with the cluster's name. Source: kubernetes-sigs/aws-iam-authenticator and the EKS user guide,
"Grant IAM users access to Kubernetes with EKS access entries".
"""

import base64
import datetime
import hashlib
import hmac
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import boto3
import botocore.exceptions
import urllib3
from botocore.config import Config

from rehearsal.cluster import awsauth

# The access key every rehearsal works with. No secret: any key opens an account that lives on loopback.
DEPLOYER_KEY, DEPLOYER_SECRET = "AKIAREHEARSAL0000000", "rehearsal"
PREFIX = "k8s-aws-v1."
CLUSTER_HEADER = "x-k8s-aws-id"
ADMINISTRATORS = "system:masters"
TOKEN_LIFETIME = datetime.timedelta(minutes=15)
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


@dataclass(frozen=True)
class Token:
    """A decoded token: whose key signed it, and what was signed."""

    key_id: str
    host: str
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
    decoded = Token(key_id, parts.netloc, query)
    if CLUSTER_HEADER not in decoded.signed_headers:
        raise RefusedError(f"the token's signature does not cover the header {CLUSTER_HEADER}")
    _check_age(query, now)
    return decoded


def _check_age(query: Mapping[str, str], now: datetime.datetime) -> None:
    try:
        signed = datetime.datetime.strptime(query.get("X-Amz-Date", ""), "%Y%m%dT%H%M%SZ")
    except ValueError as error:
        raise RefusedError("the token carries no date") from error
    if now - signed.replace(tzinfo=datetime.UTC) > TOKEN_LIFETIME:
        raise RefusedError("the token is older than 15 minutes")


def signature(token: Token, cluster: str, secret: str) -> str:
    """What the token's signature must be if it is for this cluster (AWS Signature Version 4, query form)."""
    headers = {"host": token.host, CLUSTER_HEADER: cluster}
    query = sorted((name, value) for name, value in token.query.items() if name != "X-Amz-Signature")
    request = "\n".join(
        [
            "GET",
            "/",
            "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in query),
            *(f"{name}:{headers.get(name, '')}" for name in token.signed_headers),
            "",
            ";".join(token.signed_headers),
            hashlib.sha256(b"").hexdigest(),
        ]
    )
    scope = token.query["X-Amz-Credential"].split("/")[1:]
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", token.query["X-Amz-Date"], "/".join(scope), digest])
    key = f"AWS4{secret}".encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Access:
    """Answers for one cluster who may enter, by asking the account's STS and EKS.

    A signature, and with it the cluster that a token is for, can be checked for the rehearsal's own key only: the
    stand-in does not tell the secrets of others.
    """

    def __init__(
        self, cloud_url: str, region: str, cluster: str, config_map: Callable[[], awsauth.Object | None] = lambda: None
    ) -> None:
        self._cloud_url = cloud_url
        self._config_map = config_map
        self._region = region
        self._cluster = cluster
        self._lock = threading.Lock()
        self._eks = self._client("eks", "rehearsal")

    def user(self, token: str, now: datetime.datetime | None = None) -> User:
        """The user a token stands for. Raises RefusedError."""
        now = now or datetime.datetime.now(datetime.UTC)
        decoded = decode(token, now)
        if decoded.key_id == DEPLOYER_KEY:
            expected = signature(decoded, self._cluster, DEPLOYER_SECRET)
            if not hmac.compare_digest(expected, decoded.query.get("X-Amz-Signature", "")):
                raise RefusedError(f"the token's signature is wrong: it is not for cluster {self._cluster}")
        arn = self._identity(decoded)
        try:
            found = self._found(arn, now)
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
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
        answer = urllib3.request("GET", f"{self._cloud_url}/rehearsal/clusters", timeout=10.0, retries=False)
        rows = (each for each in answer.json() if (each["region"], each["name"]) == (self._region, self._cluster))
        return next((each["creator"] for each in rows), None)

    def _identity(self, token: Token) -> str:
        sts = self._client("sts", token.key_id, token.query.get("X-Amz-Security-Token"))
        try:
            return str(sts.get_caller_identity()["Arn"])
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
            raise RefusedError(f"STS does not know the token's key: {error}") from error

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

    def _client(self, service: str, key_id: str, session_token: str | None = None) -> Any:
        with self._lock:  # boto3's default session is not safe to share while clients are made
            return boto3.session.Session().client(
                service,
                region_name=self._region,
                endpoint_url=self._cloud_url,
                aws_access_key_id=key_id,
                aws_secret_access_key="unused",  # noqa: S106 - the stand-in checks the id only
                aws_session_token=session_token,
                config=Config(
                    retries={"mode": "standard", "total_max_attempts": 3}, connect_timeout=3, read_timeout=10
                ),
            )


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
