"""Failures ordered of a cluster that runs: what its nodes, pods and exporters show, and that it goes when healed."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.cluster.pages import Request
from rehearsal.kubelet import orders
from rehearsal.kubelet.orders import Fault
from rehearsal.tests.inside import workloads
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site
from rehearsal.tests.inside.simulated import one, samples

pytestmark = pytest.mark.engine
WHERE, GPU = "failures", "nvidia.com/gpu"


class Breaking:
    """Breaks and mends the nodes of a site."""

    def __init__(self, site: Site) -> None:
        self.site, self.file = site, site.plane.directory / orders.FILE

    def fail(self, node: str, kind: str, target: str = "", *, once: bool = False) -> None:
        now = time.time()
        fault = Fault(node, kind, now, target=target, until=now if once else None)
        orders.change(self.file, lambda before: orders.broken(before, fault))

    def heal(self, node: str) -> None:
        orders.change(self.file, lambda before: orders.healed(before, node, None, time.time()))

    def node(self, name: str) -> Any:
        return self.site.kube.get("v1", "Node", name)

    def condition(self, name: str, kind: str) -> tuple[str, str]:
        found = [each for each in self.node(name)["status"]["conditions"] if each["type"] == kind]
        return (found[0]["status"], found[0]["reason"]) if found else ("", "")

    def page(self, where: str, pod: str, port: int) -> str:
        handler = self.site.effects.world.backends.handler(where, pod, port)
        return str(handler(Request("GET", "/metrics")).content) if handler else ""


@pytest.fixture
def breaking(gpus: Site) -> Iterator[Breaking]:
    made = Breaking(gpus)
    yield made
    for each in gpus.kube.list("v1", "Node"):
        made.heal(each["metadata"]["name"])
    names = [each["metadata"]["name"] for each in gpus.kube.list("v1", "Node")]
    until(lambda: all(made.condition(name, "Ready")[0] == "True" for name in names), 60, "all nodes are ready again")


def exporter(breaking: Breaking, node: str) -> str:
    """The exporter's pod on a node, once it answers."""

    def found() -> str:
        pods = breaking.site.pods("gpu-operator", "nvidia-dcgm-exporter")
        names = [each["metadata"]["name"] for each in pods if each["spec"].get("nodeName") == node]
        return next((name for name in names if samples(breaking.page("gpu-operator", name, 9400))), "")

    return str(until(found, 60, "the exporter answers"))


def test_a_gpu_that_falls_off_the_bus_is_not_allocatable_and_its_exporter_says_so(breaking: Breaking) -> None:
    node = breaking.site.nodes("train")[0]["metadata"]["name"]
    pod = exporter(breaking, node)
    assert one(breaking.page("gpu-operator", pod, 9400), "DCGM_FI_DEV_XID_ERRORS") == 0

    def gpus() -> tuple[str, str]:
        status = breaking.node(node)["status"]
        return status["capacity"][GPU], status["allocatable"][GPU]

    breaking.fail(node, "gpu-unavailable")
    until(lambda: gpus() == ("1", "0"), 10, "the plugin withdraws the GPU")
    watched = "AcceleratedHardwareReady"
    until(lambda: breaking.condition(node, watched) == ("False", "NvidiaXID79Error"), 10, "the agent says why")
    assert one(breaking.page("gpu-operator", pod, 9400), "DCGM_FI_DEV_XID_ERRORS", err_code="79") == 79
    breaking.heal(node)
    until(lambda: gpus() == ("1", "1"), 10, "the GPU is offered again")
    until(lambda: breaking.condition(node, watched)[0] == "True", 10, "and the agent says so")
    assert one(breaking.page("gpu-operator", pod, 9400), "DCGM_FI_DEV_XID_ERRORS") == 0


def test_a_node_whose_runtime_is_down_is_not_ready_since_then_and_comes_back(breaking: Breaking) -> None:
    node = breaking.site.nodes("system")[0]["metadata"]["name"]
    breaking.fail(node, "system-services")
    until(lambda: breaking.condition(node, "Ready") == ("False", "KubeletNotReady"), 15, "the kubelet says so")
    breaking.heal(node)
    until(lambda: breaking.condition(node, "Ready")[0] == "True", 15, "it is ready again")


def test_a_container_that_is_killed_for_memory_is_started_again(breaking: Breaking) -> None:
    site = breaking.site
    site.apply(workloads.namespace(WHERE), workloads.account("default", WHERE))
    container = {"name": "main", "image": "team/greedy:1", "resources": {"limits": {"cpu": "100m", "memory": "3Gi"}}}
    site.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "greedy", "namespace": WHERE},
            "spec": {"containers": [container]},
        }
    )

    def status() -> Any:
        found = site.kube.get("v1", "Pod", "greedy", WHERE) or {}
        return next(iter((found.get("status") or {}).get("containerStatuses") or []), {})

    until(lambda: status().get("ready"), 30, "it runs")
    node = (site.kube.get("v1", "Pod", "greedy", WHERE) or {})["spec"]["nodeName"]
    breaking.fail(node, "oom", f"{WHERE}/greedy/main", once=True)
    until(lambda: status().get("restartCount") == 1 and status().get("ready"), 30, "it is started again")
    ended = status()["lastState"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
