"""Roles that a setting asks for, simulated against their owners' calls, and against what none of them may do."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from components.aws.file_system_rates import READS
from components.aws.karpenter_rights import controller_rights
from components.aws.node_role import NodeRole, NodeRoleArgs
from planner.said import ExternalSecret
from stacks.aws_images import pulling
from stacks.aws_vault import reading
from stacks.aws_zones import answering
from tests.components.samples.common import built
from tests.graph.iam import Request, allowed
from tests.planner.test_external_secrets import KEY

OWN, OTHER, REGION, CLUSTER = "123456789012", "999999999999", "us-east-2", "gpucluster-prod"
NODES, QUEUE = f"arn:aws:iam::{OWN}:role/{CLUSTER}-burst", f"arn:aws:sqs:{REGION}:{OWN}:{CLUSTER}-karpenter"
EC2, ECR = f"arn:aws:ec2:{REGION}:{OWN}", f"arn:aws:ecr:{REGION}:{OWN}:repository"
SECRET = f"arn:aws:secretsmanager:{REGION}:{OWN}:secret"
HERE = {"partition": "aws", "region": REGION}
NEVER = (
    Request("iam:CreateRole", f"arn:aws:iam::{OWN}:role/new"),
    Request("iam:PassRole", f"arn:aws:iam::{OWN}:role/admin", {"iam:PassedToService": "ec2.amazonaws.com"}),
    Request("sts:AssumeRole", f"arn:aws:iam::{OWN}:role/admin"),
    Request("ec2:TerminateInstances", f"{EC2}:instance/i-1"),
    Request("eks:DeleteCluster", f"arn:aws:eks:{REGION}:{OWN}:cluster/{CLUSTER}"),
    Request("fsx:DeleteFileSystem", f"arn:aws:fsx:{REGION}:{OWN}:file-system/fs-1"),
    Request("kms:ScheduleKeyDeletion", KEY),
    Request("s3:DeleteObject", "arn:aws:s3:::artefacts/runsc/runsc"),
    Request("secretsmanager:GetSecretValue", f"{SECRET}:another-aB12xY"),
    Request("ssm:GetParameter", f"arn:aws:ssm:{REGION}:{OWN}:parameter/prod/password"),
)
"""What none of them may do."""

_CLUSTER_TAG, _POOL_TAG = f"kubernetes.io/cluster/{CLUSTER}", "karpenter.sh/nodepool"
ASKED = {
    f"aws:RequestTag/{_CLUSTER_TAG}": "owned",
    f"aws:RequestTag/{_POOL_TAG}": "burst",
    "aws:RequestTag/eks:eks-cluster-name": CLUSTER,
}
HELD = {f"aws:ResourceTag/{_CLUSTER_TAG}": "owned", f"aws:ResourceTag/{_POOL_TAG}": "burst"}
THEIRS = {"aws:ResourceTag/kubernetes.io/cluster/other": "owned", f"aws:ResourceTag/{_POOL_TAG}": "burst"}
RECORDS = "route53:ChangeResourceRecordSets"


def records(names: str, kinds: str = "TXT", zone: str = "Z1") -> Request:
    asked = {f"{RECORDS}NormalizedRecordNames": names, f"{RECORDS}RecordTypes": kinds}
    return Request(RECORDS, f"arn:aws:route53:::hostedzone/{zone}", asked)


def unsealing(secret: str, via: str = "secretsmanager") -> Request:
    context = {"kms:ViaService": f"{via}.{REGION}.amazonaws.com", "kms:EncryptionContext:SecretARN": secret}
    return Request("kms:Decrypt", KEY, context)


def of_nodes() -> list[dict[str, Any]]:
    args = NodeRoleArgs(
        partition="aws",
        session_manager=False,
        cached=[f"{ECR}/docker.io/*"],
        fetched=["artefacts/runsc"],
        login=f"{SECRET}:mirror-aB12xY",
    )
    graph = built(lambda opts: NodeRole("sample", args, opts))
    documents = [json.loads(each.inputs["policy"]) for each in graph.of_type("RolePolicy")]
    return [statement for each in documents for statement in each["Statement"]]


BY_NAME = ExternalSecret.model_validate({"id": "models/callers", "keyArn": KEY})
BY_ARN = ExternalSecret.model_validate({"id": f"{SECRET}:models/hub-AbCdEf"})
ROLES: Mapping[str, tuple[Sequence[Mapping[str, Any]], Sequence[Request], Sequence[Request]]] = {
    "karpenter": (
        controller_rights(**HERE, account_id=OWN, cluster=CLUSTER, node_role_arn=NODES, queue_arn=QUEUE),
        [
            Request("ec2:CreateFleet", f"{EC2}:fleet/*", ASKED),
            Request("ec2:RunInstances", f"{EC2}:instance/*", ASKED),
            Request("ec2:RunInstances", f"{EC2}:subnet/subnet-1"),
            Request("ec2:RunInstances", f"arn:aws:ec2:{REGION}::image/ami-1"),
            Request("ec2:RunInstances", f"{EC2}:launch-template/lt-1", HELD),
            Request("ec2:CreateTags", f"{EC2}:instance/i-1", {**ASKED, "ec2:CreateAction": "RunInstances"}),
            Request("ec2:CreateTags", f"{EC2}:instance/i-1", {**HELD, "aws:TagKeys": "Name,karpenter.sh/nodeclaim"}),
            Request("ec2:TerminateInstances", f"{EC2}:instance/i-1", HELD),
            Request("ec2:DescribeInstances", "*", {"aws:RequestedRegion": REGION}),
            Request("ssm:GetParameter", f"arn:aws:ssm:{REGION}::parameter/aws/service/eks/optimized-ami/1.36/x"),
            Request("pricing:GetProducts"),
            Request("sqs:ReceiveMessage", QUEUE),
            Request("iam:PassRole", NODES, {"iam:PassedToService": "ec2.amazonaws.com"}),
            Request("iam:GetInstanceProfile", f"arn:aws:iam::{OWN}:instance-profile/x"),
            Request("eks:DescribeCluster", f"arn:aws:eks:{REGION}:{OWN}:cluster/{CLUSTER}"),
        ],
        [
            Request("ec2:TerminateInstances", f"{EC2}:instance/i-1", THEIRS),
            Request("ec2:RunInstances", f"{EC2}:instance/*"),
            Request("ec2:DeleteSubnet", f"{EC2}:subnet/subnet-1"),
            Request("ec2:ModifyLaunchTemplate", f"{EC2}:launch-template/lt-1", HELD),
            Request("ec2:ModifyInstanceAttribute", f"{EC2}:instance/i-1", ASKED),
            Request("sqs:DeleteQueue", QUEUE),
            Request("iam:DeleteRole", NODES, {"iam:PassedToService": "ec2.amazonaws.com"}),
            Request("ec2:RunInstances", f"{EC2}:launch-template/lt-1", THEIRS),
            Request("ec2:CreateTags", f"{EC2}:instance/i-1", {**HELD, "aws:TagKeys": f"Name,{_CLUSTER_TAG}"}),
            Request("ec2:CreateTags", f"{EC2}:instance/i-1", {**THEIRS, "aws:TagKeys": "Name"}),
            Request("ec2:DescribeInstances", "*", {"aws:RequestedRegion": "us-west-2"}),
            Request("sqs:ReceiveMessage", f"{QUEUE}-2"),
            Request("iam:PassRole", NODES, {"iam:PassedToService": "lambda.amazonaws.com"}),
            Request("iam:CreateInstanceProfile", f"arn:aws:iam::{OWN}:instance-profile/x"),
            Request("eks:DescribeCluster", f"arn:aws:eks:{REGION}:{OWN}:cluster/{CLUSTER}-2"),
        ],
    ),
    "certificates": (
        answering(partition="aws", zone="Z1", hostnames=["models.acme.com"]),
        [records("_acme-challenge.models.acme.com"), Request("route53:GetChange", "arn:aws:route53:::change/C1")],
        [
            records("_acme-challenge.models.acme.com", zone="Z2"),
            records("_acme-challenge.models.acme.com", "A"),
            records("_acme-challenge.models.acme.com,models.acme.com"),
            Request("route53:DeleteHostedZone", "arn:aws:route53:::hostedzone/Z1"),
        ],
    ),
    "secrets": (
        [
            *reading(**HERE, account=OWN, secrets=[BY_NAME]),
            *reading(**HERE, account=OWN, secrets=[BY_NAME, BY_ARN]),
        ],
        [
            Request("secretsmanager:GetSecretValue", f"{SECRET}:models/callers-aB12xY"),
            Request("secretsmanager:GetSecretValue", f"{SECRET}:models/hub-AbCdEf"),
            unsealing(f"{SECRET}:models/callers-aB12xY"),
        ],
        [
            Request("secretsmanager:GetSecretValue", f"{SECRET}:models/callers-of-others-aB12xY"),
            Request("secretsmanager:GetSecretValue", f"{SECRET}:models/hub-aB12xY"),
            Request("secretsmanager:GetSecretValue", f"{SECRET}:models/callers-aB12xY".replace(OWN, OTHER)),
            Request("secretsmanager:PutSecretValue", f"{SECRET}:models/callers-aB12xY"),
            replace(unsealing(f"{SECRET}:models/callers-aB12xY"), action="kms:Encrypt"),
            unsealing(f"{SECRET}:another-aB12xY"),
            unsealing(f"{SECRET}:models/callers-aB12xY", "s3"),
        ],
    ),
    "signatures": (
        pulling(**HERE, account=OWN, path="lab"),
        [Request("ecr:GetAuthorizationToken"), Request("ecr:BatchGetImage", f"{ECR}/lab/vllm")],
        [
            Request("ecr:BatchGetImage", f"{ECR}/lab-2/vllm"),
            Request("ecr:BatchGetImage", f"{ECR}/lab/vllm".replace(OWN, OTHER)),
            Request("ecr:PutImage", f"{ECR}/lab/vllm"),
            Request("ecr:BatchDeleteImage", f"{ECR}/lab/vllm"),
        ],
    ),
    "rates": ([READS], [Request("cloudwatch:GetMetricData")], [Request("cloudwatch:PutMetricData")]),
    "nodes": (
        of_nodes(),
        [
            Request("ecr:BatchImportUpstreamImage", f"{ECR}/docker.io/library/nginx"),
            Request("ecr:CreateRepository", f"{ECR}/docker.io/library/nginx"),
            Request("s3:GetObject", "arn:aws:s3:::artefacts/runsc/runsc"),
            Request("secretsmanager:GetSecretValue", f"{SECRET}:mirror-aB12xY"),
        ],
        [
            Request("ecr:CreateRepository", f"{ECR}/lab/vllm"),
            Request("ecr:DeleteRepository", f"{ECR}/docker.io/library/nginx"),
            Request("s3:GetObject", "arn:aws:s3:::artefacts/runsc-2/runsc"),
            Request("s3:PutObject", "arn:aws:s3:::artefacts/runsc/runsc"),
        ],
    ),
}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_enough_for_its_owner_and_for_nothing_else(role: str) -> None:
    statements, makes, must_not = ROLES[role]
    documents = [{"Statement": statements}]
    assert [each for each in makes if not allowed(each, documents)] == []
    assert [each for each in (*NEVER, *must_not) if allowed(each, documents)] == []
