"""node_exporter on one node: which collectors its flags leave on, and what they read.

Source: prometheus/node_exporter 1.12.1: flags and defaults of the collectors that are here (collector/*.go), and
`--collector.disable-defaults`. Devices are named as on Amazon Linux 2023: `ens5` is the primary interface, `ens6` the
one that the VPC CNI attaches beside it (WARM_ENI_TARGET), `eni` and eleven digits the host's end of a pod's; EFA
devices `rdmap` and their place on the bus, which is assumed.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rehearsal.cluster.pages import texts
from rehearsal.devices import gpus
from rehearsal.devices.boards import BOARDS
from rehearsal.images import nodemetrics, nodenetwork, usage
from rehearsal.images.nodemetrics import Interface, Mounted, NodeNow, Port
from rehearsal.kube.quantities import amounts
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.exposition import Family, family, text
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.nodeobject import seen_memory
from rehearsal.kubelet.program import Launch, Program
from rehearsal.kubelet.topology import numa_nodes

VERSION = "1.12.1"
SECONDARY = "ens6"
KERNEL = "6.12.40-64.114.amzn2023"
EFA_BYTES_PER_SECOND = 100e9 / 8
"""efa_query_port answers EDR at four lanes: 100 Gb/s."""

DISK_SHARE = 0.3
"""Of every file system, what is used. Assumed."""

EFS_BYTES = float(2**63)
"""What EFS tells as its size (EFS user guide, "Metering file systems"): mounted over TLS, it is a port of the node."""

POINTS = "--collector.filesystem.mount-points-exclude"
TYPES = "--collector.filesystem.fs-types-exclude"
DEFAULTS = {
    POINTS: r"^/(dev|proc|run/credentials/.+|sys|var/lib/docker/.+|var/lib/containers/storage/.+)($|/)",
    TYPES: r"^(autofs|overlay|proc|sysfs|tracefs|squashfs|devtmpfs|cgroup2?)$",
    "--collector.systemd.unit-include": ".+",
    "--collector.systemd.unit-exclude": r".+\.(automount|device|mount|scope|slice)",
}
ON = ("cpu", "edac", "filesystem", "infiniband", "meminfo", "netclass", "netdev", "textfile", "time", "vmstat")
"""Collectors of which a node here has something to read, and that are on unless a flag says otherwise."""


def run(launch: Launch) -> Program:
    """Serves `/metrics` on the port of `--web.listen-address` (9100)."""
    flags = flags_of(launch.argv)
    exporter = Exporter(launch, flags)
    port = int(flags.get("--web.listen-address", ":9100").rpartition(":")[2])
    landing = "<html><head><title>Node Exporter</title></head></html>\n"
    return Answering(launch, {port: texts({"/metrics": exporter.page, "/": lambda: landing})})


def port(argv: Sequence[str]) -> int:
    """The one port on which it accepts, from its command line. Pure."""
    return int(flags_of(argv).get("--web.listen-address", ":9100").rpartition(":")[2])


def flags_of(argv: Sequence[str]) -> dict[str, str]:
    """Flags by name; the last one counts. Pure."""
    pairs = (word.partition("=") for word in argv if word.startswith("--"))
    return {name: value for name, _, value in pairs}


def collectors(flags: Mapping[str, str]) -> list[str]:
    """The collectors that are on. Pure."""
    base = () if "--collector.disable-defaults" in flags else ON
    chosen = [name for name in (*ON, "systemd") if f"--collector.{name}" in flags or name in base]
    return [name for name in chosen if f"--no-collector.{name}" not in flags]


class Exporter:
    """What the exporter of one node keeps: how long the CPUs have worked."""

    def __init__(self, launch: Launch, flags: Mapping[str, str]) -> None:
        self._launch, self._world, self._flags = launch, launch.world, {**DEFAULTS, **flags}
        self._collectors = collectors(flags)
        self._worked, self._looked = 0.0, time.time()
        self._lock = threading.Lock()

    def page(self) -> str:
        """What a scrape gets now."""
        host, node = self._world.hosts.get(self._launch.node), self._world.find("nodes", self._launch.node)
        if host is None or node is None:
            return ""
        with self._lock:
            state = self._state(host, node, time.time())
        reads: dict[str, Callable[[], list[Family]]] = {
            "cpu": lambda: nodemetrics.cpu(state, guests="--no-collector.cpu.guest" not in self._flags),
            "edac": lambda: nodemetrics.edac(state),
            "filesystem": lambda: nodemetrics.filesystem(state, self._flags[POINTS], self._flags[TYPES]),
            "infiniband": lambda: nodenetwork.infiniband(state),
            "meminfo": lambda: nodemetrics.meminfo(state),
            "netclass": lambda: nodenetwork.netclass(state),
            "netdev": lambda: nodenetwork.netdev(state),
            "systemd": lambda: nodemetrics.systemd(
                state, *(self._flags[f"--collector.systemd.unit-{which}"] for which in ("include", "exclude"))
            ),
            "textfile": list,
            "time": lambda: nodemetrics.others(state),
            "vmstat": lambda: nodemetrics.vmstat(state),
        }
        found = [each for name in self._collectors for each in reads[name]()]
        return text([*found, *_about(self._collectors)]) + "".join(self._textfiles())

    def _textfiles(self) -> Iterator[str]:
        """The files `*.prom` of the directory that `--collector.textfile.directory` names."""
        directory = self._flags.get("--collector.textfile.directory", "")
        mount = self._launch.mount_of(directory) if directory and "textfile" in self._collectors else None
        if mount is not None:
            contents = self._world.contents
            for name in sorted(contents.under(mount.volume, mount.inside(directory) or "")):
                file = contents.real(mount.volume, name) if name.endswith(".prom") else None
                if file is not None:
                    yield file.read_text()

    def _state(self, host: Host, node: Mapping[str, Any], now: float) -> NodeNow:
        pods = self._world.on_node(host.node)
        used = usage.of_node(dict(node), pods)
        passed, self._looked = now - self._looked, now
        self._worked += float(used["cpu"]) * passed
        booted = datetime.fromisoformat(node["metadata"]["creationTimestamp"].replace("Z", "+00:00")).timestamp()
        storage = float(amounts(node["status"]["capacity"])["ephemeral-storage"])
        return NodeNow(
            name=host.node,
            machine=host.machine.architecture,
            kernel=KERNEL,
            vcpus=host.machine.vcpus,
            worked=self._worked,
            passed=now - booted,
            load=float(used["cpu"]),
            memory=seen_memory(host.machine) * nodemetrics.MIB,
            memory_used=float(used["memory"]),
            now=now,
            booted=booted,
            mounts=[root(storage), *self._claims(pods)],
            ports=ports(host),
            interfaces=[*interfaces(host), *map(pod_interface, filter(_has_network, pods))],
            controllers=numa_nodes(host.machine) if host.machine.instance_type.endswith(".metal") else 0,
            units=units(host),
            faults=self._world.orders.now().of(host.node),
        )

    def _claims(self, pods: Sequence[Mapping[str, Any]]) -> Iterator[Mounted]:
        """What CSI drivers mounted for the running pods of the node."""
        for pod in pods:
            if (pod.get("status") or {}).get("phase") != "Running":
                continue
            for volume in pod["spec"].get("volumes") or []:
                claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
                bound = self._world.find("claims", claim, pod["metadata"]["namespace"]) if claim else None
                found = self._world.find("volumes", ((bound or {}).get("spec") or {}).get("volumeName") or "")
                if found is not None and found["spec"].get("csi"):
                    yield mounted(pod["metadata"]["uid"], found)


def root(size: float) -> Mounted:
    return Mounted("/dev/nvme0n1p1", "/", "xfs", size, size * DISK_SHARE)


def mounted(uid: str, volume: Mapping[str, Any]) -> Mounted:
    """A PersistentVolume where the kubelet mounts it for a pod. Pure."""
    spec, name = volume["spec"], volume["metadata"]["name"]
    csi, size = spec["csi"], float(amounts(spec["capacity"])["storage"])
    point = f"/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~csi/{name}/mount"
    attributes = csi.get("volumeAttributes") or {}
    if csi["driver"].startswith("efs"):
        return Mounted("127.0.0.1:/", point, "nfs4", EFS_BYTES, 0, network=True)
    if csi["driver"].startswith("fsx"):
        device = f"{attributes.get('dnsname', name)}@tcp:/{attributes.get('mountname', 'fsx')}"
        return Mounted(device, point, "lustre", size, size * DISK_SHARE, network=True)
    return Mounted(f"/dev/disk/by-id/{csi['volumeHandle']}", point, "ext4", size, size * DISK_SHARE)


def ports(host: Host) -> list[Port]:
    """The fabric devices of a machine: EFA, as many as are attached."""
    count = host.efa_interfaces
    return [Port(efa_name(count, index), True, EFA_BYTES_PER_SECOND) for index in range(count)]


def efa_name(count: int, index: int) -> str:
    """The name that rdma-core's udev rule gives one of `count` devices by its place on the bus."""
    return "rdmap0s31" if count == 1 else f"rdmap{0x10 + index}s27"


def interfaces(host: Host) -> list[Interface]:
    """Loopback, the primary interface, and the one for pods if the type has room for it."""
    found = [Interface("lo", "00:00:00:00:00:00"), Interface("ens5", _mac(host, 0))]
    if host.machine.interfaces > 1:
        found.append(Interface(SECONDARY, _mac(host, 1)))
    return found


def _mac(host: Host, index: int) -> str:
    digits = hashlib.sha256(f"{host.instance_id}/{index}".encode()).hexdigest()
    return "02:" + ":".join(digits[i : i + 2] for i in range(0, 10, 2))


def pod_interface(pod: Mapping[str, Any]) -> Interface:
    """The host's end of a pod's interface (amazon-vpc-cni-k8s, pkg/networkutils, GeneratePodHostVethName)."""
    meta = pod["metadata"]
    digest = hashlib.sha1(f"{meta['namespace']}.{meta['name']}".encode(), usedforsecurity=False).hexdigest()
    return Interface(f"eni{digest[:11]}", speed_mbps=10000)


def _has_network(pod: Mapping[str, Any]) -> bool:
    return not pod["spec"].get("hostNetwork") and (pod.get("status") or {}).get("phase") == "Running"


def units(host: Host) -> dict[str, str]:
    """systemd's services of a node, and their types (amazon-eks-ami, templates; NVIDIA's packages)."""
    found = {"chronyd.service": "forking", "containerd.service": "notify", "kubelet.service": "simple"}
    found["sshd.service"] = "notify"
    gpu = gpus.find(host.machine)
    if host.driver and gpu is not None:
        found["nvidia-persistenced.service"] = "forking"
        if BOARDS[gpu.product].links and host.machine.gpu_count > 1:
            found["nvidia-fabricmanager.service"] = "forking"
    return found


def _about(names: Sequence[str]) -> list[Family]:
    """What the exporter tells of itself."""
    build = {"branch": "HEAD", "goarch": "amd64", "goos": "linux", "version": VERSION}
    every = [({"collector": name}, 1.0) for name in names]
    help = "node_exporter: Whether a collector succeeded."
    return [
        family("node_exporter_build_info", "gauge", "The build of node_exporter.", (build, 1.0)),
        family("node_scrape_collector_success", "gauge", help, *every),
    ]
