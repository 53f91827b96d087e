"""VPC flow logs in CloudWatch Logs: a log group with retention, and the role that delivers the records.

The role makes no log group: records that come late would make it again, unencrypted, when a destroy has taken it
(terraform-aws-vpc, vpc-flow-logs.tf, leaves CreateLogGroup out too). The log service uses the key by itself, as the
key's policy lets it.
Source: VPC user guide, "IAM role for publishing flow logs to CloudWatch Logs", its conditions included.
"""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components._base import Component
from components.aws.cluster import trust_policy
from components.aws.logs import log_group, log_group_prefix
from components.aws.pod_identity import statement_document

RECORDS_EVERY_S = 600
"""The longest interval that AWS gathers records for: one a minute costs up to ten times the lines."""


def group_name(cluster: str) -> str:
    """Beside that of the control plane, so that one statement of the key's policy covers both."""
    return f"{log_group_prefix(cluster)}flows"


@dataclass(frozen=True, kw_only=True)
class FlowLogsArgs:
    """`traffic` is ALL, ACCEPT or REJECT. `cluster` is the EKS cluster's name, which the log groups begin with."""

    vpc_id: pulumi.Input[str]
    cluster: str
    region: str
    partition: pulumi.Input[str]
    account_id: pulumi.Input[str]
    key_arn: pulumi.Input[str]
    days: int
    traffic: str


class FlowLogs(Component):
    """One flow log of the whole VPC. It goes before its group: a delivery without one fails without end."""

    group: pulumi.Output[str]

    def __init__(self, name: str, args: FlowLogsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        group = log_group(self, "group", group_name(args.cluster), args.days, args.key_arn)
        role = self._create_role(args)
        rights = aws.iam.RolePolicy(
            self.named("policy"),
            aws.iam.RolePolicyArgs(role=role.name, name=name, policy=group.arn.apply(_may_write)),
            self.child(),
        )
        aws.ec2.FlowLog(
            self.named("log"),
            vpc_id=args.vpc_id,
            traffic_type=args.traffic,
            log_destination_type="cloud-watch-logs",
            log_destination=group.arn,
            iam_role_arn=role.arn,
            max_aggregation_interval=RECORDS_EVERY_S,
            tags=self.tags("log"),
            opts=self.child(depends_on=[rights]),
        )
        self.group = group.name
        self.register_outputs({"group": self.group})

    def _create_role(self, args: FlowLogsArgs) -> aws.iam.Role:
        known = pulumi.Output.all(partition=args.partition, account_id=args.account_id)
        return aws.iam.Role(
            self.named("role"),
            name=self.physical("flow-logs", limit=64),
            assume_role_policy=known.apply(lambda where: _trust(region=args.region, **where)),
            tags=self.tags("role"),
            opts=self.child(),
        )


def _trust(*, partition: str, account_id: str, region: str) -> str:
    """For flow logs of this account and region: their ids are not known before the role is."""
    logs = f"arn:{partition}:ec2:{region}:{account_id}:vpc-flow-log/*"
    here = {"ArnLike": {"aws:SourceArn": logs}, "StringEquals": {"aws:SourceAccount": account_id}}
    return trust_policy("vpc-flow-logs.amazonaws.com", condition=here)


def _may_write(group_arn: str) -> str:
    """Streams of this group and their events. What the group is called can be asked of all groups only."""
    described = ["logs:DescribeLogGroups"]
    written = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
    return statement_document(
        [
            {"Sid": "WriteStreams", "Effect": "Allow", "Action": written, "Resource": [group_arn, f"{group_arn}:*"]},
            {"Sid": "FindGroup", "Effect": "Allow", "Action": described, "Resource": "*"},
        ]
    )
