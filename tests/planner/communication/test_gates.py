"""The tests that a pool's nodes must pass, from the formulas to every face (P19, NC13-NC15, T3.4)."""

from dataclasses import replace

import pytest

from catalogue.gpus import A100_80, L40S
from planner.communication.group import Cluster, Collective, Network
from planner.communication.thresholds import GIB, Origin, ring_threshold
from planner.faces.page.whole import page
from planner.faces.text import plan_text
from planner.interconnect import SIZES_GIB, Gate, Reach, gates_of
from tests.planner.communication.groups import CLUSTER, P5, SHARP, nodes
from tests.planner.faces.page.reading import read
from tests.planner.faces.test_text import printed
from tests.planner.site import planned_site
from tests.planner.stacks import planned, planned_metal

FOUR_HDR = Network(nics=4, gbit_per_s=200)


def judged(gates: tuple[Gate, ...]) -> list[tuple[str, str, int, float | None, float | None]]:
    return [
        (gate.test, gate.reach, gate.gpus, gate.threshold.warn, gate.threshold.fail)
        for gate in gates
        if gate.threshold.fail is not None and gate.size_gib in (None, SIZES_GIB[-1])
    ]


def test_tests_of_nodes_that_no_reference_has() -> None:
    """P19: three nodes of eight A100 with 4 x 200 Gb/s are held to 35/36 and 5/6 of 90 GB/s, two of them and all."""
    lines = judged(gates_of(Cluster(gpu=A100_80, domain_gpus=8, network=FOUR_HDR), 3))
    rings = [
        (test, "between nodes", gpus, pytest.approx(87.5), pytest.approx(75))
        for gpus in (16, 24)
        for test in ("all-reduce", "all-gather", "reduce-scatter")
    ]
    assert lines == [
        ("all-reduce", "inside a node", 8, 228, 200),
        *rings,
        ("ib_write_bw", "between two cards", 2, 190, 180),
        ("copy with a host", "inside a node", 1, 21, 21),
        ("copy with a peer", "inside a node", 2, 238, 238),
    ]


def test_small_messages_are_recorded() -> None:
    """P13: a GiB shows latency; 8 and 16 GiB show the rate, and the largest is the last of each test."""
    between = [gate for gate in gates_of(CLUSTER, 5) if gate.reach is Reach.FABRIC and gate.test == "all-reduce"]
    assert [(gate.nodes, gate.size_gib) for gate in between] == [(span, size) for span in (2, 5) for size in SIZES_GIB]
    quick, *large = between[:3]
    assert quick.threshold.origin is Origin.RECORD
    assert quick.threshold.fail is None
    assert all((gate.threshold.fail or 0) > 299 for gate in large)


def test_nodes_without_a_fabric_are_tested_alone() -> None:
    """P19: L40S over PCIe, of which nobody published a figure, and one GPU that has nobody to talk to."""
    alone = gates_of(Cluster(gpu=L40S, domain_gpus=4), 6)
    assert {(gate.reach, gate.threshold.origin) for gate in alone} == {(Reach.NODE, Origin.RECORD)}
    assert gates_of(Cluster(gpu=L40S, domain_gpus=1), 6) == ()


def test_experts_and_stages_exchange_by_operations_of_their_own() -> None:
    """P24: measured and recorded where runs of the pool exchange by them, and nowhere else."""
    plain = {"all-reduce", "all-gather", "reduce-scatter", "ib_write_bw", "copy with a host", "copy with a peer"}

    def tests(**parallelism: int) -> list[Gate]:
        changes = {f"training.runs.0.parallelism.{name}": degree for name, degree in parallelism.items()}
        plan = planned_metal(changes)
        return [each for each in plan.gates["training"] if each.test not in plain]

    assert tests(expert=1, pipeline=1) == []
    found = tests(expert=2, pipeline=2)
    assert {(each.test, each.reach, each.threshold.origin) for each in found} == {
        ("all-to-all", Reach.FABRIC, Origin.RECORD),
        ("send-receive", Reach.FABRIC, Origin.RECORD),
    }
    assert {each.test for each in tests(expert=2, pipeline=1)} == {"all-to-all"}
    # 15/16 of what two nodes exchange is bus bandwidth, and half of it passes the cards at 0.9 of their rate.
    two = next(each.threshold.expected for each in found if each.test == "all-to-all" and each.nodes == 2)
    assert two == pytest.approx(2 * 15 / 16 * 0.9 * 50, rel=0.1)


def test_rings_do_not_count_sums_in_switches() -> None:
    """NC14: all-gather adds nothing up, so that SHARP changes nothing about it; over EFA nobody published one."""
    plain, sharp = (ring_threshold(Collective.ALL_GATHER, group, 16 * GIB) for group in (nodes(4), nodes(4, SHARP)))
    assert (plain.warn, plain.fail) == pytest.approx((350, 300))
    assert (sharp.warn, sharp.fail) == (plain.warn, plain.fail)
    assert ring_threshold(Collective.ALL_GATHER, nodes(4, P5), 16 * GIB, efa=True).origin is Origin.RECORD


def test_pools_of_a_stack() -> None:
    """P19: EFA has no ib_write_bw, TCP no lines at all, slices of GPUs no operations, system nodes no GPUs."""
    cloud, racks = planned("prod", {"pools.2.count": 2}).gates, planned_metal().gates
    assert set(cloud) == {"training", "inference"}
    assert {gate.reach for gate in cloud["training"]} == {Reach.NODE, Reach.FABRIC}
    assert {gate.reach for gate in cloud["inference"]} == {Reach.NODE}
    assert {gate.reach for gate in racks["training"]} == set(Reach)
    assert "inference" not in planned("prod", {"pools.2.instanceType": "p5.48xlarge", "pools.2.mig": "1g.10gb"}).gates


def test_leaves_with_fewer_ports_up_are_held_to_less() -> None:
    """FB03: three ports down to one up leave a third of 360 GB/s, and 5/6 of that is the line."""
    gates = planned_site({"fabric.oversubscription": 3, "fabric.topology": "leaf-spine"}).gates["training"]
    assert judged(gates)[1][4] == pytest.approx(100, rel=0.05)


def test_every_face_shows_the_same_lines() -> None:
    """P19: text has the strictest tests, the page all of them with their source."""
    planned_ = planned_metal()
    shown = " ".join(printed(plan_text("metal", planned_), 120).split())
    assert "all-reduce, 64 GPUs pass from 350 GB/s, fail below 300, between nodes" in shown
    assert "copy with a peer, 2 GPUs at least 335 GB/s, inside a node" in shown
    assert "ib_write_bw, 2 GPUs pass from 385 Gb/s, fail below 360, between two cards" in shown
    cloud = " ".join(printed(plan_text("prod", planned("prod")), 120).split())
    assert "validation of pool inference 3 tests, whose results are recorded only" in cloud
    (section,) = read(page("metal", planned_)).all("section", id="gates")
    rows = [[cell.words() for cell in row.all("td")] for row in section.all("tr") if row.all("td")]
    gates = planned_.gates["training"]
    ordered = sorted(gates, key=lambda gate: gate.threshold.fail is None)
    assert [row[-1] for row in rows] == [gate.threshold.source for gate in ordered]
    assert rows[3][:7] == ["all-reduce between nodes", "16", "16 GiB", "350", "300", "360", "GB/s"]
    assert rows[-1][0] in section.all("details")[0].words()
    assert not read(page("metal", replace(planned_, gates={}))).all("section", id="gates")
