"""What is said of a gang whose scheduler says nothing: which resource there is too little of."""

from typing import Any

from rehearsal.engine.scarcity import scarce

GPU = "nvidia.com/gpu"


def pod(gpus: int, node: str | None = None, phase: str = "Pending") -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": "2", GPU: str(gpus)}}}
    return {"spec": {"containers": [container], "nodeName": node}, "status": {"phase": phase}}


def node(**allocatable: str) -> dict[str, Any]:
    return {"status": {"allocatable": {"cpu": "8", **allocatable}}}


def test_a_resource_that_no_node_has() -> None:
    assert scarce([pod(1), pod(1)], [], [node()]) == [f"2 {GPU} asked for, nodes have 0 and 0 of it taken"]


def test_a_resource_that_others_have_taken() -> None:
    others = [pod(1, "a", "Running"), pod(1, "a", "Succeeded")]
    assert scarce([pod(2)], others, [node(**{GPU: "2"})]) == [f"2 {GPU} asked for, nodes have 2 and 1 of it taken"]


def test_nothing_is_said_where_there_is_enough_or_the_pod_has_its_node() -> None:
    assert scarce([pod(1), pod(4, "a")], [], [node(**{GPU: "1"})]) == []
    assert scarce([{"spec": {"containers": [{"name": "c"}]}}], [], []) == []
