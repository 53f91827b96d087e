"""What measures a pool's nodes before its runs come (P16-P19, LF04)."""

from dataclasses import replace

import measure
import pytest

from catalogue.gpus import A100_40, GPUS, L40S
from components.training.gate_pods import BENCHMARK_STEPS
from planner.faces.text import plan_text
from planner.gate_types import LOAD_SECONDS, REPEATS, START_SECONDS, STEPS, _seconds
from planner.gating import nvlinks, round_robin
from tests.planner.faces.test_text import printed
from tests.planner.stacks import planned, planned_metal

ON = {"training.gates": {"minutes": 20, "storageMib": 2048}}


def test_without_the_section_nothing_is_measured() -> None:
    assert planned("prod", {"training.gates": None}).measured == {}


def test_a_gate_is_like_the_pods_of_the_pools_first_run_and_tests_what_is_planned() -> None:
    plan = planned("prod", ON)
    first = next(iter(plan.runs.values()))
    gate = plan.measured[first.pool]
    assert (gate.run, gate.image, gate.pod) == (first.name, first.image, first.pod)
    assert (gate.provider, gate.devices) == ("efa", plan.pools[first.pool].efa)
    assert (gate.links, planned("prod", {**ON, "pools.1.instanceType": "p5.4xlarge"}).measured["training"].links) == (
        18,
        0,
    )
    assert (gate.nodes, gate.seconds, gate.storage_mib) == (plan.pools[first.pool].nodes_now, 1200, 2048)
    assert set(gate.tests) < set(plan.gates[first.pool])
    assert {each.test for each in gate.tests} == {"all-reduce", "all-gather", "reduce-scatter"}
    assert {each.nodes for each in gate.tests} == {1, 2, gate.nodes}
    assert gate.write_gb_per_s == pytest.approx(plan.storage.write_gb_per_s / gate.nodes)


def test_cards_are_measured_in_as_many_rounds_as_the_gates_time_holds() -> None:
    """E16: eight nodes meet each other in seven rounds; the lines are those of the cards' rate."""
    racks = planned_metal({"training.gates": {"minutes": 30}})
    pairs = racks.measured["training"].pairs
    assert pairs
    assert (pairs.program, pairs.warn, pairs.fail, pairs.latency_us) == ("ib_write_bw", 385, 360, 4.2)
    assert (pairs.rounds, pairs.all_rounds, pairs.seconds) == (7, 7, 84)
    assert "AzNHC" in pairs.source
    copies = racks.measured["training"].copies
    assert copies is not None
    assert (copies.host, copies.peer) == (48, 335), "of H100 and H200"
    few = planned_metal({"training.gates": {"minutes": 5}}).measured["training"].pairs
    assert few
    assert (few.rounds, few.all_rounds, few.seconds) == (6, 7, 72)
    shown = " ".join(printed(plan_text("metal", racks), 120).split())
    assert "gate 4.8 minutes on 8 nodes, of 30 at most" in shown
    assert "ib_write_bw, pairs of nodes 7 rounds, each with every other, 1.4 minutes" in shown


@pytest.mark.parametrize("stack", ["metal", "prod"])
def test_a_gate_of_eight_nodes_is_planned_to_take_fifteen_minutes_at_most(stack: str) -> None:
    """With the training that may be asked for, and with files on which nobody knows a rate."""
    asked = {"training.gates": {"minutes": 30, "benchmark": True}}
    (gate,) = (planned_metal(asked) if stack == "metal" else planned(stack, asked)).measured.values()
    slow = replace(gate, write_gb_per_s=None, read_gb_per_s=None)
    assert gate.nodes == 8
    assert gate.pairs
    assert 2 * START_SECONDS + gate.pairs.seconds < gate.planned_s < slow.planned_s <= 15 * 60


def test_the_planned_time_counts_what_the_gate_does() -> None:
    assert (STEPS, LOAD_SECONDS, REPEATS) == (
        BENCHMARK_STEPS,
        measure.LOAD_SECONDS,
        1 + measure.WARM_UP + measure.TIMES,
    )
    plain, trains = (
        planned("prod", {"training.gates": {"minutes": 20, "benchmark": each}}).measured["training"]
        for each in (False, True)
    )
    assert trains.benchmark
    assert trains.benchmark.forecast
    assert trains.benchmark.forecast.step
    more = trains.planned_s - plain.planned_s
    assert more == pytest.approx(START_SECONDS + STEPS * trains.benchmark.forecast.step.seconds)
    (largest,) = [each for each in plain.tests if (each.test, each.nodes, each.size_gib) == ("all-reduce", 8, 16)]
    ranks, least = largest.gpus, largest.threshold.fail
    assert least
    fewer = replace(plain, tests=tuple(each for each in plain.tests if each is not largest))
    seconds = REPEATS * 16 * 2**30 * 2 * (ranks - 1) / ranks / (least * 1e9)
    assert plain.planned_s - fewer.planned_s == pytest.approx(seconds)


def test_over_efa_cards_are_asked_for_an_answer_as_nobody_published_a_rate() -> None:
    pairs = next(iter(planned("prod", ON).measured.values())).pairs
    assert pairs
    assert (pairs.program, pairs.warn, pairs.fail, pairs.latency_us) == ("fi_pingpong", None, None, None)


@pytest.mark.parametrize(("nodes", "rounds"), [(2, 1), (3, 3), (8, 7), (9, 9)])
def test_an_odd_number_of_nodes_needs_a_round_for_each_to_rest(nodes: int, rounds: int) -> None:
    assert round_robin(nodes) == rounds


def test_nodes_without_a_fabric_are_measured_each_alone() -> None:
    """Storage and clocks; a single GPU has nobody to copy to."""
    plan = planned("dev", {**ON, "pools.1.instanceType": "g6e.xlarge"})
    gate = plan.measured["training"]
    assert (gate.nodes, gate.provider, gate.devices, gate.pairs, gate.net_plugin) == (2, None, None, None, None)
    assert (gate.tests, gate.copies, gate.links) == ((), None, 0)
    assert gate.planned_s > START_SECONDS + LOAD_SECONDS
    shown = " ".join(printed(plan_text("dev", plan), 120).split())
    assert "on 2 nodes, of 20 at most between nodes nothing: there is no fabric" in shown


def test_one_node_is_measured_with_its_own_gpus_d04() -> None:
    """NVLink, copies and NCCL inside it; its EFA devices are nobody's: a run there needs no plugin in its image."""
    plan = planned("dev", {**ON, "pools.1.count": 1, "pools.1.instanceType": "p5.48xlarge"})
    gate = plan.measured["training"]
    assert (gate.nodes, gate.provider, gate.devices, gate.pairs) == (1, None, None, None)
    assert (gate.links, {each.nodes for each in gate.tests}, gate.copies is None) == (18, {1}, False)
    shown = " ".join(printed(plan_text("dev", plan), 120).split())
    assert "on 1 node, of 20 at most between nodes nothing: the pool has one" in shown
    many = planned("dev", {**ON, "pools.1.instanceType": "p5.48xlarge"}).measured["training"]
    assert many.pairs
    between = REPEATS * sum(_seconds(each) for each in many.tests if each.nodes > 1)
    alike = replace(gate, write_gb_per_s=many.write_gb_per_s, read_gb_per_s=many.read_gb_per_s)
    assert many.planned_s - alike.planned_s == pytest.approx(START_SECONDS + many.pairs.seconds + between)


def test_nodes_that_come_after_up_have_no_gate_and_a_warning_says_so() -> None:
    """A capacity block that begins later; without gates nobody expects one."""
    block = {"id": "cr-0123456789abcdef0", "zone": "use2-az1", "start": "2099-01-04", "end": "2099-01-12"}
    later = {"pools.1.capacity": "capacity-block", "pools.1.reservation": block}
    plan = planned("dev", {**ON, **later})
    assert plan.measured == {}
    (found,) = [each for each in plan.findings if each.rule == "pools-are-measured"]
    assert (found.severity, found.subject) == ("warning", "training")
    for other in (planned("dev", ON), planned("dev", {"training.gates": None, **later})):
        assert "pools-are-measured" not in [each.rule for each in other.findings]


@pytest.mark.parametrize(
    ("gpu", "count", "links"),
    [("H100", 8, 18), ("H100", 4, 18), ("H100", 1, 0), (A100_40.name, 8, 12), (L40S.name, 8, 0), ("H100 PCIe", 2, 0)],
)
def test_links_are_those_of_boards_that_join_all_gpus(gpu: str, count: int, links: int) -> None:
    """D01: a bridge between two cards is bought apart, or not at all."""
    pool = planned("prod").pools["training"]
    assert nvlinks(replace(pool, gpu=GPUS[gpu], gpus_per_node=count)) == links


TRAINS = {"training.gates": {"benchmark": True}}


def test_nodes_train_the_largest_model_that_one_of_them_holds_o08() -> None:
    """In the image of the pool's first run, which is something else; the forecast is a node's, not the run's."""
    gate = planned("prod", TRAINS).measured["training"]
    run = gate.benchmark
    assert run
    assert run.forecast
    assert run.launch.architecture
    assert (run.launch.architecture.name, run.pods, run.gpus, run.image) == ("llama-3-8b", 1, 8, gate.image)
    assert 0.2 < run.forecast.tokens_per_s * 6 * 8.03e9 / (8 * 989e12) < 0.6
    assert (run.saving, run.dataset, run.metrics_port, run.launch.steps) == (None, None, None, None)
    assert planned("prod", ON).measured["training"].benchmark is None


def test_small_gpus_train_a_small_model_or_none_o08() -> None:
    """24 GB hold the smaller one's optimizer only where several GPUs share it."""
    small, none = (
        planned("dev", {**TRAINS, "pools.1.instanceType": kind, "pools.1.count": 2, "budget.maxHourlyUsd": 900})
        for kind in ("g6.12xlarge", "g6.8xlarge")
    )
    run = small.measured["training"].benchmark
    assert run
    assert run.launch.architecture
    assert run.launch.architecture.name == "llama-3.2-1b"
    assert none.measured["training"].benchmark is None
    (found,) = [each for each in none.findings if each.rule == "benchmark-fits"]
    assert (found.severity, found.subject) == ("warning", "training")
    assert "benchmark-fits" not in [each.rule for each in small.findings]
