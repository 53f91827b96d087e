"""EKS' node monitoring agent: a node's conditions that say its systems are watched.

Source: aws/eks-node-monitoring-agent, cmd/eks-node-monitoring-agent/main.go: at its start the agent sets each condition
that it watches to True, whatever it was before; monitors/: what of a machine's failures makes a condition False, and
what an event only. Here it finds the failures that were ordered (`kubelet/faults.py`); one that is healed counts as
repaired and the agent as started again, so that the condition is True. So does a host engine of DCGM that answers again
(pull request 244 there).
"""

import time
from typing import Any

from rehearsal.devices import host_engine
from rehearsal.devices.daemons import MERGE, RETRY_SECONDS, Daemon
from rehearsal.kube.client import ApiError
from rehearsal.kubelet import faults
from rehearsal.kubelet.nodeobject import now
from rehearsal.kubelet.program import Launch, Program

WATCHED = {
    "KernelReady": ("KernelIsReady", "Kernel"),
    "StorageReady": ("DiskIsReady", "Disk"),
    "ContainerRuntimeReady": ("ContainerRuntimeIsReady", "ContainerRuntime"),
    "NetworkingReady": ("NetworkingIsReady", "Networking"),
}
GPUS = "AcceleratedHardwareReady"
WATCHED_GPUS = {GPUS: ("NvidiaGPUIsReady", "Nvidia GPU")}
GRACE_SECONDS = 60.0
"""For so long the host engine may be away (monitors/nvidia/monitor.go, DCGM_GRACE_PERIOD_DURATION)."""
_AWAY = (
    "DCGMError",
    "failed to initialize DCGM: Error connecting to nv-hostengine: Host engine connection invalid/disconnected",
)
"""pkg/reasons/reasons.yaml; monitors/nvidia/dcgm/dcgm_client.go, Reconcile. EKS' repair does nothing about it."""


def agent(launch: Launch) -> Program:
    """Marks its node as watched, GPUs only where there are some; then tells what fails."""
    bad: dict[str, tuple[str, str]] = {}
    begun: list[bool] = []
    reached = [time.monotonic()]

    def look() -> float | None:
        host = launch.world.hosts.get(launch.node)
        if host is None:
            return RETRY_SECONDS
        watched = WATCHED | (WATCHED_GPUS if host.machine.gpu_count else {})
        found = faults.conditions(launch.world.orders.now().of(launch.node))
        if host.machine.gpu_count and _away(launch, reached):
            found = {GPUS: _AWAY, **found}
        told = [_said(each, found.get(each)) for each in watched if not begun or found.get(each) != bad.get(each)]
        if told and not _write(launch, told):
            return None
        begun[:] = [True]
        bad.clear()
        bad.update(found)
        _warn(launch)
        return RETRY_SECONDS

    return Daemon(launch, look)


def _away(launch: Launch, reached: list[float]) -> bool:
    """Whether the node has had no host engine for longer than it may; `reached` is when it last had one."""
    if any(True for _ in launch.world.running(launch.node, host_engine.CONTAINER)):
        reached[:] = [time.monotonic()]
    return time.monotonic() - reached[0] > GRACE_SECONDS


def _write(launch: Launch, told: list[dict[str, Any]]) -> bool:
    """Whether the node is still there to be told."""
    try:
        launch.world.kube.patch("v1", "Node", launch.node, None, {"status": {"conditions": told}}, "status", MERGE)
    except ApiError as error:
        if error.code != 404:
            raise
        return False
    return True


def _warn(launch: Launch) -> None:
    """Events of failures that make no condition False; the recorder writes each once."""
    for each in launch.world.orders.now().of(launch.node):
        kind = faults.KINDS[each.kind]
        node = launch.world.find("nodes", launch.node) if kind.warning and each.lasts else None
        if node is not None and kind.warning:
            text = f"{kind.text}: GPU {each.gpu}"
            launch.world.events.emit(node, "Warning", kind.warning, text, "eks-node-monitoring-agent", launch.node)


def _said(condition: str, wrong: tuple[str, str] | None) -> dict[str, Any]:
    reason, system = (WATCHED | WATCHED_GPUS)[condition]
    said = wrong or (reason, f"Monitoring for the {system} system is active")
    stamp, status = now(), "False" if wrong else "True"
    times = {"lastTransitionTime": stamp, "lastHeartbeatTime": stamp}
    return {"type": condition, "status": status, "reason": said[0], "message": said[1], **times}
