"""Where the real scheduler puts replicas by the affinity and constraints that a service registers (Q09, IN10)."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from components.platform.pods import PodShape
from components.serving.inference import InferenceService
from components.serving.placement import Placement
from rehearsal.cluster import ControlPlane
from rehearsal.keys import Account, Keys
from rehearsal.kube.client import Kube
from rehearsal.toolchain import ensure
from tests.components.samples import built
from tests.components.samples.serving import engine, service_args

from .rehearsed import until

pytestmark = pytest.mark.engine

GPUS = 8
NOWHERE = Account("http://127.0.0.1:9", Keys("AKIANOBODY", "none", "none"))
"""No account: nobody asks for tokens here."""


@pytest.fixture(scope="module")
def kube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kube]:
    """A control plane with its own scheduler and controllers, without a program on it."""
    tools = ensure(["etcd", "kubernetes", "kwok"])
    plane = ControlPlane(tmp_path_factory.mktemp("plane"), "scheduling", "us-east-2", NOWHERE, tools)
    plane.start()
    try:
        yield plane.kube()
    finally:
        plane.stop()


def nodes(kube: Kube, pool: str, count: int) -> None:
    """Nodes of a pool with 8 GPUs each, ready for pods."""
    room = {"cpu": "80", "memory": "800Gi", "nvidia.com/gpu": str(GPUS), "pods": "100"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
    for index in range(count):
        name = f"{pool}-{index}"
        labels = {"kubernetes.io/hostname": name, "gpucluster/pool": pool}
        kube.create(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
            }
        )
    until(lambda: not [each for each in of_pool(kube, pool) if each["spec"].get("taints")], "the nodes to be ready")


def of_pool(kube: Kube, pool: str) -> list[dict[str, Any]]:
    found = kube.list("v1", "Node")
    return [each for each in found if each["metadata"]["labels"].get("gpucluster/pool") == pool]


def serve(kube: Kube, name: str, pool: str, gpus: int, replicas: int = 1, *, spread: bool = False) -> None:
    """The Deployment that the component makes, as far as the scheduler looks; waits until it has looked at its pods."""
    changes: dict[str, Any] = {
        "name": name,
        "engine": engine(tensor_parallel=gpus),
        "shape": PodShape(gpus=gpus, cpu_millicores=10_000 * gpus, memory_mib=1024 * 90 * gpus, shm_mib=1),
        "pool": pool,
        "placement": Placement(pool=pool, gpus=gpus, node_gpus=GPUS, spread=spread),
    }
    graph = built(lambda opts: InferenceService("sample", service_args(**changes), opts))
    made = graph.one("sample-deployment").inputs["spec"]
    pod, labels = made["template"]["spec"], made["template"]["metadata"]["labels"]
    spec = {key: pod[key] for key in ("affinity", "topologySpreadConstraints")}
    spec |= {"nodeSelector": {"gpucluster/pool": pool}}
    spec |= {"containers": [{key: each[key] for key in ("name", "image", "resources")} for each in pod["containers"]]}
    kube.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "selector": made["selector"],
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }
    )
    until(lambda: len(seen(kube, name)) == replicas, f"the scheduler to look at {name}")


def seen(kube: Kube, name: str) -> list[str | None]:
    """The nodes of a service's pods that the scheduler has looked at; None where none had room."""
    found = []
    for each in kube.list("v1", "Pod", "default"):
        if each["metadata"]["labels"]["app.kubernetes.io/instance"] == name:
            conditions = each.get("status", {}).get("conditions") or []
            if "PodScheduled" in {condition["type"] for condition in conditions}:
                found.append(each["spec"].get("nodeName"))
    return found


def test_replicas_fill_a_node_before_the_next_is_begun(kube: Kube) -> None:
    nodes(kube, "packed", 3)
    for name, gpus, replicas in (("four", 4, 1), ("two", 2, 1), ("more", 4, 1), ("ones", 1, 2), ("last", 4, 1)):
        serve(kube, name, "packed", gpus, replicas)
    first, second = seen(kube, "four"), seen(kube, "more")
    assert first != second
    assert seen(kube, "two") == first
    assert seen(kube, "ones") == [*first, *first]
    assert seen(kube, "last") == second
    serve(kube, "whole", "packed", 8)
    assert {*seen(kube, "whole")}.isdisjoint({*first, *second, None})


def test_a_node_counts_by_the_gpus_taken_and_not_by_its_pods(kube: Kube) -> None:
    """Sixteen GPUs of two nodes, in an order in which the fuller node by pods is the wrong one for the third of 2."""
    nodes(kube, "counted", 2)
    sizes = (2, 4, 1, 2, 2, 2, 1, 2)
    for index, gpus in enumerate(sizes):
        serve(kube, f"counted-{index}", "counted", gpus)
    taken: Counter[str | None] = Counter()
    for index, gpus in enumerate(sizes):
        (node,) = seen(kube, f"counted-{index}")
        taken[node] += gpus
    assert taken == {"counted-0": GPUS, "counted-1": GPUS}


def test_replicas_of_one_service_share_a_node_although_kubernetes_would_spread_them_in10(kube: Kube) -> None:
    nodes(kube, "shared", 2)
    serve(kube, "small", "shared", 4, 2)
    serve(kube, "large", "shared", 8)
    (small,) = {*seen(kube, "small")}
    (large,) = seen(kube, "large")
    assert {small, large} == {"shared-0", "shared-1"}


def test_replicas_that_spread_have_a_node_each_and_a_larger_one_waits(kube: Kube) -> None:
    nodes(kube, "spread", 2)
    serve(kube, "apart", "spread", 4, 2, spread=True)
    assert sorted(filter(None, seen(kube, "apart"))) == ["spread-0", "spread-1"]
    serve(kube, "waiting", "spread", 8)
    assert seen(kube, "waiting") == [None]
