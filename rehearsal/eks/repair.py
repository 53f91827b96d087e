"""Automatic node repair: which nodes of a managed group EKS reboots or replaces now.

Sources: EKS user guide, "Automatically repair nodes in EKS clusters" (waiting times, actions, limits, overrides) and
"Detect node health issues with the EKS node monitoring agent" (actions by reason); API reference, NodeRepairConfig.
What the guide gives in minutes takes as many seconds here, and four times as many where a node is not Ready: a machine
that rehearses needs longer for that than the sixtieth part of what EC2 does.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Object = Mapping[str, Any]
Action = Literal["Replace", "Reboot", "NoAction"]

ACCELERATORS = "AcceleratedHardwareReady"
MINUTES = {
    ACCELERATORS: 10,
    "ContainerRuntimeReady": 30,
    "KernelReady": 30,
    "NetworkingReady": 30,
    "StorageReady": 30,
    "Ready": 30,
}
"""Conditions that are repaired, and how long they must have been wrong. Pressures are not repaired."""

SECONDS_PER_MINUTE = 1.0
READY_SECONDS_PER_MINUTE = 4.0
REBOOTING_XIDS = frozenset({13, 31, 48, 63, 64, 94, 95})
REPLACING_XIDS = frozenset({74, 79, 119, 120, 121, 140})
REPLACING_REASONS = re.compile(r"NvidiaDoubleBitError|NvidiaNVLinkError|Neuron\w+")
SMALL_GROUP = 5
UNHEALTHY_PERCENT = 20


@dataclass(frozen=True)
class Sick:
    """A node with a condition that has been wrong since `since`, which is the moment as the node wrote it."""

    node: str
    condition: str
    reason: str
    since: str


@dataclass(frozen=True)
class Repair:
    """What EKS does to a node, and why."""

    node: str
    action: Action
    why: str


class Waits:
    """How long conditions have been wrong by a clock that goes on evenly, from when they were first seen.

    What a node writes is its machine's clock: set forward, it would have waited long enough at once, and set back, it
    would wait for as long again.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._first: dict[Sick, float] = {}

    def seconds(self, ill: Iterable[Sick]) -> dict[Sick, float]:
        """How long each of these has been wrong; what is right again is forgotten."""
        now = self._clock()
        self._first = {each: self._first.get(each, now) for each in ill}
        return {each: now - first for each, first in self._first.items()}


def sick(nodes: Iterable[Object]) -> list[Sick]:
    """The wrong conditions of nodes, of the kinds that are repaired."""
    return [
        Sick(node["metadata"]["name"], each["type"], each.get("reason", ""), each["lastTransitionTime"])
        for node in nodes
        for each in (node.get("status") or {}).get("conditions") or []
        if each["type"] in MINUTES and each["status"] != "True"
    ]


def due(config: Object, size: int, ill: Mapping[Sick, float], busy: Collection[str]) -> list[Repair]:
    """The repairs to begin in a group of `size` nodes, besides those of the nodes `busy` with one, within its limits.

    `ill` are conditions and how many seconds each has been wrong.
    """
    if not config.get("enabled"):
        return []
    unhealthy = {each.node for each in ill} | set(busy)
    if len(unhealthy) > _threshold(config, size):
        return []
    found: dict[str, Repair] = {}
    for each, seconds in ill.items():
        minutes, action = _treatment(config, each)
        pace = READY_SECONDS_PER_MINUTE if each.condition == "Ready" else SECONDS_PER_MINUTE
        if action != "NoAction" and seconds >= minutes * pace and each.node not in busy:
            found.setdefault(each.node, Repair(each.node, action, f"{each.condition}: {each.reason}"))
    room = max(0, _parallel(config, len(unhealthy)) - len(busy))
    return list(found.values())[:room]


def _threshold(config: Object, size: int) -> float:
    """Unhealthy nodes above which nothing is repaired."""
    if count := config.get("maxUnhealthyNodeThresholdCount"):
        return int(count)
    if percentage := config.get("maxUnhealthyNodeThresholdPercentage"):
        return size * int(percentage) / 100
    return size * UNHEALTHY_PERCENT / 100 if size > SMALL_GROUP else size


def _parallel(config: Object, unhealthy: int) -> int:
    """Nodes that may be in repair at once."""
    if count := config.get("maxParallelNodesRepairedCount"):
        return int(count)
    if percentage := config.get("maxParallelNodesRepairedPercentage"):
        return max(1, unhealthy * int(percentage) // 100)
    return unhealthy


def _treatment(config: Object, ill: Sick) -> tuple[float, Action]:
    """How many minutes to wait, and what to do then: an override's, else EKS' own."""
    for each in config.get("nodeRepairConfigOverrides") or []:
        if (each.get("nodeMonitoringCondition"), each.get("nodeUnhealthyReason")) == (ill.condition, ill.reason):
            return float(each["minRepairWaitTimeMins"]), each["repairAction"]
    return MINUTES[ill.condition], _action(ill) if ill.condition == ACCELERATORS else "Replace"


def _action(ill: Sick) -> Action:
    found = re.fullmatch(r"NvidiaXID(\d+)Error", ill.reason)
    xid = int(found[1]) if found else None
    if xid in REBOOTING_XIDS:
        return "Reboot"
    return "Replace" if xid in REPLACING_XIDS or REPLACING_REASONS.fullmatch(ill.reason) else "NoAction"
