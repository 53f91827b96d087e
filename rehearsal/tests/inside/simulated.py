"""One node without a cluster: a world of plain objects in which programs of its pods run, and orders are real."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from rehearsal.cluster.backends import Backends
from rehearsal.kubelet import orders
from rehearsal.kubelet.allotted import Allotted, Holder, Work
from rehearsal.kubelet.attaching import Attachments
from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.hosts import Hosts
from rehearsal.kubelet.nodeobject import capacity
from rehearsal.kubelet.orders import Fault, Load, Orders
from rehearsal.kubelet.program import Launch
from rehearsal.tests.inside import facts

GPU = "nvidia.com/gpu"
Sample = tuple[Mapping[str, str], float]


class Node:
    """A node of an instance type. `patches` are what programs told the API server, `events` their reasons."""

    def __init__(self, directory: Path, instance_type: str = "p5.48xlarge", **more: Any) -> None:
        self.host = facts.host(instance_type, **more)
        self.directory, self.file = directory, directory / orders.FILE
        self.patches: list[Any] = []
        self.events: list[str] = []
        self.work: dict[str, Callable[[], Any]] = {}
        self.pods: list[dict[str, Any]] = []
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        hosts = Hosts()
        hosts.add(self.host)
        shown, usable = capacity(self.host, 100)
        self.node: dict[str, Any] = {
            "metadata": {"name": self.host.node, "creationTimestamp": "2026-11-22T12:00:00Z", "labels": {}},
            "spec": {},
            "status": {"capacity": shown, "allocatable": usable, "conditions": []},
        }
        self.world: Any = SimpleNamespace(
            hosts=hosts,
            allotted=Allotted(),
            attached=Attachments(),
            orders=Orders(self.file),
            contents=Contents(directory / "volumes.json"),
            backends=Backends(),
            tasks=SimpleNamespace(run=self.work.__setitem__, cancel=lambda name: self.work.pop(name, None)),
            stores={"pods": SimpleNamespace(all=lambda: self.pods)},
            on_node=lambda node: [each for each in self.pods if each["spec"].get("nodeName") == node],
            running=lambda _node, name: (each for each in self.pods if name in _containers(each)),
            kube=SimpleNamespace(patch=lambda *told: self.patches.append(told[4])),
            events=SimpleNamespace(emit=lambda _obj, _kind, reason, *_: self.events.append(reason)),
            find=lambda store, name, _namespace=None: (
                self.node if store == "nodes" else self.objects.get((store, name))
            ),
        )

    def launch(self, pod: Mapping[str, Any] | None = None, **more: Any) -> Launch:
        """A container about to run on the node."""
        values: dict[str, Any] = {
            "world": self.world,
            "pod": pod or self.pod("exporter"),
            "spec": {"name": "main", "image": "i:1"},
            "node": self.host.node,
            "command": (),
            "args": (),
            "env": {},
            "mounts": (),
            "directory": self.directory / "container",
            "wake": lambda: None,
            "now": 0.0,
        }
        return Launch(**{**values, **more})

    def pod(self, name: str, container_name: str = "main", **limits: str) -> dict[str, Any]:
        """A pod that is ready on the node, and is among its pods from now on."""
        container = {"name": container_name, "image": "i:1", "resources": {"limits": limits, "requests": limits}}
        made = {
            "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": {"app": name.rpartition("-")[0]}},
            "spec": {"nodeName": self.host.node, "containers": [container], "volumes": []},
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{"name": container_name, "state": {"running": {}}, "ready": True}],
            },
        }
        self.pods = [*(each for each in self.pods if each["metadata"]["name"] != name), made]
        return made

    def hold(self, name: str, count: int, compute: float = 1.0, memory: float = 0.9) -> None:
        """A pod that holds GPUs and works with them."""
        self.world.allotted.offer(self.host.node, GPU, ())
        self.world.allotted.take(self.host.node, self.pod(name, **{GPU: str(count)}))
        self.world.allotted.work(Holder("ns", name, "main"), lambda: Work(compute, memory))

    def fail(self, kind: str, since: float, gpu: int = 0, target: str = "") -> None:
        fault = Fault(self.host.node, kind, since, gpu, target)
        orders.change(self.file, lambda before: orders.broken(before, fault))

    def heal(self, now: float) -> None:
        orders.change(self.file, lambda before: orders.healed(before, self.host.node, None, now))

    def offer(self, service: str, rps: float, since: float, until: float) -> None:
        load = Load("ns", service, {"app": service}, rps, since, until)
        orders.change(self.file, lambda before: orders.loaded(before, load))


def _containers(pod: Mapping[str, Any]) -> set[str]:
    return {each["name"] for each in pod["spec"]["containers"]}


def samples(page: str) -> dict[str, list[Sample]]:
    """A page's samples by name, read by the client library's parser, which gives each counter the ending `_total`."""
    written = {re.split(r"[{ ]", line, maxsplit=1)[0] for line in page.splitlines()}
    found: dict[str, list[Sample]] = {}
    for family in text_string_to_metric_families(page):
        for each in family.samples:
            name = each.name if each.name in written else each.name.removesuffix("_total")
            found.setdefault(name, []).append((each.labels, each.value))
    for name, every in found.items():
        told = [tuple(sorted(labels.items())) for labels, _ in every]
        assert len(told) == len(set(told)), f"{name} has two samples with the same labels"
    return found


def one(page: str, name: str, /, **labels: str) -> float:
    """The value of the only sample of a name with these labels."""
    (value,) = [value for has, value in samples(page).get(name, []) if labels.items() <= has.items()]
    return value
