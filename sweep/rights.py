"""The calls of `make sweep`, `make extend` and `make vacate`, and the IAM policy that allows them and nothing else.

`python -m sweep.rights` writes the policy's file. Which actions know resources and tags: Service Authorization
Reference, the tables of Amazon EC2, EKS, FSx, Elastic Load Balancing v2, CloudWatch Logs, Systems Manager and Lambda.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sweep.controllers import CLUSTER_OF_CLOUD_PROVIDER, CLUSTER_OF_CNI, CLUSTER_OF_CONTROLLER
from sweep.things import PROJECT, PROTECT

FILE = "docs/reference/sweep-policy.json"
PROGRAM = "gpucluster"
"""The Pulumi project, whose name begins that of each cluster, parameter and function."""
EXAMPLE = "lab"
"""The stack whose Services' load balancers the file names: a tag's key cannot be matched in part."""

LOOKS = (
    *(f"ec2:Describe{what}" for what in ("Addresses", "CapacityReservations", "Instances", "NatGateways", "Volumes")),
    *(f"ec2:Describe{what}" for what in ("NetworkInterfaces", "SecurityGroups", "VpcEndpoints")),
    *(f"eks:{call}" for call in ("DescribeCluster", "DescribeNodegroup", "ListClusters", "ListNodegroups")),
    *("elasticloadbalancing:DescribeLoadBalancers", "elasticloadbalancing:DescribeTags"),
    *("ec2:DescribeRegions", "s3:GetBucketTagging", "s3:ListAllMyBuckets", "secretsmanager:ListSecrets"),
    *("elasticfilesystem:DescribeFileSystems", "fsx:DescribeFileSystems", "logs:DescribeLogGroups"),
)
"""They change nothing, and most of them know no resources."""
TAGGED = (
    *("ec2:TerminateInstances", "ec2:DeleteVolume", "ec2:DeleteNatGateway", "ec2:ReleaseAddress"),
    *("ec2:RevokeSecurityGroupIngress", "ec2:RevokeSecurityGroupEgress", "ec2:CancelCapacityReservation"),
    *("ec2:DeleteVpcEndpoints", "fsx:DeleteFileSystem"),
)
"""What carries the program's own tags."""


_PREFIXES = {"efs": "elasticfilesystem", "elb": "elasticloadbalancing", "elbv2": "elasticloadbalancing"}
"""Services that IAM knows by another name than botocore."""
_NAMES = {"s3:ListBuckets": "s3:ListAllMyBuckets"}
"""Operations that it does."""


def action(service: str, operation: str) -> str:
    """The IAM action of an operation, by the names that botocore has for service and operation."""
    return _NAMES.get(named := f"{_PREFIXES.get(service, service)}:{operation}", named)


def document(stacks: Sequence[str] = (EXAMPLE,)) -> dict[str, Any]:
    """The policy. Node groups and clusters go by their names, as a group that somebody added carries no tag."""
    clusters, named = f"{PROGRAM}-*", f"{PROGRAM}/*/keeper"
    mine = {
        "StringEquals": {f"aws:ResourceTag/{PROJECT}": PROGRAM},
        "StringNotEquals": {f"aws:ResourceTag/{PROTECT}": "true"},
    }
    network = ["elasticloadbalancing:DeleteLoadBalancer", "ec2:DeleteSecurityGroup"]
    made = ["arn:*:elasticloadbalancing:*:*:loadbalancer/*", "arn:*:ec2:*:*:security-group/*"]
    statements = [
        _allow("Look", LOOKS, "*"),
        _allow("LookForItsEnd", ["ssm:GetParameter"], f"arn:*:ssm:*:*:parameter/{named}/*"),
        _allow("EndNodes", ["eks:DeleteNodegroup"], f"arn:*:eks:*:*:nodegroup/{clusters}/*/*"),
        _allow("EndCluster", ["eks:DeleteCluster"], f"arn:*:eks:*:*:cluster/{clusters}"),
        _allow("RemoveWhatIsTagged", TAGGED, "*", mine),
        _allow(
            "RemoveControllersBalancers",
            network,
            made,
            {"StringLike": {f"aws:ResourceTag/{CLUSTER_OF_CONTROLLER}": clusters}},
        ),
        _allow(
            "RemoveInterfaces",
            ["ec2:DeleteNetworkInterface"],
            "arn:*:ec2:*:*:network-interface/*",
            {"StringLike": {f"aws:ResourceTag/{CLUSTER_OF_CNI}": clusters}},
        ),
        *(
            _allow(
                f"RemoveServicesBalancers{stack.title().replace('-', '')}",
                network,
                made,
                {"StringEquals": {f"aws:ResourceTag/{CLUSTER_OF_CLOUD_PROVIDER}{PROGRAM}-{stack}": "owned"}},
            )
            for stack in stacks
        ),
        _allow(
            "RemoveLateLogs",
            ["logs:DeleteLogGroup", "logs:ListTagsForResource"],
            [f"arn:*:logs:*:*:log-group:/aws/eks/{clusters}/cluster{end}" for end in ("", ":*")],
        ),
        _allow("LookToExtend", ["lambda:GetFunctionConfiguration"], f"arn:*:lambda:*:*:function:{clusters}-keeper"),
        _allow("Extend", ["ssm:PutParameter"], f"arn:*:ssm:*:*:parameter/{named}/ends"),
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def _allow(
    sid: str, actions: Sequence[str], resource: str | list[str], condition: dict[str, Any] | None = None
) -> dict[str, Any]:
    statement = {"Sid": sid, "Effect": "Allow", "Action": list(actions), "Resource": resource}
    return {**statement, "Condition": condition} if condition else statement


def main() -> None:
    """Write the file, below the directory in which the program is run."""
    Path(FILE).write_text(json.dumps(document(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
