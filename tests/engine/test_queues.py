"""How the real Volcano shares 256 nodes as the program configures it, by gangs and priorities (M02, A08).

Nodes are objects without a kubelet: what is looked at is which pods get one, and which lose theirs.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from components.platform.priorities import PRIORITIES
from components.training.pod import RUN_KEY
from rehearsal.kube.client import Kube

from .rehearsed import until
from .test_near import node, places, pod, refused, scheduled

pytestmark = pytest.mark.engine

NODES = 256
QUEUES = {"training": 3, "experiments": 1}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kube]:
    """All nodes, the program's priorities, and two queues."""
    classes = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, (value, _) in PRIORITIES.items()
    ]
    machines = [node(f"n-{index:03d}", "leaf") for index in range(NODES)]
    with scheduled(tmp_path_factory.mktemp("queues"), [*machines, *classes]) as kube:
        for name, weight in QUEUES.items():
            meta = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
            kube.create({**meta, "spec": {"weight": weight, "reclaimable": True}})
            # Volcano's controllers, which are not here, open it.
            kube.patch("scheduling.volcano.sh/v1beta1", "Queue", name, None, {"status": {"state": "Open"}}, "status")
        yield kube


@pytest.fixture
def kube(full: Kube) -> Iterator[Kube]:
    """The same, empty before and after."""
    yield full
    for kind, api in (("PodGroup", "scheduling.volcano.sh/v1beta1"), ("Pod", "v1")):
        for each in full.list(api, kind, "default"):
            full.delete(each)
    until(lambda: not full.list("v1", "Pod", "default"), "the pods to be gone")


def gang(kube: Kube, run: str, pods: int, queue: str = "training", priority: str = "training") -> None:
    """A PodGroup as the training operator writes it, and its pods."""
    spec = {"minMember": pods, "queue": queue, "priorityClassName": priority}
    kube.create(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": run, "namespace": "default"},
            "spec": {**spec, "minResources": {"nvidia.com/gpu": str(8 * pods)}},
        }
    )
    for number in range(pods):
        kube.create(pod(f"{run}-{number}", run, priorityClassName=priority))


def busy(kube: Kube, count: int, first: int = 0, priority: str = "inference") -> None:
    """Pods of a service on so many nodes, which Volcano did not place."""
    for index in range(first, first + count):
        name = f"served-{index}"
        spec: dict[str, Any] = {"schedulerName": "default-scheduler", "nodeName": f"n-{index:03d}"}
        made = pod(name, "served", priorityClassName=priority, **spec)
        del made["metadata"]["annotations"]
        kube.create(made)


def test_a_gang_of_32_starts_whole_or_not_at_all_m02(kube: Kube) -> None:
    busy(kube, NODES - 31)
    gang(kube, "whole", 32)
    until(lambda: refused(kube, "whole"), "Volcano to find 31 nodes for 32 pods")
    assert places(kube, "whole") == []
    (gone, *_) = kube.list("v1", "Pod", "default", label_selector=f"{RUN_KEY}=served")
    kube.delete(gone)
    until(lambda: len(set(places(kube, "whole"))) == 32, "all 32 to have nodes")


def test_what_serves_people_is_not_preempted_by_training_a08(kube: Kube) -> None:
    """Volcano takes nodes of experiments, never of a service: the gang waits, and every replica stays."""
    busy(kube, NODES - 4)
    gang(kube, "low", 4, "experiments", "experiments")
    until(lambda: len(places(kube, "low")) == 4, "the experiment to have nodes")
    gang(kube, "high", 5)
    until(lambda: refused(kube, "high"), "Volcano to find four nodes for five pods")
    assert len(places(kube, "served")) == NODES - 4
    assert places(kube, "high") == []


def test_a_gang_of_256_has_every_node(kube: Kube) -> None:
    gang(kube, "all", NODES)
    until(lambda: len(set(places(kube, "all"))) == NODES, "all pods to have nodes", 300)
