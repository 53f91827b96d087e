"""The calls that the checks make, and the IAM policy that allows them and nothing else.

`python -m doctor.policy` writes the policy's file.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FILE = "docs/reference/doctor-policy.json"

ALWAYS_ALLOWED = "sts:GetCallerIdentity"
"""AWS answers it without a permission."""

PUBLIC_PARAMETERS = "arn:*:ssm:*::parameter/aws/service/eks/optimized-ami/*"

ACTIONS = {
    "acm:DescribeCertificate": "*",
    "ec2:DescribeAddresses": "*",
    "ec2:DescribeAvailabilityZones": "*",
    "ec2:DescribeCapacityBlockOfferings": "*",
    "ec2:DescribeCapacityReservations": "*",
    "ec2:DescribeImages": "*",
    "ec2:DescribeInstanceTypeOfferings": "*",
    "ec2:DescribeInstanceTypes": "*",
    "ec2:DescribeInstances": "*",
    "ec2:DescribeNatGateways": "*",
    "ec2:DescribeNetworkInterfaces": "*",
    "ec2:DescribeRouteTables": "*",
    "ec2:DescribeSubnets": "*",
    "ec2:DescribeVolumes": "*",
    "ec2:DescribeVpcAttribute": "*",
    "ec2:DescribeVpcEndpoints": "*",
    "ec2:DescribeVpcs": "*",
    "eks:DescribeCluster": "*",
    "eks:DescribeClusterVersions": "*",
    "eks:ListClusters": "*",
    "elasticfilesystem:DescribeFileSystems": "*",
    "elasticfilesystem:DescribeMountTargets": "*",
    "fsx:DescribeFileSystems": "*",
    "route53:GetHostedZone": "*",
    "s3:GetEncryptionConfiguration": "*",
    "s3:ListBucket": "*",
    "servicequotas:GetAWSDefaultServiceQuota": "*",
    "servicequotas:GetServiceQuota": "*",
    "ssm:GetParameters": PUBLIC_PARAMETERS,
}
"""Every action that may be asked for, and the resource it is allowed on. Most of them know no resources."""


_NAMES = {
    "s3:GetBucketEncryption": "s3:GetEncryptionConfiguration",
    "s3:HeadBucket": "s3:ListBucket",
    "s3:ListObjectsV2": "s3:ListBucket",
}
"""Operations that IAM knows by another name (Service authorization reference, Amazon S3)."""


def action(service: str, operation: str) -> str:
    """The IAM action of an operation."""
    name = f"{service}:{operation}"
    return _NAMES.get(name, name)


def document(parameters: Sequence[str] = ()) -> dict[str, Any]:
    """The policy: one statement per resource, and one for `parameters`, the SSM parameters that a stack file names."""
    by_resource: dict[str, list[str]] = {}
    for action, resource in sorted(ACTIONS.items()):
        by_resource.setdefault(resource, []).append(action)
    statements = [
        {"Effect": "Allow", "Action": actions, "Resource": resource} for resource, actions in by_resource.items()
    ]
    if parameters:
        named = [f"arn:*:ssm:*:*:parameter{each}" for each in parameters]
        statements.append({"Effect": "Allow", "Action": ["ssm:GetParameters"], "Resource": named})
    return {"Version": "2012-10-17", "Statement": statements}


def main() -> None:
    """Write the file, below the directory in which the program is run."""
    Path(FILE).write_text(json.dumps(document(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
