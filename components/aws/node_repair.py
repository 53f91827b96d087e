"""EKS' automatic repair of a group's nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi_aws as aws


@dataclass(frozen=True, kw_only=True)
class RepairOverride:
    """`action` (Replace, Reboot or NoAction) once a node had the condition, with this reason, for `wait_minutes`."""

    condition: str
    reason: str
    wait_minutes: int
    action: str


@dataclass(frozen=True, kw_only=True)
class Repair:
    """EKS repairs `parallel` sick nodes at a time, and none while more than `max_unhealthy` are sick."""

    parallel: int
    max_unhealthy: int
    overrides: Sequence[RepairOverride] = ()


def repaired(repair: Repair | None) -> aws.eks.NodeGroupNodeRepairConfigArgs:
    """As a node group is told; None leaves sick nodes alone."""
    if repair is None:
        return aws.eks.NodeGroupNodeRepairConfigArgs(enabled=False)
    return aws.eks.NodeGroupNodeRepairConfigArgs(
        enabled=True,
        max_parallel_nodes_repaired_count=repair.parallel,
        max_unhealthy_node_threshold_count=repair.max_unhealthy,
        node_repair_config_overrides=[
            aws.eks.NodeGroupNodeRepairConfigNodeRepairConfigOverrideArgs(
                node_monitoring_condition=each.condition,
                node_unhealthy_reason=each.reason,
                min_repair_wait_time_mins=each.wait_minutes,
                repair_action=each.action,
            )
            for each in repair.overrides
        ],
    )
