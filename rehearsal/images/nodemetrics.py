"""What node_exporter's collectors read of a simulated node. Pure.

Source: prometheus/node_exporter 1.12.1, collector/ (names, labels, help); sysfs as prometheus/procfs reads it. What a
node here has not - disks' own statistics, pressure, sockets - is absent, as on a machine whose kernel does not tell it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rehearsal.kubelet import faults
from rehearsal.kubelet.exposition import Family, family
from rehearsal.kubelet.orders import Fault

MIB = 2**20
SYSTEM_SHARE = 0.1
GUEST_MODES = ("nice", "user")
"""Of the time in which CPUs work, what the kernel takes. Assumed."""


@dataclass(frozen=True)
class Mounted:
    """One mounted file system, sizes in bytes."""

    device: str
    mountpoint: str
    fstype: str
    size: float
    used: float
    network: bool = False


@dataclass(frozen=True)
class Port:
    """One fabric card with one port: InfiniBand, or an EFA device, whose port is always up."""

    device: str
    efa: bool
    bytes_per_second: float


@dataclass(frozen=True)
class Interface:
    """One network interface, with its speed where the driver tells one."""

    name: str
    address: str = ""
    speed_mbps: int | None = None


@dataclass(frozen=True)
class NodeNow:
    """A node at one moment: CPU seconds worked and passed, memory in bytes, and what it has."""

    name: str
    machine: str
    kernel: str
    vcpus: int
    worked: float
    passed: float
    load: float
    memory: float
    memory_used: float
    now: float
    booted: float
    mounts: Sequence[Mounted] = ()
    ports: Sequence[Port] = ()
    interfaces: Sequence[Interface] = ()
    controllers: int = 0
    units: Mapping[str, str] = field(default_factory=dict)
    faults: Sequence[Fault] = ()


def cpu(node: NodeNow, *, guests: bool) -> list[Family]:
    """Seconds of each CPU in each mode; all CPUs share the work alike. `guests`: those of virtual machines, too."""
    each = node.worked / node.vcpus
    modes = dict.fromkeys(("idle", "iowait", "irq", "nice", "softirq", "steal", "system", "user"), 0.0)
    modes["system"], modes["user"] = each * SYSTEM_SHARE, each * (1 - SYSTEM_SHARE)
    modes["idle"] = max(0.0, node.passed - each)
    samples = [({"cpu": str(i), "mode": mode}, round(s, 2)) for i in range(node.vcpus) for mode, s in modes.items()]
    inside = [({"cpu": str(i), "mode": mode}, 0.0) for i in range(node.vcpus if guests else 0) for mode in GUEST_MODES]
    return [
        family("node_cpu_seconds_total", "counter", "Seconds the CPUs spent in each mode.", *samples),
        family("node_cpu_guest_seconds_total", "counter", "Seconds the CPUs spent in guests for each mode.", *inside),
    ]


def meminfo(node: NodeNow) -> list[Family]:
    free = node.memory - node.memory_used
    values = {
        "MemTotal": node.memory,
        "MemFree": free,
        "MemAvailable": free,
        "Buffers": 0.0,
        "Cached": 0.0,
        "SwapTotal": 0.0,
        "SwapFree": 0.0,
        # The kernel forgets its bad pages when the machine starts again, with which the failure ends.
        "HardwareCorrupted": float(faults.PAGE_BYTES * len(faults.lasting(node.faults, "main-memory"))),
    }
    return [
        family(f"node_memory_{name}_bytes", "gauge", f"Memory information field {name}_bytes.", ({}, float(int(value))))
        for name, value in values.items()
    ]


def filesystem(node: NodeNow, excluded_points: str, excluded_types: str) -> list[Family]:
    """Sizes; of one that hangs only that it does, of one that was remounted that it is read-only."""
    broken = faults.lasting(node.faults, "filesystem-mount")
    hangs = any(each.network for each in node.mounts)
    rows: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    for each in node.mounts:
        if re.search(excluded_points, each.mountpoint) or re.search(excluded_types, each.fstype):
            continue
        stuck = bool(broken) and each.network
        readonly = bool(broken) and not hangs and each.mountpoint == "/"
        labels = {"device": each.device, "device_error": "mountpoint timeout" if stuck else ""}
        labels |= {"fstype": each.fstype, "mountpoint": each.mountpoint}
        values = {"device_error": float(stuck), "readonly": float(readonly)}
        if not stuck:
            free = each.size - each.used
            values |= {"size_bytes": each.size, "free_bytes": free, "avail_bytes": free}
        for name, value in values.items():
            rows.setdefault(name, []).append((labels, float(int(value))))
    helps = {
        "device_error": "Whether an error occurred while getting statistics for the given device.",
        "readonly": "Filesystem read-only status.",
        "size_bytes": "Filesystem size in bytes.",
        "free_bytes": "Filesystem free space in bytes.",
        "avail_bytes": "Filesystem space available to non-root users in bytes.",
    }
    return [family(f"node_filesystem_{name}", "gauge", helps[name], *values) for name, values in rows.items()]


def edac(node: NodeNow) -> list[Family]:
    """Memory controllers, which guests of EC2 do not see; the first one counts the failures."""
    count = faults.times(node.faults, "main-memory", node.now)
    return [
        family(
            f"node_edac_{name}_errors_total",
            "counter",
            f"Total {name} memory errors.",
            *(({"controller": str(i)}, float(number if i == 0 else 0)) for i in range(node.controllers)),
        )
        for name, number in (("correctable", 0), ("uncorrectable", count))
    ]


def vmstat(node: NodeNow) -> list[Family]:
    kills = float(faults.times(node.faults, "oom", node.now))
    return [family("node_vmstat_oom_kill", "untyped", "/proc/vmstat information field oom_kill.", ({}, kills))]


def systemd(node: NodeNow, include: str, exclude: str) -> list[Family]:
    """Units by name and type; containerd has failed while its failure lasts."""
    failed = bool(faults.lasting(node.faults, "system-services"))
    units = {name: kind for name, kind in node.units.items() if re.fullmatch(include, name)}
    units = {name: kind for name, kind in units.items() if not re.fullmatch(exclude, name)}
    states = ("active", "activating", "deactivating", "inactive", "failed")
    samples = [
        (
            {"name": name, "state": state, "type": kind},
            float(state == ("failed" if failed and name == "containerd.service" else "active")),
        )
        for name, kind in units.items()
        for state in states
    ]
    running = "Whether the system is operational (see 'systemctl is-system-running')"
    return [
        family("node_systemd_unit_state", "gauge", "Systemd unit", *samples),
        family("node_systemd_system_running", "gauge", running, ({}, float(not failed))),
    ]


def others(node: NodeNow) -> list[Family]:
    """The small collectors: loadavg, stat, time, uname."""
    uname = {
        "domainname": "(none)",
        "machine": node.machine,
        "nodename": node.name,
        "release": node.kernel,
        "sysname": "Linux",
        "version": "#1 SMP",
    }
    return [
        *(
            family(f"node_load{minutes}", "gauge", f"{minutes}m load average.", ({}, round(node.load, 2)))
            for minutes in (1, 5, 15)
        ),
        family("node_boot_time_seconds", "gauge", "Node boot time, in unixtime.", ({}, node.booted)),
        family("node_time_seconds", "gauge", "System time in seconds since epoch (1970).", ({}, node.now)),
        family(
            "node_uname_info", "gauge", "Labeled system information as provided by the uname system call.", (uname, 1)
        ),
    ]
