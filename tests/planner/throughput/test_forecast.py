"""What joins a pool's GPUs, and what a run comes to (A17, HW22, KJ08)."""

from dataclasses import replace

import pytest

from planner.communication.group import Network
from planner.cost.amounts import NOTHING
from planner.faces.forecast import duration, forecast_facts
from planner.faces.outputs import numbers
from planner.forecast import Aim, GpuHour, forecast
from planner.interconnect import Switching, cluster_of
from planner.metal import gpu_hour
from planner.wording import about
from tests.planner.stacks import planned, planned_metal, saving


def network(stack: str, changes: dict[str, object] | None = None) -> Network | None:
    """The network of a stack's training pool."""
    pools = planned_metal(changes).pools if stack == "metal" else planned(stack, changes).pools
    cluster = cluster_of(pools["training"])
    assert cluster is not None
    return cluster.network


def test_cards_of_a_server() -> None:
    """NC14, FB02: of a DGX H100 the eight compute ports, not the storage ones, at 360 of 400 GB/s."""
    found = network("metal")
    assert found == Network(nics=8, gbit_per_s=400)
    assert found.gb_per_s == pytest.approx(360)


def test_interfaces_of_a_p5() -> None:
    """T3.4: 32 EFA interfaces share 3200 Gb/s, and each step over them takes 75 us more."""
    found = network("prod")
    assert found == Network(nics=32, gbit_per_s=100, latency_us=75)


def test_type_without_efa_has_its_one_interface() -> None:
    """FB01: 20 Gb/s of a g6e.xlarge at most are 2.25 GB/s."""
    found = network("dev", {"pools.1.instanceType": "g6e.xlarge"})
    assert found is not None
    assert found.nics == 1
    assert found.latency_us == 0
    assert found.gb_per_s == pytest.approx(0.9 * found.gbit_per_s / 8)


def test_switches_change_what_cards_reach() -> None:
    """FB03: 4 ports down to 1 up leave a quarter of 0.9; fewer down than up give nothing more. SHARP is passed on."""
    pool = planned_metal().pools["training"]
    parts = []
    for ratio in (4.0, 0.5):
        cluster = cluster_of(pool, Switching(sharp=True, oversubscription=ratio))
        assert cluster is not None
        assert cluster.network is not None
        assert cluster.network.sharp
        parts.append(cluster.network.part)
    assert parts == pytest.approx([0.225, 0.9])


def test_pool_without_gpus_is_no_cluster() -> None:
    """A system pool joins nothing."""
    assert cluster_of(planned().pools["system"]) is None


AIM = Aim(tokens=8.64e10, tokens_per_step=4_000_000, flops_per_token=6e9)
GPU_HOUR = GpuHour(usd=2.5, basis="told")


@pytest.mark.parametrize(("days", "said"), [(0.0016, "3 min"), (0.1, "2.4 h"), (1.5, "36 h"), (2.0, "2 days")])
def test_a_short_run_takes_minutes_or_hours_and_never_zero_days(days: float, said: str) -> None:
    assert duration(days) == said


def test_days_with_failures() -> None:
    """HW22, KJ08: 8.64e10 tokens at a million/s are a day; 60 s each hour, and 600 s and half an hour every 10 h, leave
    0.917 of the time: 1.09 days, 2.6 failures, 6 restarts for 95 of 100 runs. 40 GPUs at 2.5 USD are 100 USD/h."""
    hourly = saving(every_s=3600)
    found = forecast(None, 1e6, 10, gpus=40, aim=AIM, saving=hourly, price=GPU_HOUR)
    part = 1 - 60 / 3660 - (600 + 1800) / 36_000
    assert found.effective_part == pytest.approx(part)
    assert found.days == pytest.approx(1 / part)
    assert found.failures == pytest.approx(2.4 / part)
    assert found.restarts == 6
    assert found.usd == pytest.approx(2400 / part)


def test_budget_is_that_of_training_alone() -> None:
    """C11: 21,600 steps, 5.184e20 operations, a day and 2,400 USD, whatever fails."""
    budget = forecast(None, 1e6, 10, gpus=40, aim=AIM, price=GPU_HOUR).budget
    assert budget is not None
    assert (budget.steps, budget.flops, budget.days, budget.usd) == pytest.approx((21_600, 5.184e20, 1, 2400))


def test_cost_of_a_failure_follows_the_price() -> None:
    """T11: half an hour again and ten minutes until it goes on, on 40 GPUs: 26.7 GPU hours, 66.7 USD."""
    hourly = saving(every_s=3600)
    lost = forecast(None, 1e6, 10, gpus=40, saving=hourly, price=GPU_HOUR).failure
    assert lost is not None
    assert (lost.hours, lost.gpu_hours, lost.usd) == pytest.approx((2 / 3, 80 / 3, 200 / 3))
    unpriced = forecast(None, 1e6, 10, gpus=40, saving=hourly).failure
    assert unpriced is not None
    assert (unpriced.gpu_hours, unpriced.usd) == (lost.gpu_hours, None)
    assert forecast(None, 1e6, 10, gpus=40, price=GPU_HOUR).failure is None


def test_what_is_not_told_is_not_guessed() -> None:
    """A17: no tokens, no days; no checkpoints, nothing about failures' cost; a run that never gets on has no end."""
    assert forecast(None, 1e6, 10, gpus=8).days is None
    undisturbed = forecast(None, 1e6, 10, gpus=8, aim=AIM)
    assert undisturbed.effective_part is None
    assert undisturbed.days == pytest.approx(1)
    assert undisturbed.usd is None
    stuck = forecast(None, 1e6, 0.01, gpus=8, aim=AIM, saving=saving(every_s=3600))
    assert (stuck.effective_part, stuck.days) == (0, None)
    assert ("takes", "never ends: failures take all of the time") in [*forecast_facts(stuck)]


def test_run_that_fails_all_the_time_has_no_number_of_restarts() -> None:
    """KJ08: a million years of failures every hour are no case for a restart policy."""
    assert forecast(None, 1.0, 1, gpus=8, aim=replace(AIM, tokens=1e15)).restarts is None


TOKENS = {"training.runs.0.tokensBillion": 20}


def test_racks_of_ones_own_cost_by_the_hour_too() -> None:
    """C11, T11: the purchase over five years with power, staff and support, for each hour of each GPU of the run."""
    planned_ = planned_metal(TOKENS)
    found = planned_.runs["llama-3-70b-pretrain"].forecast
    assert found is not None
    assert found.price is not None
    assert found.days is not None
    assert found.usd is not None
    owned = planned_.owned
    yearly = owned.running.power.usd + owned.running.staff.usd + owned.running.support.usd
    hourly = (owned.purchase.usd + 5 * yearly) / (5 * 8760)
    assert found.price.usd == pytest.approx(hourly / 64)
    assert found.usd == pytest.approx(found.days * 24 * hourly)
    assert found.price.basis == "purchase over 5 years, power, staff and support"
    shown = dict(forecast_facts(found))
    assert shown["costs"] == f"{about(found.usd)} USD at {hourly / 64:.2f} USD a GPU hour ({found.price.basis})"
    gang = numbers(planned_)["gangs"]["llama-3-70b-pretrain"]
    assert (gang["days"], gang["usd"]) == (round(found.days, 1), round(found.usd))


def test_rented_nodes_cost_their_own_price() -> None:
    """C11: eight p5.48xlarge at 55.04 USD an hour, without what stands around them."""
    found = planned("prod", TOKENS).runs["llama-3-70b-pretrain"].forecast
    assert found is not None
    assert found.price == GpuHour(usd=55.04 / 8, basis="on-demand price of p5.48xlarge")
    assert found.days is not None
    assert found.usd == pytest.approx(found.days * 24 * 8 * 55.04)


def test_what_nobody_priced_costs_nothing_that_one_could_tell() -> None:
    """C11: a part without a price is said to be missing, and nothing but such parts is no price."""
    metal = planned_metal()
    partly = replace(metal.bom, lines=(replace(metal.bom.lines[0], each=None), *metal.bom.lines[1:]))
    price = gpu_hour(metal.owned, partly)
    assert price is not None
    assert price.basis.endswith(", without what has no price")
    assert gpu_hour(replace(metal.owned, purchase=NOTHING), partly) is None
    assert gpu_hour(replace(metal.owned, gpus=0), metal.bom) is None
