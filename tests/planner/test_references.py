"""What dashboards draw of a plan: each platform's numbers, and None where nobody told them."""

from dataclasses import replace

import pytest

from planner.references import references
from planner.throughput import TYPICAL_MFU
from tests.planner.stacks import planned, planned_metal

PROD = "llama-3-70b-pretrain"


def test_pools_with_gpus_and_no_others() -> None:
    found = references(planned("prod"))
    assert (found.nodes, found.gpus, set(found.pools)) == (12, 72, {"training", "inference"})
    training = found.pools["training"]
    assert (training.gpu, training.nodes, training.gpus, training.devices) == ("H100", 8, 64, 8)
    assert (training.watts_per_gpu, training.fabric_gb_per_s) == (700, 400)
    assert training.usd_per_gpu_hour == pytest.approx(6.88)


def test_the_bus_bandwidth_is_that_of_the_whole_pool() -> None:
    """Of 8 nodes, where two reach more."""
    plan = planned("prod")
    told = {
        (gate.nodes, gate.size_gib): gate.threshold.expected
        for gate in plan.gates["training"]
        if gate.test == "all-reduce" and gate.reach == "between nodes"
    }
    assert references(plan).pools["training"].bus_gb_per_s == told[8, 16.0]
    assert told[2, 16.0] != told[8, 16.0]
    assert references(plan).pools["inference"].bus_gb_per_s is None


def test_slices_count_as_what_pods_ask_for() -> None:
    plan = planned("dev", {"pools.2.instanceType": "p5.4xlarge", "pools.2.count": 1, "pools.2.mig": "3g.40gb"})
    pool = references(plan).pools["inference"]
    assert (pool.gpus, pool.devices) == (1, 2)


def test_a_run_is_as_its_forecast() -> None:
    plan = planned("prod")
    run, forecast = references(plan).runs[PROD], plan.runs[PROD].forecast
    assert forecast is not None
    assert forecast.step is not None
    assert (run.gpus, run.tokens_per_s, run.mfu) == (64, forecast.tokens_per_s, forecast.step.mfu)
    assert run.step_s == pytest.approx(forecast.step.seconds)
    assert (run.checkpoint_every_s, run.checkpoint_pause_s) == (5400, 120)
    assert run.effective_part == forecast.effective_part


def test_a_run_whose_layout_does_not_fit_is_held_to_a_typical_utilisation() -> None:
    plan = planned("prod", {"training.runs.0.parallelism": {"tensor": 8, "pipeline": 3}})
    forecast = plan.runs[PROD].forecast
    assert forecast is not None
    assert forecast.step is None
    run = references(plan).runs[PROD]
    assert (run.tokens_per_s, run.mfu) == (forecast.tokens_per_s, TYPICAL_MFU)


def test_a_run_without_a_model_has_no_pace() -> None:
    plan = planned("prod")
    bare = replace(plan.runs[PROD], training=None, forecast=None, saving=None)
    run = references(replace(plan, runs={PROD: bare})).runs[PROD]
    assert (run.tokens_per_s, run.step_s, run.mfu, run.checkpoint_every_s, run.effective_part) == (None,) * 5


def test_services_and_storage() -> None:
    plan = planned("prod")
    service = references(plan).services["llama-3-70b"]
    assert (service.pool, service.gpus_per_replica) == ("inference", 4)
    assert (service.min_replicas, service.max_replicas, service.waiting_per_replica) == (2, 2, None)
    assert service.request_tokens_per_s == plan.services["llama-3-70b"].request_tokens_per_s
    storage = references(plan).storage
    assert storage is not None
    assert (storage.kind, storage.read_gb_per_s, storage.write_gb_per_s) == ("fsx", 18.75, 18.75)
    assert storage.usable_tb == plan.storage.usable_tb


def test_money_of_a_cloud() -> None:
    found = references(planned("prod"))
    assert (found.usd_per_hour, found.budget_usd_per_hour) == (488.26, 560)
    assert (found.facility_kw, found.pue) == (None, None)


def test_a_pool_without_a_price_has_none() -> None:
    """A sum of the others would be mistaken for the whole."""
    plan = planned("prod")
    lines = tuple(line for line in plan.prices.lines if line.pool != "training")
    found = references(replace(plan, prices=replace(plan.prices, lines=lines)))
    assert found.pools["training"].usd_per_gpu_hour is None
    assert found.pools["inference"].usd_per_gpu_hour is not None


def test_money_power_and_files_of_racks() -> None:
    plan = planned_metal()
    found, share = references(plan), plan.owned.hourly_per_gpu
    assert share is not None
    assert found.pools["training"].usd_per_gpu_hour == share.usd
    assert (found.usd_per_hour, found.budget_usd_per_hour) == (plan.owned.hourly.usd, None)
    assert found.facility_kw == plan.facility.facility_kw
    assert found.pue == pytest.approx(1.3)
    assert found.storage is not None
    assert plan.storage is not None
    assert (found.storage.kind, found.storage.read_gb_per_s) == ("lustre", plan.storage.read_gb_per_s)
    assert references(replace(plan, storage=None)).storage is None


def test_racks_may_have_a_budget_too() -> None:
    assert references(planned_metal({"budget": {"maxHourlyUsd": 150}})).budget_usd_per_hour == 150
