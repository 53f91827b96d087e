"""The AWS role of a workflow's job: who may take it, and that one that looks changes nothing (AB01)."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from review.trust import CHANGES, main

PROVIDER = "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com"
SUB, AUD = "token.actions.githubusercontent.com:sub", "token.actions.githubusercontent.com:aud"
EQUAL = {SUB: "repo:acme/cluster:environment:prod", AUD: "sts.amazonaws.com"}
NARROW: dict[str, Any] = {
    "Effect": "Allow",
    "Action": "sts:AssumeRoleWithWebIdentity",
    "Principal": {"Federated": PROVIDER},
    "Condition": {"StringEquals": EQUAL},
}
WORDS = ["--environment", "prod", "--repository", "acme/cluster"]


class Role:
    """An account whose caller has a role with this trust, and may do what is `allowed`."""

    def __init__(self, *statements: dict[str, Any], caller: str = "assumed-role/deploy/job", allowed: str = "") -> None:
        self._trust = {"Version": "2012-10-17", "Statement": list(statements)}
        self._caller, self._allowed = f"arn:aws:sts::123456789012:{caller}", allowed

    def pages(self, service: str, operation: str, **request: Any) -> Any:
        raise AssertionError(f"{service} {operation} {request}")

    def call(self, service: str, operation: str, **request: Any) -> Any:
        arn = "arn:aws:iam::123456789012:role/deploy"
        if operation == "get_caller_identity":
            return {"Arn": self._caller}
        if operation == "get_role":
            assert (service, request) == ("iam", {"RoleName": "deploy"})
            return {"Role": {"Arn": arn, "AssumeRolePolicyDocument": self._trust}}
        assert (operation, request) == (
            "simulate_principal_policy",
            {"PolicySourceArn": arn, "ActionNames": list(CHANGES)},
        )
        return {
            "EvaluationResults": [
                {"EvalActionName": each, "EvalDecision": "allowed" if each == self._allowed else "implicitDeny"}
                for each in CHANGES
            ]
        }


def test_a_role_for_one_environment_that_changes_nothing_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "--look"], account=Role({"Effect": "Deny", "Principal": "*"}, NARROW)) == 0
    assert main(WORDS, account=Role(NARROW, allowed="iam:CreateRole")) == 0, "a deployment makes roles"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"Principal": "*"}, "Principal: * may take it too; write the OIDC provider"),
        ({"Principal": {"Federated": PROVIDER, "AWS": "arn:aws:iam::1:root"}}, "may take it too"),
        ({"Principal": {"Federated": [PROVIDER, "accounts.google.com"]}}, "may take it too"),
        ({"Condition": None}, 'write "token.actions.githubusercontent.com:sub": "repo:acme/cluster:environment:prod"'),
        ({"Condition": {"StringLike": EQUAL}}, 'sub": "repo:acme/cluster:environment:prod"'),
        ({"Condition": {"StringEquals": {**EQUAL, SUB: "repo:acme/cluster:*"}}}, "other jobs may take it"),
        ({"Condition": {"StringEquals": {**EQUAL, SUB: [EQUAL[SUB], "repo:acme/other:environment:prod"]}}}, "jobs may"),
        ({"Condition": {"StringEquals": {SUB: EQUAL[SUB]}}}, 'aud": "sts.amazonaws.com"'),
    ],
)
def test_a_role_that_others_may_take_is_refused(
    change: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(WORDS, account=Role(NARROW, {**NARROW, **change})) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("arn:aws:iam::123456789012:role/deploy: Statement[1].")
    assert said in shown


@pytest.mark.parametrize("action", ["ec2:TerminateInstances", "eks:DeleteCluster", "iam:CreateRole", "s3:DeleteBucket"])
def test_a_role_that_looks_and_may_change_something_is_refused(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "--look"], account=Role(NARROW, allowed=action)) == 1
    assert f"role/deploy: {action}: a job that looks needs no such right; remove it" in capsys.readouterr().err


def test_who_is_no_role_and_what_cannot_be_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(WORDS, account=Role(NARROW, caller="user/somebody")) == 2
    assert "user/somebody is no role" in capsys.readouterr().err

    class Denied(Role):
        def call(self, service: str, operation: str, **request: Any) -> Any:
            if operation == "get_role":
                raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, operation)
            return super().call(service, operation, **request)

    assert main(WORDS, account=Denied(NARROW)) == 2
    assert "the role cannot be looked at: An error occurred (AccessDenied)" in capsys.readouterr().err
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    assert main(["--environment", "prod"], account=Role(NARROW)) == 2
    assert "type --repository OWNER/NAME" in capsys.readouterr().err
