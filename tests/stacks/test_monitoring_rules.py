"""The rules that a stack registers: what its plan expects stands in them, on every platform (X02, AB09)."""

from typing import Any

import pytest

from monitoring.failures import failures
from monitoring.rules import alert_groups, recording_groups
from planner.types import Plan
from stacks.monitoring_rules import limits
from tests.graph.stackfiles import run_program, stack_config
from tests.planner.stacks import planned
from tests.stacks.platforms import deployed

OBJECTS = ("gpucluster-recording", "gpucluster-alerts")


def rules(graph: Any, role: str) -> list[dict[str, Any]]:
    """The rules of an object, over all its groups."""
    return [rule for group in graph.one(f"rules-{role}").inputs["spec"]["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("stack", ["fake", "dev", "prod"])
def test_both_objects_are_there_beside_prometheus(stack: str) -> None:
    """Of the table nothing is left out, and both stand where the operator looks."""
    graph = deployed(stack).graph
    for role, name in zip(("recording", "alerts"), OBJECTS, strict=True):
        assert graph.one(f"rules-{role}").inputs["metadata"] == {"name": name, "namespace": "monitoring"}
    assert [each["alert"] for each in rules(graph, "alerts")] == [each.alert for each in failures()]


def test_a_stack_without_monitoring_has_no_rules() -> None:
    assert not [each for each in deployed("lab").graph.resources.values() if each.name.startswith("rules-")]


def test_what_the_plan_expects_is_in_the_rules_c10() -> None:
    """Each run's rate, nodes and interval, each pool's GPUs, each service's replicas, by their own names."""
    plan: Plan = planned("prod")
    stated = {
        (rule["record"].rpartition(":")[2], frozenset(rule["labels"].values())): rule["expr"]
        for rule in rules(deployed("prod").graph, "recording")
        if rule["expr"].startswith("vector(")
    }
    for pool in plan.pools.values():
        if pool.gpus_per_node:
            assert stated["expected_gpus_per_node", frozenset({pool.name})] == f"vector({pool.devices_per_node})"
    assert ("expected_gpus_per_node", frozenset({"system"})) not in stated
    for run in plan.runs.values():
        of = frozenset({run.name, run.pool})
        assert stated["expected_nodes", of] == f"vector({run.pods})"
        assert run.training
        assert stated["expected_tokens_per_second", of] == f"vector({run.training.tokens_per_s})"
        assert run.saving
        assert stated["expected_checkpoint_seconds", of] == f"vector({run.saving.every_s})"
    for service in plan.services.values():
        assert stated["replicas_most", frozenset({"inference", service.name})] == f"vector({service.max_replicas})"


def test_a_run_that_names_no_model_has_no_expectation() -> None:
    """What is not planned is not compared with."""
    found = limits(planned("dev")).runs
    assert found
    assert all((each.tokens_per_s is None) == (each.mfu is None) for each in found)


def test_thresholds_and_pages_of_the_stack_file_reach_the_rules() -> None:
    config = stack_config("dev")
    own = {"failure": "gpu-hot", "limit": "celsius", "value": 77, "source": "contract"}
    config["gpucluster:monitoring"] = {"alerts": {"runbooks": "https://wiki.example.com/pages", "thresholds": [own]}}
    hot = next(each for each in rules(run_program(config, stack="dev"), "alerts") if each["alert"] == "GpuHot")
    assert "temperature_celsius >= 77" in hot["expr"]
    assert hot["annotations"]["runbook_url"] == "https://wiki.example.com/pages/gpu-hot.md"


def test_the_objects_are_those_of_the_table() -> None:
    """What is registered is what promtool has tested, made for this plan."""
    plan, graph = planned("prod"), deployed("prod").graph
    expected = limits(plan)
    assert graph.one("rules-recording").inputs["spec"]["groups"] == recording_groups(expected)
    assert graph.one("rules-alerts").inputs["spec"]["groups"] == alert_groups(expected, "docs/runbooks")
