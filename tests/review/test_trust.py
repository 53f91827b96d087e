"""The AWS role of a workflow's job: who may take it, and that one that looks changes nothing (AB01)."""

import re
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from review.rights import DEPLOY, JOBS, LOOK, PUSH, ROLES, SERVICES, beyond
from review.trust import CHANGES, main
from tests.graph.stackfiles import graph_of

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
    """An account whose caller has a role with this trust, and may do what is `allowed`.

    Its policies by name: of the `managed`, those of AWS begin with aws:.
    """

    def __init__(
        self,
        *statements: dict[str, Any],
        caller: str = "assumed-role/deploy/job",
        allowed: str = "",
        managed: dict[str, Any] | None = None,
        inline: dict[str, Any] | None = None,
    ) -> None:
        self._managed, self._inline = managed or {}, inline or {}
        self._trust = {"Version": "2012-10-17", "Statement": list(statements)}
        self._caller, self._allowed = f"arn:aws:sts::123456789012:{caller}", allowed

    def pages(self, service: str, operation: str, **request: Any) -> Any:
        assert (service, request) == ("iam", {"RoleName": "deploy"})
        if operation == "list_role_policies":
            return ({"PolicyNames": [each]} for each in self._inline)
        assert operation == "list_attached_role_policies"
        names = {each: each.removeprefix("aws:") for each in self._managed}
        owner = {each: "aws" if each.startswith("aws:") else "123456789012" for each in names}
        arns = {each: f"arn:aws:iam::{owner[each]}:policy/{name}" for each, name in names.items()}
        return ({"AttachedPolicies": [{"PolicyName": names[each], "PolicyArn": arns[each]}]} for each in names)

    def call(self, service: str, operation: str, **request: Any) -> Any:
        arn = "arn:aws:iam::123456789012:role/deploy"
        if operation == "get_caller_identity":
            return {"Arn": self._caller}
        if operation == "get_role":
            assert (service, request) == ("iam", {"RoleName": "deploy"})
            return {"Role": {"Arn": arn, "AssumeRolePolicyDocument": self._trust}}
        if operation == "get_policy":
            return {"Policy": {"DefaultVersionId": "v3"}}
        if operation == "get_policy_version":
            assert request["VersionId"] == "v3"
            owner, _, name = request["PolicyArn"].rpartition("::")[2].partition(":policy/")
            return {"PolicyVersion": {"Document": self._managed["aws:" * (owner == "aws") + name]}}
        if operation == "get_role_policy":
            return {"PolicyDocument": self._inline[request["PolicyName"]]}
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


def policy(*actions: str, resource: Any = "*", **more: Any) -> dict[str, Any]:
    allow = {"Effect": "Allow", "Action": list(actions), "Resource": resource, **more}
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}, allow]}


ADMIN = policy("*")
ACCOUNT = "arn:aws:iam::123456789012"
ROLE, LINKED = f"{ACCOUNT}:role/gpucluster-prod-*", f"{ACCOUNT}:role/aws-service-role/*"
POWER = {"Statement": {"Effect": "Allow", "NotAction": ["iam:*", "organizations:*"], "Resource": "*"}}
STATE = policy(
    "s3:PutObject", "s3:DeleteObject", "kms:Decrypt", resource=["arn:aws:s3:::acme-state/*", "arn:aws:kms:key"]
)
OF_ROLES = ("Role", "RolePolicy", "RolePolicyAttachment")


@pytest.mark.parametrize(
    ("job", "policies", "said"),
    [
        (
            [],
            {"managed": {"aws:AdministratorAccess": ADMIN}},
            "AdministratorAccess: Statement[1].Action: *: a job that",
        ),
        ([], {"managed": {"aws:PowerUserAccess": POWER}}, "PowerUserAccess: Statement[0].NotAction: it allows all"),
        (
            [],
            {"inline": {"own": policy("ec2:*", "organizations:LeaveOrganization")}},
            "organizations:LeaveOrganization",
        ),
        ([], {"inline": {"own": policy("iam:*")}}, "own: Statement[1].Action: iam:*: a job that deploys needs no"),
        ([], {"inline": {"own": policy("iam:CreateAccessKey")}}, "iam:CreateAccessKey"),
        ([], {"inline": {"own": policy("iam:Create*")}}, "iam:Create*"),
        ([], {"inline": {"own": policy("IAM:attachuserpolicy")}}, "IAM:attachuserpolicy"),
        ([], {"inline": {"own": policy("iam:*Policy*")}}, "iam:*Policy*"),
        ([], {"inline": {"own": policy("iam:CreatePolicyVersion", resource=ROLE)}}, "iam:CreatePolicyVersion"),
        ([], {"inline": {"own": policy("iam:PutRolePolicy")}}, "of anything; write the stack's roles, such as arn:"),
        ([], {"inline": {"own": policy("iam:PassRole", resource=[ROLE, f"{ACCOUNT}:role/*"])}}, "of anything; write"),
        ([], {"inline": {"own": policy("iam:AttachRolePolicy", resource=f"{ACCOUNT}:*")}}, "of anything; write"),
        ([], {"managed": {"ours": policy("sagemaker:*")}}, "ours: Statement[1].Action: sagemaker:*"),
        ([], {"inline": {"own": policy("secretsmanager:*")}}, "own: Statement[1].Action: secretsmanager:*"),
        ([], {"inline": {"own": policy("secretsmanager:GetSecretValue")}}, "secretsmanager:GetSecretValue"),
        (["--look"], {"managed": {"aws:AdministratorAccess": ADMIN}}, "*: a job that looks needs no such right"),
        (["--look"], {"managed": {"ReadOnlyAccess": policy("ec2:RunInstances")}}, "ec2:RunInstances"),
        (["--look"], {"inline": {"own": policy("secretsmanager:GetSecretValue")}}, "secretsmanager:GetSecretValue"),
        (
            ["--look"],
            {"inline": {"own": policy("s3:PutObject")}},
            "s3:PutObject: of anything; write the state's bucket",
        ),
        (["--look"], {"inline": {"own": policy("s3:PutObject", resource="arn:aws:s3:::*/*")}}, "of anything; write"),
        (
            ["--look"],
            {"inline": {"own": policy("kms:Decrypt", resource="arn:aws:kms:*:1:key/*")}},
            "of anything; write",
        ),
        (["--look"], {"inline": {"own": policy("s3:Put*", resource="arn:aws:s3:::a/*")}}, "s3:Put*: a job that looks"),
        (["--images"], {"inline": {"own": policy("ecr:*")}}, "ecr:*: a job that pushes images needs no such right"),
        (["--images"], {"inline": {"own": policy("ecr:DeleteRepository")}}, "ecr:DeleteRepository"),
        (["--images"], {"inline": {"own": policy("kms:ScheduleKeyDeletion")}}, "kms:ScheduleKeyDeletion"),
    ],
)
def test_a_role_whose_policies_allow_more_is_refused(
    job: list[str], policies: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the policy's name, the place in it and the action."""
    assert main([*WORDS, *job], account=Role(NARROW, **policies)) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("arn:aws:iam::123456789012:role/deploy: ")
    assert said in line


@pytest.mark.parametrize(
    ("job", "policies"),
    [
        ([], {"inline": {"own": policy(*DEPLOY), "roles": policy(*ROLES, resource=ROLE)}}),
        (
            [],
            {
                "inline": {
                    "own": policy("iam:PassRole", "iam:CreateServiceLinkedRole", "ec2:*", resource=[ROLE, LINKED])
                }
            },
        ),
        (["--look"], {"managed": {"aws:ReadOnlyAccess": policy("athena:Get*")}, "inline": {"state": STATE}}),
        (["--look"], {"inline": {"own": policy(*LOOK)}}),
        (["--images"], {"inline": {"own": policy(*PUSH)}}),
    ],
)
def test_a_role_that_may_do_what_its_job_does_passes(
    job: list[str], policies: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, *job], account=Role(NARROW, **policies)) == 0
    assert capsys.readouterr().err == ""


IAM_READS = ("iam:GetRole", "iam:GetRolePolicy", "iam:GetPolicy", "iam:GetPolicyVersion", "iam:ListRolePolicies")
USED = {
    "images": [
        *("ecr:GetAuthorizationToken", "ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:PutImage"),
        *("ecr:GetDownloadUrlForLayer", "ecr:InitiateLayerUpload", "ecr:UploadLayerPart", "ecr:CompleteLayerUpload"),
        *("ecr:DescribeRepositories", "ecr:ListImages", "kms:Sign", "kms:GetPublicKey", "kms:DescribeKey"),
        *(*IAM_READS, "iam:ListAttachedRolePolicies"),
    ],
    "look": [
        *("ec2:DescribeInstances", "eks:ListClusters", "elasticloadbalancing:DescribeTags", "events:ListRules"),
        *("logs:DescribeLogGroups", "sts:GetCallerIdentity", "ce:GetAnomalyMonitors", "tag:GetResources"),
        *("elasticfilesystem:DescribeFileSystems", "s3:GetObject", "s3:HeadBucket", "s3:HeadObject", "kms:DescribeKey"),
        *(*IAM_READS, "iam:ListAttachedRolePolicies", "iam:SimulatePrincipalPolicy"),
    ],
    "deploy": [
        *("ec2:RunInstances", "eks:CreateCluster", "elasticloadbalancing:DeleteLoadBalancer", "events:PutRule"),
        *("logs:DeleteLogGroup", "sts:GetCallerIdentity", "ce:CreateAnomalyMonitor", "tag:GetResources"),
        *(*IAM_READS, "iam:ListAttachedRolePolicies", "iam:ListInstanceProfilesForRole", "iam:SimulatePrincipalPolicy"),
    ],
}
NAMED = {
    "look": ["s3:PutObject", "s3:DeleteObject", "kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"],
    "deploy": [
        *("iam:CreateRole", "iam:DeleteRole", "iam:TagRole", "iam:PassRole", "iam:UpdateAssumeRolePolicy"),
        *("iam:PutRolePolicy", "iam:AttachRolePolicy", "iam:DetachRolePolicy", "iam:CreateServiceLinkedRole"),
        *("iam:CreateInstanceProfile", "iam:AddRoleToInstanceProfile", "iam:DeleteInstanceProfile"),
    ],
}


@pytest.mark.parametrize("job", sorted(JOBS))
def test_each_action_of_a_job_is_allowed_and_what_changes_the_state_or_roles_where_it_is_named(job: str) -> None:
    """By their names in the service authorization reference."""
    named = policy(*NAMED.get(job, ()), resource=[ROLE, "arn:aws:s3:::acme-state/*", "arn:aws:kms:us-east-2:1:key/1-2"])
    assert [*beyond(JOBS[job], policy(*USED[job])), *beyond(JOBS[job], named)] == []
    told = list(beyond(JOBS[job], policy(*NAMED.get(job, ()))))
    assert [each.split(": ")[1] for each in told] == NAMED.get(job, [])
    assert all(": of anything; write " in each for each in told)


def test_a_deployment_may_use_each_service_that_the_program_registers_resources_of() -> None:
    """Of the committed stacks and of every component; none that nothing needs stands in the list."""
    tests = Path(__file__).parents[1]
    files = [*tests.glob("graph/golden/*.urns"), *tests.glob("components/registered/*.yaml")]
    used = {
        found for file in files for found in re.findall(r"\baws:([a-z0-9]+)/\w+:", file.read_text(encoding="utf-8"))
    }
    assert used == {*SERVICES, "iam"}
    wanted = [f"{SERVICES.get(each, each)}:DescribeThings" for each in used]
    assert list(beyond(JOBS["deploy"], policy(*wanted, "iam:CreateRole", resource=ROLE))) == []


def test_a_deployment_may_do_what_it_does_to_roles_and_only_to_those_it_names() -> None:
    """What the program registers of IAM is of roles and instance profiles, and each of them has the stack's name."""
    roles = [each for name in ("dev", "prod") for each in graph_of(name).resources.values() if ":iam/" in each.token]
    assert {each.token.rpartition(":")[2] for each in roles} <= {*OF_ROLES, "InstanceProfile"}
    named = [each.inputs["name"] for each in roles if each.token.endswith((":Role", ":InstanceProfile"))]
    assert named
    assert [each for each in named if not each.startswith(("gpucluster-dev-", "gpucluster-prod-"))] == []
