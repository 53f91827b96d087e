"""What joins a pool's GPUs, and what a run comes to (A17, HW22, KJ08)."""

import pytest

from planner.communication.group import Network
from planner.forecast import Saving, forecast
from planner.interconnect import Switching, cluster_of
from tests.planner.stacks import planned, planned_metal


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


def test_processors_of_a_server() -> None:
    """T3.4: EPYC processors post more slowly to the network than Xeons."""
    xeon = cluster_of(planned_metal().pools["training"])
    epyc = cluster_of(planned_metal({"pools.1.server": "Supermicro AS-8125GS-TNHR"}).pools["training"])
    assert xeon is not None
    assert epyc is not None
    assert (xeon.processor, epyc.processor) == ("intel", "amd")


def test_pool_without_gpus_is_no_cluster() -> None:
    """A system pool joins nothing."""
    assert cluster_of(planned().pools["system"]) is None


def test_days_with_failures() -> None:
    """HW22, KJ08: 8.64e10 tokens at a million/s are a day; 60 s each hour, and 600 s and half an hour every 10 h, leave
    0.917 of the time: 1.09 days, 2.6 failures, 6 restarts for 95 of 100 runs."""
    found = forecast(None, 1e6, 10, tokens=8.64e10, saving=Saving(pause_s=60, every_s=3600), usd_per_hour=100)
    part = 1 - 60 / 3660 - (600 + 1800) / 36_000
    assert found.effective_part == pytest.approx(part)
    assert found.days == pytest.approx(1 / part)
    assert found.failures == pytest.approx(2.4 / part)
    assert found.restarts == 6
    assert found.usd == pytest.approx(2400 / part)


def test_what_is_not_told_is_not_guessed() -> None:
    """A17: no tokens, no days; no checkpoints, nothing about failures' cost; a run that never gets on has no end."""
    assert forecast(None, 1e6, 10).days is None
    undisturbed = forecast(None, 1e6, 10, tokens=8.64e10)
    assert undisturbed.effective_part is None
    assert undisturbed.days == pytest.approx(1)
    assert undisturbed.usd is None
    stuck = forecast(None, 1e6, 0.01, tokens=8.64e10, saving=Saving(pause_s=60, every_s=3600))
    assert (stuck.effective_part, stuck.days) == (0, None)


def test_run_that_fails_all_the_time_has_no_number_of_restarts() -> None:
    """KJ08: a million years of failures every hour are no case for a restart policy."""
    assert forecast(None, 1.0, 1, tokens=1e15).restarts is None
