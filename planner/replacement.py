"""How EKS replaces the nodes of a managed group: all of them in an update, single ones when they are sick."""

from dataclasses import dataclass
from typing import Literal

UpdateStrategy = Literal["DEFAULT", "MINIMAL"]
RepairAction = Literal["Replace", "Reboot", "NoAction"]

MAX_UNAVAILABLE = 1
"""Nodes that an update takes away at once."""

_LAUNCHES_PER_ZONE = 2
_UNHEALTHY_PERCENT = 20
_PARALLEL_REPAIRS = 1
_GPU_CONDITION = "AcceleratedHardwareReady"
_GPU_WAIT_MINUTES = 10


@dataclass(frozen=True, kw_only=True)
class RepairOverride:
    """Another action than EKS' own for one reason of a condition that the monitoring agent sets."""

    condition: str
    reason: str
    wait_minutes: int
    action: RepairAction


@dataclass(frozen=True, kw_only=True)
class RepairPlan:
    """Automatic repair: `parallel` nodes at a time, and none while more than `max_unhealthy` are sick."""

    parallel: int
    max_unhealthy: int
    overrides: tuple[RepairOverride, ...]


def update_strategy(*, training: bool, block: bool) -> UpdateStrategy:
    """MINIMAL ends old nodes before it starts new ones, which is all that a scarce pool can do.

    A training pool's further node would have to come from the same placement group and quota while its GPUs idle, and
    a block has no further instance (EKS API reference, NodegroupUpdateConfig: for scarce resources such as GPUs).
    """
    return "MINIMAL" if training or block else "DEFAULT"


def surge(strategy: UpdateStrategy, count: int, zones: int) -> int:
    """Most nodes that an update runs beside the pool's own.

    DEFAULT raises the group by two for each of its zones, or by maxUnavailable if that is more (EKS user guide,
    "Understand each phase of node updates", scale up phase).
    """
    if strategy == "MINIMAL" or count == 0:
        return 0
    return max(_LAUNCHES_PER_ZONE * zones, MAX_UNAVAILABLE)


def repair(count: int, gpus: bool) -> RepairPlan:
    """One node after the other, and only while at most a fifth of the pool is sick: more is not the nodes' fault.

    EKS' own limit is a fifth too, but holds in pools of more than five nodes only. Of the GPUs' errors, 13 and 31 are
    raised by programs, and rebooting their node would end every other pod there; 64 is a memory that could not be
    remapped, which a reboot does not mend. Sources: EKS user guide, "Automatically repair nodes in EKS clusters" and
    the XID table of "Detect node health issues"; NVIDIA, XID errors.
    """
    actions: dict[int, RepairAction] = {13: "NoAction", 31: "NoAction", 64: "Replace"} if gpus else {}
    return RepairPlan(
        parallel=_PARALLEL_REPAIRS,
        max_unhealthy=max(1, count * _UNHEALTHY_PERCENT // 100),
        overrides=tuple(
            RepairOverride(
                condition=_GPU_CONDITION,
                reason=f"NvidiaXID{code}Error",
                wait_minutes=_GPU_WAIT_MINUTES,
                action=action,
            )
            for code, action in actions.items()
        ),
    )
