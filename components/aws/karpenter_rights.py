"""What Karpenter's controller may do in the account: start what carries its cluster's name, and touch nothing else.

Its own guide's policy (karpenter.sh v1.12, Reference, CloudFormation), without the rights to make instance profiles:
the stack makes the one that its nodes have.
"""

from collections.abc import Mapping
from typing import Any

OWNED = "kubernetes.io/cluster/{cluster}"
"""The tag of everything that a cluster's Karpenter makes; its value is owned."""
POOL_TAG = "karpenter.sh/nodepool"

_MADE = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
_STARTED_WITH = ("image/*", "snapshot/*", "security-group/*", "subnet/*", "capacity-reservation/*", "placement-group/*")
_LOOKS = (
    "CapacityReservations Images Instances InstanceStatus InstanceTypeOfferings InstanceTypes LaunchTemplates "
    "PlacementGroups SecurityGroups SpotPriceHistory Subnets"
)


def controller_rights(
    *, partition: str, region: str, account_id: str, cluster: str, node_role_arn: str, queue_arn: str
) -> list[dict[str, Any]]:
    """Statements of the controller's policy."""
    owned, mark = OWNED.format(cluster=cluster), {"aws:RequestTag/eks:eks-cluster-name": cluster}
    asked = {
        "StringEquals": {f"aws:RequestTag/{owned}": "owned", **mark},
        "StringLike": {f"aws:RequestTag/{POOL_TAG}": "*"},
    }
    held = {"StringEquals": {f"aws:ResourceTag/{owned}": "owned"}, "StringLike": {f"aws:ResourceTag/{POOL_TAG}": "*"}}

    def ec2(resource: str) -> str:
        owner = "" if resource.startswith(("image/", "snapshot/")) else "*"
        return f"arn:{partition}:ec2:{region}:{owner}:{resource}"

    made = [ec2(f"{kind}/*") for kind in _MADE]
    template = ec2("launch-template/*")
    return [
        _allow("StartWith", ["ec2:CreateFleet", "ec2:RunInstances"], [ec2(each) for each in _STARTED_WITH]),
        _allow("StartByItsTemplates", ["ec2:CreateFleet", "ec2:RunInstances"], template, held),
        _allow("Start", ["ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"], made, asked),
        _allow(
            "TagWhatItStarts",
            "ec2:CreateTags",
            made,
            {
                **asked,
                "StringEquals": {
                    **asked["StringEquals"],
                    "ec2:CreateAction": ["CreateFleet", "CreateLaunchTemplate", "RunInstances"],
                },
            },
        ),
        _allow(
            "TagWhatJoined",
            "ec2:CreateTags",
            ec2("instance/*"),
            {
                **held,
                "StringEqualsIfExists": mark,
                "ForAllValues:StringEquals": {
                    "aws:TagKeys": ["Name", "eks:eks-cluster-name", "karpenter.sh/nodeclaim"]
                },
            },
        ),
        _allow("End", ["ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"], [ec2("instance/*"), template], held),
        _allow(
            "Look",
            [f"ec2:Describe{what}" for what in _LOOKS.split()],
            "*",
            {"StringEquals": {"aws:RequestedRegion": region}},
        ),
        _allow("LookForImages", "ssm:GetParameter", f"arn:{partition}:ssm:{region}::parameter/aws/service/*"),
        _allow("LookForPrices", "pricing:GetProducts", "*"),
        _allow(
            "HearOfInterruptions",
            ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"],
            queue_arn,
        ),
        _allow(
            "GiveNodesTheirRole",
            "iam:PassRole",
            node_role_arn,
            {"StringEquals": {"iam:PassedToService": _service(partition)}},
        ),
        _allow(
            "LookForProfiles",
            ["iam:GetInstanceProfile", "iam:ListInstanceProfiles"],
            f"arn:{partition}:iam::{account_id}:instance-profile/*",
        ),
        _allow(
            "LookForTheCluster", "eks:DescribeCluster", f"arn:{partition}:eks:{region}:{account_id}:cluster/{cluster}"
        ),
    ]


def queue_policy(queue_arn: str, rules: Mapping[str, str]) -> list[dict[str, Any]]:
    """Statements of the queue: these rules of EventBridge may write into it, over TLS, and nobody else may."""
    return [
        {
            "Sid": "EventsArrive",
            "Effect": "Allow",
            "Principal": {"Service": "events.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": queue_arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": sorted(rules.values())}},
        },
        {
            "Sid": "RefusePlainText",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "sqs:*",
            "Resource": queue_arn,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        },
    ]


def _service(partition: str) -> str:
    return "ec2.amazonaws.com.cn" if partition == "aws-cn" else "ec2.amazonaws.com"


def _allow(
    sid: str, actions: str | list[str], resources: str | list[str], condition: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    found = {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources}
    return {**found, "Condition": dict(condition)} if condition else found
