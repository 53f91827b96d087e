"""The dashboards of a stack, registered with its own plan's numbers."""

import json

import pulumi
import pulumi_kubernetes as k8s
import pytest

from planner.types import Plan
from stacks.dashboards import FIRST, deploy_dashboards
from tests.graph.harness import Recorded, record
from tests.planner.stacks import planned
from tests.stacks.fake_platform import fake_plan
from tests.stacks.test_services import VENDOR


def registered(plan: Plan) -> Recorded:
    def program() -> None:
        inside = pulumi.ResourceOptions(provider=k8s.Provider("kubernetes", kubeconfig="{}"))
        deploy_dashboards(plan, pulumi.Output.from_input("monitoring"), inside)

    return record(program, stack="lab")


def texts(graph: Recorded) -> dict[str, str]:
    """The files by the names of their ConfigMaps."""
    return {
        each.inputs["metadata"]["name"]: each.inputs["data"][f"{each.inputs['metadata']['name']}.json"]
        for each in graph.of_type("ConfigMap")
    }


@pytest.mark.parametrize("plan", [planned("dev"), planned("prod"), fake_plan()], ids=["dev", "prod", "fake"])
def test_eight_in_the_namespace_of_grafana(plan: Plan) -> None:
    graph = registered(plan)
    assert {each.inputs["metadata"]["namespace"] for each in graph.of_type("ConfigMap")} == {"monitoring"}
    found = texts(graph)
    assert len(found) == 8
    assert FIRST in found
    assert all(json.loads(text)["uid"] == name for name, text in found.items())


def test_they_are_made_of_the_stacks_own_plan() -> None:
    """Another budget, another interval of checkpoints, other nodes: other dashboards."""
    changes = {"budget.maxHourlyUsd": 777, "training.runs.0.checkpoint.everyMinutes": 77, "pools.2.count": 2}
    one, other = texts(registered(planned("prod"))), texts(registered(planned("prod", changes)))
    for text, board in (("vector(777)", "cost"), ("vector(4620)", "run"), ("13 planned", "cluster")):
        assert text in other[f"gpucluster-{board}"]
        assert text not in one[f"gpucluster-{board}"]


def test_a_vendor_does_not_reach_another_platform() -> None:
    assert VENDOR.findall("".join(texts(registered(fake_plan())).values())) == []
