"""Monitoring of a cluster on EKS: logs go to CloudWatch, AWS runs the control plane, EFA has its own counters."""

from dataclasses import dataclass

import pulumi

from catalogue import versions
from components.aws.efa_counters import efa_counters
from components.aws.pod_logs import PodLogs, PodLogsArgs, group_name
from planner.types import AwsPlan
from stacks.aws_ground import Ground, cluster_name
from stacks.platform import Watching
from stacks.platform_services import LogSink


@dataclass(frozen=True, kw_only=True)
class CloudWatch:
    """Log groups of the stack, encrypted with its key."""

    region: str
    cluster_name: pulumi.Output[str]
    key_arn: pulumi.Output[str]

    def sink(
        self, name: str, *, namespace: pulumi.Input[str], account: str, days: int, opts: pulumi.ResourceOptions
    ) -> LogSink:
        args = PodLogsArgs(
            cluster=cluster_name(),
            cluster_name=self.cluster_name,
            region=self.region,
            namespace=namespace,
            account=account,
            days=days,
            key_arn=self.key_arn,
        )
        made = PodLogs(name, args, opts)
        read = f"aws logs tail {group_name(cluster_name())} --follow --region {self.region}"
        return LogSink(outputs=made.outputs, account=made.account, read=read)


def watching(plan: AwsPlan, base: Ground, name: pulumi.Output[str]) -> Watching:
    """EKS shows metrics of the API server alone, and binds those of its kube-proxy to the node's own loopback."""
    return Watching(
        control_plane=(),
        logs=CloudWatch(region=plan.deployment.region, cluster_name=name, key_arn=base.keys.arn),
        counters=efa_counters(plan.supply.image(versions.WAIT_IMAGE)) if base.efa_group_id is not None else None,
    )
