"""Daemons that tell Kubernetes what a node has: device plugins, feature discovery, CSI node plugins.

Each works on the node its pod runs on, as long as it runs there: no pod, no effect.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from rehearsal.devices import gpus, sharing
from rehearsal.devices.gpus import GPU
from rehearsal.kube.client import ApiError
from rehearsal.kubelet import faults
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.program import Ends, Exit, Launch, Program

RETRY_SECONDS = 1.0
MERGE = "application/strategic-merge-patch+json"
EFA = "vpc.amazonaws.com/efa"
FEATURES = "feature.node.kubernetes.io/"
NVIDIA_VENDOR = "10de"
Offer = dict[str, tuple[int, int]]
"""Of each resource how many devices there are, and how many of these are healthy."""
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
"""Kubernetes, apimachinery, util/validation, IsValidLabelValue."""


class Daemon(Program):
    """A process that does one thing to its node when it starts, and another when it stops."""

    def __init__(
        self, launch: Launch, begin: Callable[[], float | None], end: Callable[[], None] | None = None
    ) -> None:
        self._launch, self._end = launch, end
        # One name per node and daemon: a successor's beginning replaces its predecessor's end, never the reverse.
        self._task = f"{launch.node}/{launch.spec['name']}"
        launch.world.tasks.run(self._task, begin)

    def stop(self) -> None:
        if self._end is None:
            self._launch.world.tasks.cancel(self._task)
        else:
            self._launch.world.tasks.run(self._task, self._end)

    def close(self) -> None:
        self._launch.world.tasks.cancel(self._task)


def advertising(launch: Launch, offered: Callable[[], Offer | None], unless: Iterable[str] = ()) -> Daemon:
    """A device plugin: it writes what `offered` finds whenever that changes, nothing while that is None. When it stops,
    what it wrote is withdrawn, or the resources of `unless` where it wrote nothing.
    """
    now: Offer = {}

    def begin() -> float | None:
        found = offered()
        if found is not None and found != now:
            advertise(launch, {**dict.fromkeys(now, (0, 0)), **found})
            now.clear()
            now.update(found)
        return RETRY_SECONDS

    return Daemon(launch, begin, lambda: withdraw(launch, now or unless))


def nvidia_device_plugin(launch: Launch) -> Program:
    """Advertises the machine's GPUs or their slices, if the driver is on it: from the AMI or from a driver pod.

    Source: k8s-device-plugin README (without a driver the plugin finds no NVML and serves nothing; MIG strategies).
    The MIG manager restarts the plugin after a cut; here it looks again by itself. A GPU of which the driver reported a
    critical Xid is not offered any more (internal/rm/health.go); the real plugin takes it back after a restart only,
    which here is part of what heals.
    """

    def offered() -> Offer | None:
        host = launch.world.hosts.get(launch.node)
        turns = sharing.turns(launch) if host and has_driver(launch) else None
        return None if host is None or turns is None else _offered(launch, host, turns)

    return advertising(launch, offered, [GPU])


def _offered(launch: Launch, host: Host, turns: int) -> Offer:
    """What there is of each resource. The kubelet is told which devices are not healthy."""
    profile = launch.world.hosts.profile(launch.node)
    sick = faults.unhealthy(launch.world.orders.now().of(launch.node))
    found = {}
    for resource, count in gpus.offered(host.machine, profile, _strategy(launch), turns).items():
        of_each = count // host.machine.gpu_count if host.machine.gpu_count else 0
        gone = [index * of_each + part for index in sick for part in range(of_each)]
        launch.world.allotted.offer(launch.node, resource, gone, of_each)
        found[resource] = (count, max(0, count - len(gone)))
    return found


def _may_change(launch: Launch, host: Host) -> bool:
    """Whether GPUs may be cut, or shared, otherwise while the process runs."""
    gpu = gpus.find(host.machine)
    return sharing.configurable(launch) or (gpu is not None and bool(gpu.slices))


def _strategy(launch: Launch) -> str:
    return launch.env.get("MIG_STRATEGY", "none")


def has_driver(launch: Launch) -> bool:
    """Whether NVIDIA's driver runs on the node of this container."""
    host = launch.world.hosts.get(launch.node)
    if host is None or not host.machine.gpu_count:
        return False
    return host.driver or any(True for _ in launch.world.running(launch.node, "nvidia-driver-ctr"))


def efa_device_plugin(launch: Launch) -> Program:
    """Advertises the EFA interfaces that are attached to the instance, not those its type could have.

    Source: EKS user guide, "Run machine learning training on Amazon EKS with Elastic Fabric Adapter".
    """
    host = launch.world.hosts.get(launch.node)
    count = host.efa_interfaces if host else 0

    def begin() -> float | None:
        if count:
            advertise(launch, {EFA: (count, count)})
        return None

    return Daemon(launch, begin, lambda: withdraw(launch, [EFA]))


def feature_worker(launch: Launch) -> Program:
    """NFD's worker: PCI vendors and the operating system of its node, published as labels by NFD's master.

    Source: node-feature-discovery, "Feature labels" (pci, system); the vendor alone names the label with gpu-operator's
    `deviceLabelFields`.
    """
    host = launch.world.hosts.get(launch.node)
    system, release = host.system if host else ("amzn", "2023")
    labels = {
        f"{FEATURES}system-os_release.ID": system,
        f"{FEATURES}system-os_release.VERSION_ID": release,
        **{f"{FEATURES}pci-{vendor}.present": "true" for vendor in (host.vendors if host else ())},
    }
    if host and host.machine.gpu_count:
        labels[f"{FEATURES}pci-{NVIDIA_VENDOR}.present"] = "true"
    return Daemon(launch, lambda: _publish(launch, labels))


def gpu_feature_discovery(launch: Launch) -> Program:
    """GFD: product, memory, count and family of the node's GPUs, given a driver to ask and NFD to publish them."""
    now: dict[str, str] = {}

    def begin() -> float | None:
        host = launch.world.hosts.get(launch.node)
        if host is None or not has_driver(launch):
            return RETRY_SECONDS
        turns = sharing.turns(launch)
        if turns is None:
            return RETRY_SECONDS
        profile = launch.world.hosts.profile(launch.node)
        labels = gpus.discovery_labels(host.machine, profile, _strategy(launch), turns)
        if labels != now:
            if (again := _publish(launch, labels)) is not None:
                return again
            now.update(labels)
        return RETRY_SECONDS if _may_change(launch, host) else None

    return Daemon(launch, begin)


def prune_features(launch: Launch) -> Program:
    """NFD's master with `-prune`, its chart's post-delete hook: takes away the labels that NFD published, and ends.

    Source: node-feature-discovery, "NFD-Master" (`-prune`) and deployment/helm, templates/post-delete-job.yaml. Labels
    of GPU feature discovery are among them, as NFD publishes these too.
    """
    for node in launch.world.stores["nodes"].all():
        name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
        host = launch.world.hosts.get(name)
        discovered = gpus.discovery_labels(host.machine) if host else {}
        published = [label for label in labels if label.startswith(FEATURES) or label in discovered]
        call = partial(launch.world.kube.patch, "v1", "Node", name, None)
        _tolerating_absence(partial(call, {"metadata": {"labels": dict.fromkeys(published)}}))
    return Ends(launch.now, Exit(0))


def _publish(launch: Launch, labels: dict[str, str]) -> float | None:
    """NFD's master writes the labels its workers and GFD ask for, without those whose value is none of a label; without
    a master nobody does.

    Source: node-feature-discovery, nfd-master.go, filterFeatureLabels ("ignoring label"), and validate.go, Label.
    """
    labels = {name: value for name, value in labels.items() if LABEL_VALUE.fullmatch(value)}
    if labels and not any(_is_nfd_master(pod) for pod in launch.world.stores["pods"].all()):
        return RETRY_SECONDS
    label_node(launch, labels)
    return None


def label_node(launch: Launch, labels: Mapping[str, str]) -> None:
    """Put labels on the node of this container, if it is still there."""
    _node(launch, {"metadata": {"labels": dict(labels)}})


def _is_nfd_master(pod: dict[str, Any]) -> bool:
    labels = pod["metadata"].get("labels") or {}
    if labels.get("app.kubernetes.io/name") != "node-feature-discovery" or labels.get("role") != "master":
        return False
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod.get("status", {}).get("conditions", []))


def csi_node(driver: str) -> Callable[[Launch], Program]:
    """A CSI node plugin: registers its driver with the kubelet (CSINode) and takes its start-up taint off the node."""

    def start(launch: Launch) -> Program:
        host = launch.world.hosts.get(launch.node)
        entry = {
            "name": driver,
            "nodeID": host.instance_id if host else launch.node,
            "topologyKeys": ["topology.kubernetes.io/zone"] if driver.startswith("ebs") else [],
        }

        def begin() -> float | None:
            if not _drivers(launch, entry):
                return RETRY_SECONDS
            _untaint(launch, f"{driver}/agent-not-ready")
            return None

        def end() -> None:
            _drivers(launch, {"name": driver, "$patch": "delete"})

        return Daemon(launch, begin, end)

    return start


def _drivers(launch: Launch, entry: dict[str, Any]) -> bool:
    """Whether the node's CSINode took the entry: the first pods of a node can be faster than its kubelet makes one."""
    patch = {"spec": {"drivers": [entry]}}
    return _tolerating_absence(
        lambda: launch.world.kube.patch("storage.k8s.io/v1", "CSINode", launch.node, None, patch, None, MERGE)
    )


def _untaint(launch: Launch, key: str) -> None:
    node = launch.world.find("nodes", launch.node) or {}
    if any(taint["key"] == key for taint in (node.get("spec") or {}).get("taints") or []):
        kept = [taint for taint in node["spec"]["taints"] if taint["key"] != key]
        _node(launch, {"spec": {"taints": kept}})


def advertise(launch: Launch, resources: Mapping[str, tuple[int, int]]) -> None:
    """Writes what there is of each resource, and what of it is healthy."""
    there = {resource: str(count) for resource, (count, _) in resources.items()}
    healthy = {resource: str(count) for resource, (_, count) in resources.items()}
    _node(launch, {"status": {"capacity": there, "allocatable": healthy}}, "status")


def withdraw(launch: Launch, resources: Iterable[str]) -> None:
    """The kubelet marks the devices of a plugin that went away unhealthy: capacity stays, nothing is allocatable."""
    _node(launch, {"status": {"allocatable": dict.fromkeys(resources, "0")}}, "status")


def _node(launch: Launch, patch: dict[str, Any], subresource: str | None = None) -> None:
    _tolerating_absence(lambda: launch.world.kube.patch("v1", "Node", launch.node, None, patch, subresource))


def _tolerating_absence(call: Callable[[], object]) -> bool:
    """Whether there was an object to tell: the node may have gone."""
    try:
        call()
    except ApiError as error:
        if error.code != 404:
            raise
        return False
    return True
