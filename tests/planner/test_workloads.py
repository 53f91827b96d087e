"""Gangs and model services."""

import pytest

from planner.metal_types import MetalPlan
from planner.step import Phase
from planner.types import AwsPlan
from tests.planner.stacks import planned, planned_metal, rules, sections


def test_gang_takes_every_gpu_and_efa_interface_of_its_nodes() -> None:
    """A08, N04: one pod per node; the PodGroup's minMember is the number of pods."""
    run = planned("prod").runs["llama-3-70b-pretrain"]
    assert (run.pods, run.gpus, run.efa) == (8, 64, 256)


def test_totals_of_the_committed_stacks() -> None:
    """A08: training and inference GPUs stand side by side, counted once."""
    dev, prod = planned("dev").totals, planned("prod").totals
    assert (dev.nodes, dev.gpus, dev.efa_interfaces) == (6, 4, 2)
    assert (prod.nodes, prod.gpus, prod.efa_interfaces) == (12, 72, 256)


def test_inference_reserve_and_gang_never_share_gpus() -> None:
    """A08, IN09: a 64-GPU gang beside an always-on service needs more than 64 GPUs: the gang's pool is its own."""
    plan = planned("prod")
    reserved = sum(service.gpus for service in plan.services.values())
    gang = sum(run.gpus for run in plan.runs.values())
    assert reserved + gang <= plan.totals.gpus
    assert rules(planned("prod", {"pools.1.count": 7})) == ["gang-fits-pool"]
    assert rules(planned("prod", {"pools.1.count": 8})) == []


def test_replicas_are_packed_onto_nodes() -> None:
    """A08, IN08, IN10: 8 GPUs on 2 nodes of 4 hold two replicas of 4, but not one of 4 and two of 3."""
    two_of_four = {"pools.2.instanceType": "g6e.12xlarge", "pools.2.count": 2, "budget.maxHourlyUsd": 600}
    assert rules(planned("prod", two_of_four)) == []
    assert rules(planned("prod", {**two_of_four, "pools.2.count": 1})) == ["replicas-fit-pool"]
    assert rules(planned("prod", {**two_of_four, "serving.services.0.maxReplicas": 3})) == [
        "chart-not-pinned",  # prometheus-adapter, which comes with a service that is to change
        "autoscaler-ceiling",
    ]


def test_replicas_that_are_to_change_need_a_metric_lf06() -> None:
    (found,) = planned("prod", {"serving.services.0.maxReplicas": 3, "monitoring": None}).errors
    assert (found.rule, found.path) == ("autoscaler-unfed", "gpucluster:serving.services[0].maxReplicas")
    assert "would say FailedGetPodsMetric and stay at 2" in found.sentence
    assert planned("prod").services["llama-3-70b"].scaling is None


def test_runs_of_one_pool_wait_in_line() -> None:
    """A08: two gangs of the whole pool are no error: the second waits, and the plan says so."""
    (run,) = sections()["training"]["runs"]
    assert rules(planned(changes={"training.runs": [run, {**run, "name": "second"}]})) == ["gangs-wait-in-line"]


@pytest.mark.parametrize("plan", [planned("prod"), planned_metal()], ids=["aws", "metal"])
def test_a_step_reads_its_text_from_the_planned_storage(plan: AwsPlan | MetalPlan) -> None:
    """A17: four bytes a token at what the file system reads, beside the computing as long as that takes longer."""
    (run,) = plan.runs.values()
    assert run.forecast is not None
    assert run.forecast.step is not None
    assert plan.storage is not None
    (load,) = (each for each in run.forecast.step.phases if each.phase is Phase.LOAD)
    assert load.exchange_s == pytest.approx(run.forecast.step.tokens * 4e-9 / plan.storage.read_gb_per_s)
    assert load.exchange_s > 0 == load.exposed_s
