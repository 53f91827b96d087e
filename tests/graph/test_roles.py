"""Each role of a stack simulated against the calls that its owner makes, and against ten that it must not make."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from tests.graph.harness import Recorded
from tests.graph.iam import Request, allowed
from tests.graph.stackfiles import graph_of, registered, stack_config

OWN, OTHER, REGION = "123456789012", "999999999999", "us-east-2"


def graph(stack: str) -> Recorded:
    """A shipped stack's; `recorded` is dev with flow logs."""
    if stack != "recorded":
        return graph_of(stack)
    config = stack_config("dev")
    platform = {**config["gpucluster:platform"], "network": {"flowLogs": {}}}
    return registered({**config, "gpucluster:platform": platform}, stack="dev")


@cache
def documents(stack: str, role: str) -> tuple[dict[str, Any], ...]:
    """The policy documents of the role whose name ends so."""
    found = [
        each.inputs["policy"]
        for each in graph(stack).resources.values()
        if each.token == "aws:iam/rolePolicy:RolePolicy" and str(each.inputs["role"]).endswith(role)
    ]
    assert found, f"{stack} has no policy of a role {role}"
    return tuple(json.loads(each) if isinstance(each, str) else each for each in found)


def s3(action: str, path: str, owner: str = OWN) -> Request:
    return Request(f"s3:{action}", f"arn:aws:s3:::{path}", {"s3:ResourceAccount": owner})


def listing(bucket: str, prefix: str | None, owner: str = OWN) -> Request:
    asked = {} if prefix is None else {"s3:prefix": prefix}
    return Request("s3:ListBucket", f"arn:aws:s3:::{bucket}", {"s3:ResourceAccount": owner, **asked})


def decrypting(stack: str, role: str, via: str | None, bucket: str, action: str = "Decrypt") -> Request:
    """With the key that the role's own documents name."""
    statements = [each for one in documents(stack, role) for each in one["Statement"]]
    (key,) = {each["Resource"] for each in statements if "kms:Decrypt" in each["Action"]}
    context = {"kms:EncryptionContext:aws:s3:arn": f"arn:aws:s3:::{bucket}"}
    return Request(f"kms:{action}", key, context | ({"kms:ViaService": via} if via else {}))


def tagged(action: str, resource: str, stack: str = "lab", **tags: str) -> Request:
    known = {"project": "gpucluster", "stack": stack, **tags}
    context = {f"aws:ResourceTag/gpucluster:{key}": value for key, value in known.items()}
    return Request(action, f"arn:aws:{resource}", context)


VIA = f"s3.{REGION}.amazonaws.com"
LOGS, DEV_LOGS = (f"arn:aws:logs:{REGION}:{OWN}:log-group:/aws/eks/gpucluster-{stack}" for stack in ("prod", "dev"))
RUN, BUCKET = "run-llama-3-70b-pretrain-identity", f"gpucluster-prod-artefacts-{OWN}"
MINE = f"{BUCKET}/checkpoints/llama-3-70b-pretrain"
EKS = f"arn:aws:eks:{REGION}:{OWN}"

Table = tuple[str, str, Sequence[Request], Sequence[Request]]
TABLE: list[Table] = [
    (
        "prod",
        RUN,
        [
            s3("PutObject", f"{MINE}/step-1/shard"),
            s3("AbortMultipartUpload", f"{MINE}/step-1/shard"),
            s3("GetObject", f"{MINE}/step-1/SHA256SUMS"),
            s3("DeleteObject", f"{MINE}/step-1/shard"),
            listing(BUCKET, "checkpoints/llama-3-70b-pretrain/"),
            decrypting("prod", RUN, VIA, BUCKET),
            decrypting("prod", RUN, VIA, BUCKET, "GenerateDataKey"),
        ],
        [
            s3("PutObject", f"{BUCKET}/checkpoints/another/step-1/shard"),
            s3("PutObject", f"{MINE}-2/step-1/shard"),
            s3("PutObject", f"{MINE}/step-1/shard", OTHER),
            s3("GetObject", f"{BUCKET}/checkpoints/another/step-1/shard"),
            s3("DeleteObjectVersion", f"{MINE}/step-1/shard"),
            s3("PutBucketPolicy", BUCKET),
            s3("PutObject", "acme-datasets/web-text/x"),
            listing(BUCKET, ""),
            listing(BUCKET, None),
            listing(BUCKET, "checkpoints/another/"),
            listing(BUCKET, "checkpoints/llama-3-70b-pretrain"),
            decrypting("prod", RUN, None, BUCKET),
            decrypting("prod", RUN, VIA, "another-bucket"),
            decrypting("prod", RUN, f"logs.{REGION}.amazonaws.com", BUCKET),
            decrypting("prod", RUN, VIA, BUCKET, "ScheduleKeyDeletion"),
            Request("iam:PassRole", f"arn:aws:iam::{OWN}:role/gpucluster-prod-nodes"),
            Request("sts:AssumeRole", f"arn:aws:iam::{OWN}:role/gpucluster-prod-nodes"),
        ],
    ),
    (
        "prod",
        "dataset-web-text-identity",
        [
            s3("GetObject", "acme-datasets/web-text/a/b"),
            listing("acme-datasets", "web-text/"),
            decrypting("prod", "dataset-web-text-identity", VIA, "acme-datasets"),
        ],
        [
            s3("GetObject", "acme-datasets/web-text/a", OTHER),
            s3("GetObject", "acme-datasets/web-text-2/a"),
            s3("GetObject", "acme-datasets/instructions/a"),
            s3("PutObject", "acme-datasets/web-text/a"),
            s3("DeleteObject", "acme-datasets/web-text/a"),
            s3("GetBucketPolicy", "acme-datasets"),
            listing("acme-datasets", ""),
            listing("acme-datasets", "web-text"),
            listing("acme-datasets", "web-text/", OTHER),
            listing("acme-model-weights", "web-text/"),
            decrypting("prod", "dataset-web-text-identity", None, "acme-datasets"),
            decrypting("prod", "dataset-web-text-identity", VIA, BUCKET),
            decrypting("prod", "dataset-web-text-identity", VIA, "acme-datasets", "GenerateDataKey"),
        ],
    ),
    (
        "prod",
        "weights-llama-3-70b-identity",
        [s3("GetObject", "acme-model-weights/llama-3-70b/config.json"), listing("acme-model-weights", "llama-3-70b/")],
        [
            s3("GetObject", "acme-model-weights/llama-3-70b/config.json", OTHER),
            s3("GetObject", "acme-model-weights/llama-3-8b/config.json"),
            s3("GetObjectVersion", "acme-model-weights/llama-3-70b/config.json"),
            s3("PutObject", "acme-model-weights/llama-3-70b/config.json"),
            s3("DeleteObject", "acme-model-weights/llama-3-70b/config.json"),
            s3("PutObjectAcl", "acme-model-weights/llama-3-70b/config.json"),
            s3("GetObject", f"{MINE}/step-1/shard"),
            listing("acme-model-weights", "llama-3-8b/"),
            listing("acme-model-weights", None),
            listing("acme-model-weights", "llama-3-70b/", OTHER),
        ],
    ),
    (
        "prod",
        "pod-logs-identity",
        [
            Request("logs:CreateLogStream", f"{LOGS}/pods:log-stream:ip-10-0-0-1"),
            Request("logs:PutLogEvents", f"{LOGS}/pods:log-stream:ip-10-0-0-1"),
            Request("logs:DescribeLogStreams", f"{LOGS}/pods"),
        ],
        [
            Request("logs:PutLogEvents", f"{LOGS}/cluster:log-stream:kube-apiserver-audit"),
            Request("logs:CreateLogStream", f"{LOGS}/cluster:log-stream:x"),
            Request("logs:PutLogEvents", f"{LOGS}/pods-2:log-stream:x"),
            Request("logs:GetLogEvents", f"{LOGS}/pods:log-stream:x"),
            Request("logs:FilterLogEvents", f"{LOGS}/pods"),
            Request("logs:DeleteLogStream", f"{LOGS}/pods:log-stream:x"),
            Request("logs:DeleteLogGroup", f"{LOGS}/pods"),
            Request("logs:PutRetentionPolicy", f"{LOGS}/pods"),
            Request("logs:CreateLogGroup", f"arn:aws:logs:{REGION}:{OWN}:log-group:other"),
            Request("logs:PutSubscriptionFilter", f"{LOGS}/pods"),
        ],
    ),
    (
        "recorded",
        "flow-logs",
        [
            Request("logs:CreateLogStream", f"{DEV_LOGS}/flows:log-stream:eni-1-all"),
            Request("logs:PutLogEvents", f"{DEV_LOGS}/flows:log-stream:eni-1-all"),
            Request("logs:DescribeLogStreams", f"{DEV_LOGS}/flows"),
            Request("logs:DescribeLogGroups", f"arn:aws:logs:{REGION}:{OWN}:log-group:*"),
        ],
        [
            Request("logs:PutLogEvents", f"{DEV_LOGS}/cluster:log-stream:kube-apiserver-audit"),
            Request("logs:CreateLogStream", f"{DEV_LOGS}/cluster:log-stream:x"),
            Request("logs:PutLogEvents", f"{DEV_LOGS}/flows-2:log-stream:x"),
            Request("logs:PutLogEvents", f"{LOGS}/flows:log-stream:x"),
            Request("logs:GetLogEvents", f"{DEV_LOGS}/flows:log-stream:x"),
            Request("logs:DeleteLogStream", f"{DEV_LOGS}/flows:log-stream:x"),
            Request("logs:CreateLogGroup", f"{DEV_LOGS}/flows"),
            Request("logs:DeleteLogGroup", f"{DEV_LOGS}/flows"),
            Request("logs:PutRetentionPolicy", f"{DEV_LOGS}/flows"),
            Request("logs:DisassociateKmsKey", f"{DEV_LOGS}/flows"),
            Request("logs:PutSubscriptionFilter", f"{DEV_LOGS}/flows"),
            Request("ec2:DeleteFlowLogs", f"arn:aws:ec2:{REGION}:{OWN}:vpc-flow-log/fl-1"),
            Request("iam:PassRole", f"arn:aws:iam::{OWN}:role/gpucluster-dev-nodes"),
        ],
    ),
    (
        "lab",
        "keeper-role",
        [
            Request("eks:UpdateNodegroupConfig", f"{EKS}:nodegroup/gpucluster-lab/training/1"),
            Request("eks:DeleteCluster", f"{EKS}:cluster/gpucluster-lab"),
            tagged("ec2:TerminateInstances", f"ec2:{REGION}:{OWN}:instance/i-1"),
            tagged("ec2:DeleteVolume", f"ec2:{REGION}:{OWN}:volume/vol-1"),
            tagged("fsx:DeleteFileSystem", f"fsx:{REGION}:{OWN}:file-system/fs-1"),
            Request("ssm:PutParameter", f"arn:aws:ssm:{REGION}:{OWN}:parameter/gpucluster/lab/keeper/ends"),
        ],
        [
            Request("eks:DeleteCluster", f"{EKS}:cluster/gpucluster-prod"),
            Request("eks:UpdateNodegroupConfig", f"{EKS}:nodegroup/gpucluster-lab2/training/1"),
            tagged("ec2:TerminateInstances", f"ec2:{REGION}:{OWN}:instance/i-1", stack="prod"),
            tagged("ec2:TerminateInstances", f"ec2:{REGION}:{OWN}:instance/i-1", protect="true"),
            Request("ec2:TerminateInstances", f"arn:aws:ec2:{REGION}:{OWN}:instance/i-1"),
            tagged("fsx:DeleteFileSystem", f"fsx:{REGION}:{OWN}:file-system/fs-1", stack="prod"),
            tagged("fsx:DeleteBackup", f"fsx:{REGION}:{OWN}:backup/b-1"),
            Request("fsx:DeleteFileSystem", f"arn:aws:fsx:{REGION}:{OWN}:file-system/fs-1"),
            Request("ssm:GetParameter", f"arn:aws:ssm:{REGION}:{OWN}:parameter/prod/password"),
            Request("s3:DeleteBucket", "arn:aws:s3:::gpucluster-lab-artefacts-123456789012"),
            Request("ec2:RunInstances", f"arn:aws:ec2:{REGION}:{OWN}:instance/*"),
            Request("iam:PassRole", f"arn:aws:iam::{OWN}:role/gpucluster-lab-nodes"),
        ],
    ),
    (
        "lab",
        "keeper-caller",
        [Request("lambda:InvokeFunction", f"arn:aws:lambda:{REGION}:{OWN}:function/gpucluster-lab-keeper")],
        [
            Request("lambda:InvokeFunction", f"arn:aws:lambda:{REGION}:{OWN}:function/{name}")
            for name in ("another", "gpucluster-lab-keeper-2", "gpucluster-prod-keeper")
        ]
        + [
            Request(f"lambda:{action}", f"arn:aws:lambda:{REGION}:{OWN}:function/gpucluster-lab-keeper")
            for action in ("UpdateFunctionCode", "AddPermission", "DeleteFunction", "GetFunction")
        ]
        + [
            Request("iam:PassRole", f"arn:aws:iam::{OWN}:role/gpucluster-lab-keeper-role"),
            Request("ec2:TerminateInstances", f"arn:aws:ec2:{REGION}:{OWN}:instance/i-1"),
            Request("sns:Publish", f"arn:aws:sns:{REGION}:{OWN}:topic/x"),
        ],
    ),
]


@pytest.mark.parametrize(("stack", "role", "makes", "must_not"), TABLE, ids=[row[1] for row in TABLE])
def test_a_role_is_enough_for_its_owner_and_for_nothing_else(
    stack: str, role: str, makes: Sequence[Request], must_not: Sequence[Request]
) -> None:
    assert len(must_not) >= 10
    assert [each for each in makes if not allowed(each, documents(stack, role))] == []
    assert [each for each in must_not if allowed(each, documents(stack, role))] == []


def test_every_role_with_a_document_of_its_own_is_simulated() -> None:
    for stack in ("prod", "lab"):
        there = graph_of(stack).resources.values()
        roles = {str(each.inputs["role"]) for each in there if each.token == "aws:iam/rolePolicy:RolePolicy"}
        alike = {role for role in roles if "-run-" in role}  # one component makes all of them
        known = {role for role in roles for row in TABLE if row[0] == stack and role.endswith(row[1])}
        assert roles - alike == known - alike


def test_a_deny_wins_and_a_condition_on_a_key_that_is_not_there_fails() -> None:
    allow = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    deny = {"Effect": "Deny", "Action": "s3:Get*", "Resource": "arn:aws:s3:::b/?"}
    both = [{"Statement": [allow, deny]}]
    assert not allowed(Request("s3:GetObject", "arn:aws:s3:::b/k"), both)
    assert allowed(Request("s3:GetObject", "arn:aws:s3:::b/kk"), both)
    tied = [{"Statement": {**allow, "Condition": {"StringEquals": {"aws:ResourceTag/a": ["x"]}}}}]
    assert not allowed(Request("s3:GetObject", "x"), tied)
    assert allowed(Request("s3:GetObject", "x", {"aws:ResourceTag/a": "x"}), tied)
    with pytest.raises(ValueError, match="does not know the operator DateLessThan"):
        allowed(Request("s3:GetObject", "x"), [{"Statement": {**allow, "Condition": {"DateLessThan": {"a": "b"}}}}])
