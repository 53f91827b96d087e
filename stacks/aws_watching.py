"""Monitoring of a cluster on EKS: logs go to CloudWatch, AWS runs the control plane, EFA has its own counters."""

from dataclasses import dataclass

import pulumi

from catalogue import versions
from components.aws.efa_counters import efa_counters
from components.aws.file_system_rates import (
    LABELS,
    NAME,
    FileSystemRates,
    FileSystemRatesArgs,
    rates_files,
)
from components.aws.lustre import Lustre
from components.aws.pod_logs import PodLogs, PodLogsArgs, group_name
from components.monitoring.monitors import Target
from monitoring.limits import BlockLimits
from planner.monitoring.types import watches_files
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


@dataclass(frozen=True, kw_only=True)
class FileSystem:
    """What CloudWatch knows of the stack's FSx file system."""

    plan: AwsPlan
    base: Ground
    cluster_name: pulumi.Output[str]
    lustre: Lustre
    after: pulumi.Resource

    def watch(self, *, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions) -> Target:
        """Register what asks; its pod comes with its role."""
        args = FileSystemRatesArgs(
            namespace=namespace,
            image=self.plan.supply.image(versions.PYTHON_IMAGE),
            files=rates_files(),
            cluster_name=self.cluster_name,
            partition=self.base.account.partition,
            region=self.plan.deployment.region,
            file_system_id=self.lustre.file_system_id,
            capacity_bytes=self.plan.file_system.capacity_gib * 2**30,
            bytes_per_second=round(self.plan.storage.read_gb_per_s * 1e9),
            after=[self.after],
        )
        FileSystemRates("file-system-rates", args, opts)
        return Target(name=NAME, namespace=namespace, labels=LABELS)


EBS_CONTROLLER = Target(name="aws-ebs-csi-driver", namespace="kube-system", labels={"app": "ebs-csi-controller"})
"""Its Service is the add-on's."""


def blocks(plan: AwsPlan) -> list[BlockLimits]:
    """EKS drains a block's nodes before EC2 takes them."""
    return [
        BlockLimits(pool=name, reservation=share.reservation, leaves=share.times.scaled_to_zero)
        for name, pool in plan.pools.items()
        for share in pool.shares
    ]


def watching(plan: AwsPlan, base: Ground, name: pulumi.Output[str], lustre: Lustre, after: pulumi.Resource) -> Watching:
    """EKS shows metrics of the API server alone, and binds those of its kube-proxy to the node's own loopback."""
    return Watching(
        control_plane=(),
        logs=CloudWatch(region=plan.deployment.region, cluster_name=name, key_arn=base.keys.arn),
        targets=[EBS_CONTROLLER],
        files=FileSystem(plan=plan, base=base, cluster_name=name, lustre=lustre, after=after)
        if watches_files(plan.monitoring)
        else None,
        blocks=blocks(plan),
        counters=efa_counters(
            plan.supply.image(versions.WAIT_IMAGE), lustre=any(pool.lustre_efa for pool in plan.pools.values())
        )
        if base.efa_group_id is not None
        else None,
    )
