"""How nodes fail: twelve kinds of failure of GPU clusters, two that only a measurement finds, and what each does to a
simulated node.

One way to make a node ill: an order (`orders.py`) of one of these kinds. What follows is read here by whatever shows
it: the exporters, the device plugin, EKS' node monitoring agent, the kubelet and the processes in pods.
Sources are named with each kind; NVIDIA's are "XID Errors" (r590) and dcgm-exporter's table of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rehearsal.kubelet.orders import Fault

IGNORED_XIDS = frozenset({13, 31, 43, 45, 68, 109})
"""Errors of applications, after which a GPU is offered as before (k8s-device-plugin, internal/rm/health.go)."""


@dataclass(frozen=True)
class Kind:
    """One kind of failure: what is done (a sentence), where that is from, and its effects.

    `xids` are the errors that the driver reports, in order. `condition` and `reason` are what the agent makes of it;
    `warning` an event instead. `gpu` says that it hits one GPU; `cured` what EKS' repair must do, at least.
    """

    text: str
    source: str
    gpu: bool = False
    once: bool = False
    xids: tuple[int, ...] = ()
    condition: str | None = None
    reason: str = ""
    warning: str | None = None
    reboot_cures: bool = True


_GPUS = "AcceleratedHardwareReady"

KINDS: dict[str, Kind] = {
    "oom": Kind(
        "the kernel kills the container with the largest memory limit",
        "Kubernetes, Node-pressure eviction, 'Node out of memory behavior'; proc(5), oom_kill of /proc/vmstat",
        once=True,
    ),
    "gpu-unavailable": Kind(
        "a GPU falls off the bus (Xid 79)",
        "NVIDIA, XID Errors: 79; the agent's WellKnownXidCodes (RESTART_BM)",
        gpu=True,
        xids=(79,),
        condition=_GPUS,
        reason="NvidiaXID79Error",
        reboot_cures=False,
    ),
    "gpu-memory": Kind(
        "a double-bit ECC error in a GPU's memory, whose row is then remapped (Xid 48, then 63)",
        "NVIDIA, XID Errors: 48, 63; NVIDIA, GPU Memory Error Management, 'Row-remapping'",
        gpu=True,
        xids=(48, 63),
        condition=_GPUS,
        reason="NvidiaXID48Error",
    ),
    "gpu-driver": Kind(
        "the GPU's firmware does not answer its driver (Xid 119, GSP RPC timeout)",
        "NVIDIA, XID Errors: 119",
        gpu=True,
        xids=(119,),
        condition=_GPUS,
        reason="NvidiaXID119Error",
    ),
    "nvlink": Kind(
        "an NVLink of a GPU has errors without end (Xid 74)",
        "NVIDIA, XID Errors: 74; DCGM field identifiers 409 to 439 (NVLink error counters)",
        gpu=True,
        xids=(74,),
        condition=_GPUS,
        reason="NvidiaXID74Error",
    ),
    "ib-link": Kind(
        "the port of a fabric card loses its link; an EFA device, whose driver never says so, leaves the system",
        "Linux, Documentation/ABI/stable/sysfs-class-infiniband; drivers/infiniband/hw/efa/efa_verbs.c, efa_query_port",
    ),
    "filesystem-mount": Kind(
        "network file systems of the node hang; on a node without one the root file system is remounted read-only",
        "node_exporter, collector/filesystem_linux.go (stuck mounts); ext4(5), errors=remount-ro",
    ),
    "main-memory": Kind(
        "an uncorrectable memory error: the kernel takes the page out of use",
        "Linux, mm/memory-failure.c (HardwareCorrupted of /proc/meminfo); Documentation/admin-guide/ras.rst (EDAC)",
    ),
    "ethernet-link": Kind(
        "a network interface beside the primary one loses its link",
        "Linux, Documentation/ABI/testing/sysfs-class-net (operstate, carrier_down_count); the agent's InterfaceNotUp",
        condition="NetworkingReady",
        reason="InterfaceNotUp",
    ),
    "pcie": Kind(
        "packets on a GPU's PCIe link are sent again and again",
        "NVML, nvmlDeviceGetPcieReplayCounter; the agent's NvidiaPCIeError, a warning",
        gpu=True,
        warning="NvidiaPCIeError",
    ),
    "nccl-timeout": Kind(
        "the watchdog of every rank on the node gives up a collective",
        "PyTorch, torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp (watchdog)",
        once=True,
    ),
    "system-services": Kind(
        "containerd fails on the node, and its kubelet says so",
        "Kubernetes, pkg/kubelet/runtime.go (container runtime is down); systemd, unit states",
    ),
    "gpu-slow": Kind(
        "a GPU is held at half of its clock, by heat or power, and says nothing",
        "NVIDIA, nvidia-smi(1): clocks_event_reasons (hw_slowdown halves the core clocks or more)",
        gpu=True,
    ),
    "fabric-manager": Kind(
        "nvidia-fabricmanager does not run: GPUs behind NVSwitches cannot be started",
        "NVIDIA, Fabric Manager user guide (GPUs wait for it); NVML, nvmlGpuFabricState_t (in progress)",
    ),
}
"""By the name that a person types; the order is that of the sources' table of failures."""

REPLAYS_PER_SECOND, LINK_ERRORS_PER_SECOND = 10.0, 5.0
PAGE_BYTES = 4096
XID_WINDOW_SECONDS = 300.0


@dataclass(frozen=True)
class GpuState:
    """What has befallen one GPU: counters as they stand, and what it is like now."""

    gone: bool = False
    xid: int = 0
    recent_xids: tuple[int, ...] = ()
    double_bit: int = 0
    remapped_rows: int = 0
    replays: int = 0
    link_errors: int = 0
    link_recoveries: int = 0
    slowed: bool = False


def gpu(faults: Iterable[Fault], index: int, now: float) -> GpuState:
    """The state of GPU `index` of a node with these failures at a time of the Unix clock. Pure.

    Counters keep what healed failures left; the last Xid goes with the reset that heals.
    """
    hit = [each for each in faults if KINDS[each.kind].gpu and each.gpu == index and each.since <= now]
    last = [xid for each in hit if each.lasts for xid in KINDS[each.kind].xids]
    recent = [each for each in hit if each.lasts and now - each.since < XID_WINDOW_SECONDS]
    memory = sum(each.kind == "gpu-memory" for each in hit)
    links = seconds(hit, "nvlink", now)
    return GpuState(
        gone=any(each.lasts and each.kind == "gpu-unavailable" for each in hit),
        xid=last[-1] if last else 0,
        recent_xids=tuple(xid for each in recent for xid in KINDS[each.kind].xids),
        double_bit=memory,
        remapped_rows=memory,
        replays=int(seconds(hit, "pcie", now) * REPLAYS_PER_SECOND),
        link_errors=int(links * LINK_ERRORS_PER_SECOND),
        link_recoveries=int(links / 60),
        slowed=any(each.lasts and each.kind == "gpu-slow" for each in hit),
    )


def seconds(faults: Iterable[Fault], kind: str, now: float) -> float:
    """For how long a kind of failure has lasted so far, all of them together. Pure."""
    return sum((now if each.until is None else each.until) - each.since for each in faults if each.kind == kind)


def unhealthy(faults: Iterable[Fault]) -> list[int]:
    """The GPUs that the device plugin does not offer any more: a critical Xid was reported of them. Pure."""
    found = {
        each.gpu for each in faults if each.lasts and any(xid not in IGNORED_XIDS for xid in KINDS[each.kind].xids)
    }
    return sorted(found)


def lasting(faults: Iterable[Fault], kind: str) -> list[Fault]:
    """The failures of one kind that are not healed. Pure."""
    return [each for each in faults if each.lasts and each.kind == kind]


def times(faults: Iterable[Fault], kind: str, now: float) -> int:
    """How often a kind of failure has happened so far. Pure."""
    return sum(each.kind == kind and each.since <= now for each in faults)


def conditions(faults: Iterable[Fault]) -> dict[str, tuple[str, str]]:
    """The node's conditions that are False for these failures: by type, reason and message of the agent. Pure."""
    found: dict[str, tuple[str, str]] = {}
    for each in faults:
        kind = KINDS[each.kind]
        if each.lasts and kind.condition:
            text = (
                f"detected XID-{kind.xids[0]} on the instance, review kernel logs for additional information."
                if kind.xids
                else f"The interface {each.target} is not up"
            )
            found.setdefault(kind.condition, (kind.reason, text))
    return found


def cured_by_reboot() -> list[str]:
    """The kinds that a machine does not have any more after it started anew."""
    return [name for name, kind in KINDS.items() if kind.reboot_cures]
