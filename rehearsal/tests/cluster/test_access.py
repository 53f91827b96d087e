"""Tokens are checked as EKS checks them, and access entries decide (Q: no entry, no access)."""

import base64
import datetime
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import botocore.session
import pytest
from botocore.credentials import Credentials
from botocore.exceptions import ReadTimeoutError
from botocore.signers import RequestSigner

from rehearsal.cluster import awsauth
from rehearsal.cluster.access import SETTLING, Access, RefusedError, UnansweredError, decode, same_principal
from rehearsal.keys import Account, Keys
from rehearsal.tests.cloud.conftest import Cloud, running

ACCOUNT = "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/platform/Deployer"
SESSION = f"arn:aws:sts::{ACCOUNT}:assumed-role/Deployer/ci"
USER = f"arn:aws:iam::{ACCOUNT}:user/someone"
AWS_AUTH = {
    "data": {
        "mapRoles": f"- {{rolearn: {ROLE}, username: 'ci:{{{{SessionName}}}}', groups: [builders]}}\n",
        "mapUsers": f"- {{userarn: {USER}, username: someone}}\n",
    }
}
ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
LONG_AGO = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running(tmp_path_factory.mktemp("cloud")) as made:
        yield made


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


OWN = Account("http://127.0.0.1:4566", Keys("AKIAREHEARSAL0000000", "rehearsal", "control"))


def token(cluster: str | None = "prod", account: Account = OWN) -> str:
    """A token made by botocore's own signer, as `aws eks get-token` makes it."""
    session = botocore.session.get_session()
    signer = RequestSigner(
        session.get_service_model("sts").service_id,
        "us-east-1",
        "sts",
        "v4",
        Credentials(account.keys.access, account.keys.secret),
        session.get_component("event_emitter"),
    )
    request = {
        "method": "GET",
        "url": f"{account.url}/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {"x-k8s-aws-id": cluster} if cluster else {},
        "context": {},
    }
    url = signer.generate_presigned_url(request, operation_name="", expires_in=60, region_name="us-east-1")
    return "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


class FakeAws:
    """STS and EKS with one caller and a few access entries."""

    mode = "API"

    def __init__(self, arn: str, entries: dict[str, dict[str, Any]], policies: dict[str, list[dict[str, Any]]]) -> None:
        self.arn, self.entries, self.policies = arn, entries, policies

    def describe_cluster(self, name: str) -> dict[str, Any]:
        assert name == "prod"
        return {"cluster": {"accessConfig": {"authenticationMode": self.mode}}}

    def get_paginator(self, operation: str) -> "FakeAws":
        assert operation == "list_access_entries"
        return self

    def paginate(self, clusterName: str) -> list[dict[str, Any]]:  # noqa: N803 - boto3's name
        assert clusterName == "prod"
        return [{"accessEntries": [entry]} for entry in self.entries]

    def describe_access_entry(self, clusterName: str, principalArn: str) -> dict[str, Any]:  # noqa: N803
        assert clusterName == "prod"
        return {"accessEntry": {"principalArn": principalArn, "createdAt": LONG_AGO, **self.entries[principalArn]}}

    def list_associated_access_policies(self, clusterName: str, principalArn: str) -> dict[str, Any]:  # noqa: N803
        assert clusterName == "prod"
        return {"associatedAccessPolicies": self.policies.get(principalArn, [])}


def access(
    monkeypatch: pytest.MonkeyPatch,
    arn: str = SESSION,
    entries: dict[str, dict[str, Any]] | None = None,
    policies: dict[str, list[dict[str, Any]]] | None = None,
    mode: str = "API",
    creator: str | None = None,
) -> Access:
    aws = FakeAws(arn, entries or {}, policies or {})
    aws.mode = mode
    monkeypatch.setattr(Access, "_client", lambda *_: aws)
    monkeypatch.setattr(Access, "_identity", lambda *_: arn)
    monkeypatch.setattr(Access, "_creator", lambda _: creator)
    return Access(OWN, "us-east-1", "prod", lambda: AWS_AUTH)


def granted(policy: str, scope: str = "cluster", at: datetime.datetime = LONG_AGO) -> dict[str, Any]:
    return {"policyArn": policy, "accessScope": {"type": scope}, "associatedAt": at}


def test_an_entry_with_the_admin_policy_makes_a_cluster_admin(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"username": f"arn:aws:sts::{ACCOUNT}:assumed-role/Deployer/{{{{SessionName}}}}", "kubernetesGroups": []}
    user = access(monkeypatch, entries={ROLE: entry}, policies={ROLE: [granted(ADMIN)]}).user(token())
    assert user.groups == ("eks:cluster-admins",)
    assert user.name == SESSION
    assert user.arn == SESSION


def test_an_entry_without_policy_authenticates_and_grants_its_own_groups_only(monkeypatch: pytest.MonkeyPatch) -> None:
    user = access(monkeypatch, USER, {USER: {"username": "someone", "kubernetesGroups": ["viewers"]}}).user(token())
    assert (user.name, user.groups) == ("someone", ("viewers",))


def test_an_entry_and_then_its_policy_take_some_seconds_to_arrive_lf05(monkeypatch: pytest.MonkeyPatch) -> None:
    made = now() - datetime.timedelta(seconds=1)
    known = access(monkeypatch, entries={ROLE: {"createdAt": made}}, policies={ROLE: [granted(ADMIN, at=now())]})
    with pytest.raises(RefusedError, match="no access entry"):
        known.user(token())
    assert known.user(token(), made + SETTLING).groups == ()
    assert known.user(token(), now() + SETTLING).groups == ("eks:cluster-admins",)


def test_a_policy_of_one_namespace_grants_nothing_in_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    user = access(monkeypatch, entries={ROLE: {}}, policies={ROLE: [granted(ADMIN, "namespace")]}).user(token())
    assert user.groups == ()


def test_without_an_entry_there_is_no_access_and_the_reason_names_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefusedError, match=f"cluster prod has no access entry for {SESSION}"):
        access(monkeypatch, entries={USER: {}}).user(token())


def test_the_config_map_lets_in_where_the_mode_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for mode in ("CONFIG_MAP", "API_AND_CONFIG_MAP"):
        user = access(monkeypatch, mode=mode).user(token())
        assert (user.name, user.groups) == ("ci:ci", ("builders",))
        assert access(monkeypatch, USER, mode=mode).user(token()).name == "someone"
    with pytest.raises(RefusedError, match="no access entry"):
        access(monkeypatch, mode="API").user(token())


def test_an_entry_comes_before_the_config_map_unless_the_mode_leaves_entries_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entries = {ROLE: {"username": "entry"}}
    assert access(monkeypatch, entries=entries, mode="API_AND_CONFIG_MAP").user(token()).name == "entry"
    assert access(monkeypatch, entries=entries, mode="CONFIG_MAP").user(token()).name == "ci:ci"


def test_who_made_a_cluster_without_entries_is_its_administrator(monkeypatch: pytest.MonkeyPatch) -> None:
    assert access(monkeypatch, mode="CONFIG_MAP", creator=ROLE).user(token()).groups == ("system:masters",)
    assert access(monkeypatch, mode="CONFIG_MAP", creator=USER).user(token()).groups == ("builders",)


def test_nodes_enter_by_the_role_that_eks_maps() -> None:
    role = f"arn:aws:iam::{ACCOUNT}:role/node"
    assert not awsauth.maps_node(AWS_AUTH, role)
    mapped = awsauth.with_node(AWS_AUTH, role)
    assert awsauth.maps_node(mapped, role)
    assert not awsauth.maps_node(mapped, ROLE), "a role without the group of nodes is none"
    assert [each.principal for each in awsauth.entries(mapped)] == [ROLE, role, USER]
    assert not awsauth.maps_node({"data": {"mapRoles": "{"}}, role)


def entering(cloud: Cloud, monkeypatch: pytest.MonkeyPatch, cluster: str = "prod") -> Access:
    """A cluster of a real account stand-in, whose EKS alone is made up."""
    aws = FakeAws(SESSION, {"arn:aws:iam::123456789012:role/deployer": {}}, {})
    monkeypatch.setattr(Access, "_client", lambda *_: aws)
    return Access(cloud.account, "us-east-1", cluster, lambda: AWS_AUTH)


def test_sts_is_asked_with_the_tokens_own_request(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    user = entering(cloud, monkeypatch).user(token(account=cloud.account))
    assert user.arn == f"arn:aws:sts::{ACCOUNT}:assumed-role/deployer/rehearsal"


def test_a_token_for_another_cluster_of_an_unknown_key_or_with_another_secret_is_refused(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, known = cloud.account, cloud.account.keys
    wrong = {
        "SignatureDoesNotMatch": [token("dev", own), token(account=replace(own, keys=replace(known, secret="other")))],
        "InvalidClientTokenId": [token(account=replace(own, keys=replace(known, access="AKIAREHEARSAL0000000")))],
    }
    for code, tokens in wrong.items():
        for each in tokens:
            with pytest.raises(RefusedError, match=rf"STS refuses the token \({code}\).*not for cluster prod"):
                entering(cloud, monkeypatch).user(each)


def test_a_token_that_was_signed_for_another_address_is_not_sent_there(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = token(account=replace(cloud.account, url="http://sts.example.com"))
    with pytest.raises(RefusedError, match=r"sts\.example\.com, which is not this account's STS"):
        entering(cloud, monkeypatch).user(elsewhere)


def test_a_token_of_a_clock_that_runs_ahead_is_refused() -> None:
    made = token()
    assert decode(made, now() - datetime.timedelta(minutes=4)).key_id == OWN.keys.access
    with pytest.raises(RefusedError, match="of a time to come"):
        decode(made, now() - datetime.timedelta(minutes=6))


def test_a_token_expires_after_fifteen_minutes() -> None:
    made = token()
    assert decode(made, now() + datetime.timedelta(minutes=14)).key_id == OWN.keys.access
    with pytest.raises(RefusedError, match="older than 15 minutes"):
        decode(made, now() + datetime.timedelta(minutes=16))


def encoded(url: str) -> str:
    return "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("", "does not begin with"),
        ("Bearer abc", "does not begin with"),
        ("k8s-aws-v1.é", "not the base64url form"),
        ("k8s-aws-v1.abc", "not the base64url form"),
        (encoded("https://example.com/"), "not a presigned GetCallerIdentity"),
        (encoded("http://h/?Action=AssumeRole&X-Amz-Credential=K/1"), "not a presigned GetCallerIdentity"),
    ],
)
def test_what_is_no_token_is_refused_without_being_repeated(wrong: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason) as refusal:
        decode(wrong, now())
    assert not wrong or wrong not in str(refusal.value)


def test_a_token_must_name_a_cluster() -> None:
    with pytest.raises(RefusedError, match="does not cover the header x-k8s-aws-id"):
        decode(token(cluster=None), now())


@pytest.mark.parametrize(
    ("principal", "arn", "same"),
    [
        (ROLE, SESSION, True),
        (f"arn:aws:iam::{ACCOUNT}:role/Deployer", SESSION, True),
        (f"arn:aws:iam::{ACCOUNT}:role/Deployer2", SESSION, False),
        ("arn:aws:iam::999999999999:role/Deployer", SESSION, False),
        (f"arn:aws:iam::{ACCOUNT}:user/Deployer", SESSION, False),
        (USER, USER, True),
        (USER, f"arn:aws:iam::{ACCOUNT}:user/else", False),
    ],
)
def test_a_session_matches_the_role_it_assumed(principal: str, arn: str, same: bool) -> None:
    assert same_principal(principal, arn) is same


def test_who_is_not_told_in_time_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine makes STS and EKS run late; nobody listens at the first port."""
    away = replace(OWN, url="http://127.0.0.1:1")
    with pytest.raises(UnansweredError, match="STS does not answer"):
        Access(away, "us-east-1", "prod").user(token(account=away))

    def late(*_: Any, **__: Any) -> dict[str, Any]:
        raise ReadTimeoutError(endpoint_url="eks")

    monkeypatch.setattr(FakeAws, "describe_cluster", late)
    with pytest.raises(UnansweredError, match="EKS does not answer"):
        access(monkeypatch).user(token())
