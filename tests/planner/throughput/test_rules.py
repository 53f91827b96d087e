"""What a stack says of its runs' throughput, time and network (NC20, HW22, HW26, PF10)."""

from typing import Any

import pytest

from planner.metal_types import MetalPlan
from planner.types import AwsPlan
from planner.workload_types import RunPlan
from tests.planner.stacks import NAMELESS, about, planned, planned_metal

RUN = "training.runs.0"
MEGATRON = {
    f"{RUN}.model": "llama-3-70b",
    f"{RUN}.sharding": "zero1",
    f"{RUN}.parallelism": {"tensor": 8},
    f"{RUN}.sequenceLength": 4096,
    f"{RUN}.accumulation": 16,
    f"{RUN}.recompute": "none",
    f"{RUN}.checkpoint": None,
}
P5 = "p5.48xlarge"


def run(plan: AwsPlan | MetalPlan) -> RunPlan:
    """The only run of a plan."""
    (only,) = plan.runs.values()
    return only


@pytest.mark.parametrize("plan", [planned, planned_metal])
def test_claim_that_no_gpu_can_meet(plan: Any) -> None:
    """NC20, C10: 380,000 tokens/s at 52 % on 64 H100 is refused with 254 % and with what 52 % would be, anywhere."""
    changes = {**MEGATRON, f"{RUN}.expected": {"tokensPerSecond": 380_000, "mfu": 0.52}}
    made = plan(changes=changes) if plan is planned_metal else plan("prod", changes)
    (finding,) = about("run-claim", made)
    assert finding in made.errors
    assert finding.path == "gpucluster:training.runs[0].expected.tokensPerSecond"
    assert finding.sentence.startswith("380,000 tokens/s of llama-3-70b are 254% (with attention 273%) of what 64 H100")
    assert finding.sentence.endswith("not 52%")
    assert finding.remedy.startswith("set it to 77700, if the MFU is 52%; the planner's estimate is ")


@pytest.mark.parametrize(
    ("expected", "refused"),
    [
        ({"tokensPerSecond": 60_000, "mfu": 0.4}, False),
        ({"tokensPerSecond": 60_000}, False),
        ({"mfu": 0.9}, False),
        ({"tokensPerSecond": 200_000}, True),
        ({"tokensPerSecond": 60_000, "mfu": 0.5}, True),
    ],
)
def test_claims(expected: dict[str, float], refused: bool) -> None:
    """NC20: a throughput alone is held to the peak, a pair to each other, and a utilisation alone to nothing."""
    found = about("run-claim", planned_metal({**MEGATRON, f"{RUN}.expected": expected}))
    assert bool(found) is refused


def test_claim_in_fp8() -> None:
    """HW07: 200,000 tokens/s are 134 % of the bf16 rate and 67 % of twice that."""
    expected = {f"{RUN}.expected": {"tokensPerSecond": 200_000}}
    assert not about("run-claim", planned_metal({**MEGATRON, **expected, f"{RUN}.precision": "fp8"}))


def test_forecast_of_a_run_over_rails() -> None:
    """A17, P14: the estimate stands in the plan: 35 to 50 %, five phases, no waiting for storage."""
    forecast = run(planned_metal(MEGATRON)).forecast
    assert forecast is not None
    assert forecast.step is not None
    assert 0.35 < forecast.step.mfu < 0.5
    assert len(forecast.step.phases) == 5
    assert forecast.tokens_per_s == forecast.step.tokens_per_s
    assert forecast.days is forecast.restarts is forecast.usd is None


def test_run_without_a_model_has_no_forecast() -> None:
    """A17: nothing is said of a run that names no model."""
    assert run(planned_metal({RUN: NAMELESS})).forecast is None


def test_layout_that_does_not_fit_has_no_step() -> None:
    """A17: the layout's own rule speaks; what remains is a typical utilisation, 64 x 989 x 0.4 over 6 P + attention."""
    forecast = run(planned_metal({**MEGATRON, f"{RUN}.parallelism": {"tensor": 8, "data": 3}})).forecast
    assert forecast is not None
    assert forecast.step is None
    operations = 6 * 70_553_706_496 + 12 * 80 * 8192 * 4096
    assert forecast.tokens_per_s == pytest.approx(64 * 989e12 * 0.4 / operations, abs=1)


def test_run_that_takes_years() -> None:
    """HW22, C11: 15 trillion tokens through 70 billion parameters on 64 H100; 1.4 trillion take most of a year."""
    (finding,) = about("run-takes-years", planned_metal({**MEGATRON, f"{RUN}.tokensBillion": 15_000}))
    forecast = run(planned_metal({**MEGATRON, f"{RUN}.tokensBillion": 15_000})).forecast
    assert forecast is not None
    assert forecast.days == pytest.approx(15e12 / forecast.tokens_per_s / 86_400)
    assert f"{forecast.days:,.0f} days" in finding.sentence
    assert "take 64 H100" in finding.sentence
    assert not about("run-takes-years", planned_metal({**MEGATRON, f"{RUN}.tokensBillion": 1400}))


def test_price_of_a_run_on_aws() -> None:
    """HW22: eight p5.48xlarge at their price per hour for as long as the tokens take, with what failures cost."""
    saving = {f"{RUN}.checkpoint": {"everyMinutes": 60, "withinSeconds": 60}}
    plan = planned("prod", {**MEGATRON, **saving, f"{RUN}.tokensBillion": 100, "training.failuresPer1000NodeDays": 6.5})
    forecast, price = run(plan).forecast, plan.pools["training"].instance.on_demand
    assert forecast is not None
    assert price is not None
    assert forecast.effective_part is not None
    assert forecast.days is not None
    assert forecast.effective_part == pytest.approx(1 - 60 / 3660 - (600 + 1800) / (24_000 / 52 * 3600))
    assert forecast.days == pytest.approx(100e9 / forecast.tokens_per_s / forecast.effective_part / 86_400)
    assert forecast.usd == pytest.approx(8 * price.usd_per_hour * 24 * forecast.days)


def test_run_that_waits_for_its_network() -> None:
    """HW26, NC19, NC22: FSDP over nodes with one slow card waits most of the time; over eight cards it does not."""
    fsdp = {f"{RUN}.model": "llama-3-70b", f"{RUN}.recompute": "full", f"{RUN}.sequenceLength": 4096}
    assert not about("network-bound", planned_metal(fsdp))
    sites = {
        "catalogue.servers": [
            {
                "name": "DGX H100",
                "like": "DGX H100",
                "nics": [{"nic": "ConnectX-7 HDR", "count": 1, "role": "compute"}],
            }
        ]
    }
    slow = planned_metal({**fsdp, **sites})
    (finding,) = about("network-bound", slow)
    step = run(slow).forecast
    assert step is not None
    assert step.step is not None
    assert step.step.communication_share > 0.6
    assert f"({step.step.communication_share:.0%}) pass waiting" in finding.sentence


def test_gang_over_tcp_is_told_once() -> None:
    """FB01, HW26: nodes without EFA wait for their network too, and the rule about EFA says why."""
    changes = {"pools.1.instanceType": "g6e.xlarge", f"{RUN}.model": "llama-3-8b", f"{RUN}.sharding": "fsdp"}
    plan = planned(changes=changes)
    assert about("gang-without-efa", plan)
    assert not about("network-bound", plan)
    forecast = run(plan).forecast
    assert forecast is not None
    assert forecast.step is not None
    assert forecast.step.communication_share > 0.5


def test_oversubscribed_leaves_slow_a_run_down() -> None:
    """FB03, P14: with four ports down to one up, gradients take four times as long."""
    fsdp = {f"{RUN}.model": "llama-3-70b", f"{RUN}.recompute": "full", f"{RUN}.sequenceLength": 4096}
    even = run(planned_metal(fsdp)).forecast
    four = run(planned_metal({**fsdp, "fabric.oversubscription": 4, "fabric.topology": "leaf-spine"})).forecast
    assert even is not None
    assert four is not None
    assert even.step is not None
    assert four.step is not None
    exchanges = [sum(phase.exchange_s for phase in step.phases) for step in (even.step, four.step)]
    assert exchanges[1] > 2 * exchanges[0]


@pytest.mark.parametrize(("billion", "ends"), [(10, False), (100, True)])
def test_block_that_ends_before_its_run(billion: float, ends: bool) -> None:
    """PF10: a block of a week has 6.97 days until the last checkpoint; 100 billion tokens take about 20 days."""
    block = {"id": "cr-0123456789abcdef0", "zone": "use2-az1", "start": "2026-11-20", "end": "2026-11-27"}
    changes = {
        **MEGATRON,
        f"{RUN}.tokensBillion": billion,
        f"{RUN}.checkpoint": {"everyMinutes": 60, "withinSeconds": 60},
        "pools.1.capacity": "capacity-block",
        "pools.1.reservation": block,
    }
    found = about("block-ends-before-run", planned("prod", changes))
    assert bool(found) is ends
    if found:
        assert "has 7.0 until its last checkpoint is due" in found[0].sentence
    without = about("block-ends-before-run", planned("prod", {**changes, f"{RUN}.tokensBillion": None}))
    assert without == []


def test_measurement_replaces_the_forecast() -> None:
    """A17, item 2: days follow what the site measured, the estimate stands beside it; an MFU does as well."""
    estimated = run(planned_metal({**MEGATRON, f"{RUN}.tokensBillion": 100})).forecast
    assert estimated is not None
    assert estimated.step is not None
    told = 1.05 * estimated.step.tokens_per_s
    measured = {**MEGATRON, f"{RUN}.tokensBillion": 100, f"{RUN}.expected": {"tokensPerSecond": told}}
    plan = planned_metal(measured)
    forecast = run(plan).forecast
    assert forecast is not None
    assert (forecast.measured, forecast.tokens_per_s, forecast.step) == (True, told, estimated.step)
    assert forecast.days == pytest.approx((estimated.days or 0) / 1.05)
    assert not about("run-unlike-forecast", plan)
    by_mfu = run(planned_metal({**measured, f"{RUN}.expected": {"mfu": 0.4}})).forecast
    assert by_mfu is not None
    operations = 6 * 70_553_706_496 + 12 * 80 * 8192 * 4096
    assert by_mfu.tokens_per_s == pytest.approx(64 * 989e12 * 0.4 / operations)
    adapters = run(planned_metal({**measured, f"{RUN}.expected": {"mfu": 0.4}, f"{RUN}.method": "lora"})).forecast
    assert adapters is not None
    assert adapters.tokens_per_s == pytest.approx(1.5 * by_mfu.tokens_per_s), "no gradients of weights"


@pytest.mark.parametrize(("factor", "speaks"), [(0.5, True), (0.95, False), (1.05, False), (1.6, True)])
def test_measurement_unlike_every_published_run_is_mentioned(factor: float, speaks: bool) -> None:
    """A17, C10: half of what is forecast, and 1.6 times it, lie outside of the range."""
    estimated = run(planned_metal(MEGATRON)).forecast
    assert estimated is not None
    assert estimated.step is not None
    told = {f"{RUN}.expected": {"tokensPerSecond": factor * estimated.step.tokens_per_s}}
    found = about("run-unlike-forecast", planned_metal({**MEGATRON, **told}))
    assert [str(each.severity) for each in found] == (["warning"] if speaks else [])
