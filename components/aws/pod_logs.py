"""Logs of pods and nodes in CloudWatch: a log group with an end, and who may write to it (X09)."""

from dataclasses import dataclass

import pulumi

from components._base import Component
from components.aws.logs import log_group, log_group_prefix
from components.aws.pod_identity import PodIdentity, PodIdentityArgs, statement_document


def group_name(cluster: str) -> str:
    """Beside that of the control plane, so that one statement of the key's policy covers both."""
    return f"{log_group_prefix(cluster)}pods"


@dataclass(frozen=True, kw_only=True)
class PodLogsArgs:
    """`cluster` is the EKS cluster's name as it is known before it is there; pods of `account` in `namespace` write."""

    cluster: str
    cluster_name: pulumi.Input[str]
    region: str
    namespace: pulumi.Input[str]
    account: str
    days: int
    key_arn: pulumi.Input[str]


class PodLogs(Component):
    """The group. `outputs` are sections of Fluent Bit's configuration; `account` resolves when its pods may write."""

    outputs: str
    account: pulumi.Output[str]

    def __init__(self, name: str, args: PodLogsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        group = log_group(self, "group", group_name(args.cluster), args.days, args.key_arn)
        identity = PodIdentityArgs(
            cluster_name=args.cluster_name,
            namespace=args.namespace,
            service_account=args.account,
            document=group.arn.apply(_may_write),
        )
        self.account = PodIdentity(self.named("identity"), identity, self.child()).service_account
        self.outputs = outputs(args.region, group_name(args.cluster))
        self.register_outputs({"group": group.name})


def _may_write(group_arn: str) -> str:
    """Streams of this group and their events; the group itself is made here, and nowhere else."""
    return statement_document(
        [
            {
                "Sid": "WriteStreams",
                "Effect": "Allow",
                "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                "Resource": [group_arn, f"{group_arn}:*"],
            }
        ]
    )


def outputs(region: str, group: str) -> str:
    """A stream per container, called as people look for it, and one per node.

    Fluent Bit takes the credentials of EKS Pod Identity since 4.0 (fluent-bit, pull request 10115).
    Source: Fluent Bit manual, outputs, Amazon CloudWatch.
    """
    where = f"    region {region}\n    log_group_name {group}\n    auto_create_group Off\n    Retry_Limit 5\n"
    pods = "$kubernetes['namespace_name'].$kubernetes['pod_name'].$kubernetes['container_name']"
    return (
        f"[OUTPUT]\n    Name cloudwatch_logs\n    Match kube.*\n{where}"
        f"    log_stream_prefix pods-\n    log_stream_template {pods}\n"
        f"\n[OUTPUT]\n    Name cloudwatch_logs\n    Match host.*\n{where}"
        "    log_stream_prefix ${NODE_NAME}-\n"
    )
