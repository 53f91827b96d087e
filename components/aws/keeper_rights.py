"""Permissions of the keeper: read the region, and delete resources with this stack's tags or name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.aws.pod_identity import statement_document

PROTECT_TAG = "gpucluster:protect"
LOOKS = (
    "ec2:DescribeAddresses",
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeInstances",
    "ec2:DescribeNatGateways",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeVolumes",
    "ec2:DescribeVpcEndpoints",
    "eks:DescribeCluster",
    "eks:DescribeNodegroup",
    "eks:ListClusters",
    "eks:ListNodegroups",
    "elasticloadbalancing:DescribeLoadBalancers",
    "elasticloadbalancing:DescribeTags",
    "elasticfilesystem:DescribeFileSystems",
    "fsx:DescribeFileSystems",
)
"""The describe calls of EC2, ELB and FSx know no resources (Service Authorization Reference); those of EKS look at
whose a cluster is by its tags."""
REMOVES = {
    "instance": "ec2:TerminateInstances",
    "volume": "ec2:DeleteVolume",
    "natgateway": "ec2:DeleteNatGateway",
    "elastic-ip": "ec2:ReleaseAddress",
    "vpc-endpoint": "ec2:DeleteVpcEndpoints",
    "capacity-reservation": "ec2:CancelCapacityReservation",
}
"""The right to remove a resource of EC2, by what it is called in ARNs."""


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """Where and whose the things are that may be removed. ARNs are of what the keeper itself reads and writes."""

    partition: str
    region: str
    account_id: str
    cluster: str
    tags: Mapping[str, str]
    parameters: Sequence[str]
    topic: str
    log_group: str
    blocks: bool


def rights(of: Holdings) -> str:
    """The policy of the function's role, JSON."""
    where = f"{of.region}:{of.account_id}"
    owned = {f"aws:ResourceTag/{key}": value for key, value in of.tags.items()}
    mine = {"StringEquals": owned, "StringNotEquals": {f"aws:ResourceTag/{PROTECT_TAG}": "true"}}
    ec2 = f"arn:{of.partition}:ec2:{where}"
    eks = f"arn:{of.partition}:eks:{where}"
    network = ["elasticloadbalancing:DeleteLoadBalancer", "ec2:DeleteSecurityGroup"]
    made = [f"arn:{of.partition}:elasticloadbalancing:{where}:loadbalancer/*", f"{ec2}:security-group/*"]
    return statement_document(
        [
            _allow("Look", LOOKS, "*"),
            _allow(
                "EndNodes",
                ["eks:DeleteNodegroup", "eks:UpdateNodegroupConfig"],
                f"{eks}:nodegroup/{of.cluster}/*/*",
            ),
            _allow("EndCluster", ["eks:DeleteCluster"], f"{eks}:cluster/{of.cluster}"),
            *(
                _allow(f"Remove{kind.title().replace('-', '')}", [action], f"{ec2}:{kind}/*", mine)
                for kind, action in REMOVES.items()
            ),
            _allow(
                "ReleaseGroups",
                ["ec2:RevokeSecurityGroupIngress", "ec2:RevokeSecurityGroupEgress"],
                f"{ec2}:security-group/*",
                mine,
            ),
            _allow("RemoveScratch", ["fsx:DeleteFileSystem"], f"arn:{of.partition}:fsx:{where}:file-system/*", mine),
            _allow(
                "RemoveControllersBalancers",
                network,
                made,
                {"StringEquals": {"aws:ResourceTag/elbv2.k8s.aws/cluster": of.cluster}},
            ),
            _allow(
                "RemoveServicesBalancers",
                network,
                made,
                {"StringEquals": {f"aws:ResourceTag/kubernetes.io/cluster/{of.cluster}": "owned"}},
            ),
            _allow(
                "RemoveInterfaces",
                ["ec2:DeleteNetworkInterface"],
                f"{ec2}:network-interface/*",
                {"StringEquals": {"aws:ResourceTag/cluster.k8s.amazonaws.com/name": of.cluster}},
            ),
            _allow("Remember", ["ssm:GetParameter", "ssm:PutParameter"], list(of.parameters)),
            _allow("Tell", ["sns:Publish"], of.topic),
            _allow("Log", ["logs:CreateLogStream", "logs:PutLogEvents"], f"{of.log_group}:*"),
        ]
    )


def invocation(function_arn: str) -> str:
    """The policy of the schedule's role: it calls the function."""
    return statement_document([_allow("Call", ["lambda:InvokeFunction"], function_arn)])


def _allow(
    sid: str, actions: Sequence[str], resource: str | list[str], condition: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    statement = {"Sid": sid, "Effect": "Allow", "Action": list(actions), "Resource": resource}
    return {**statement, "Condition": dict(condition)} if condition else statement
