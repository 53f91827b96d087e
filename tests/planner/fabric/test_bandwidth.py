"""What fabrics carry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.units import gbyte_per_s
from planner.fabric.design import (
    Demand,
    FabricDesign,
    Topology,
    Wiring,
    bisection_gbit_per_s,
    injection_gbit_per_s,
    oversubscription,
)
from planner.fabric.topology import design


def built(nodes: int, topology: Topology | None, ratio: float = 1, *, rails: int = 8, planes: int = 1) -> FabricDesign:
    """A fabric of switches with 64 ports."""
    made = design(Demand(nodes=nodes, rails=rails), 64, topology=topology, oversubscription=ratio, planes=planes)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("topology", "ratio", "bisection", "in_use"),
    [
        (None, 1, 64 * 400 / 2, 1),
        (Topology.RAIL_OPTIMISED, 1, 64 * 400 / 2, 8 / 32),
        (Topology.LEAF_SPINE, 1, 64 * 400 / 2, 1),
        (Topology.LEAF_SPINE, 4, 64 * 400 / (2 * 4), 4),
        (Topology.LEAF_SPINE, 2, 64 * 400 / (2 * 2), 2),
    ],
)
def test_bisection_of_eight_nodes(topology: Topology | None, ratio: float, bisection: float, in_use: float) -> None:
    """FB03, T3.1: ports x rate / (2 x ratio), in Gb/s: 12,800 with full bisection, 3,200 with 64 + 16 cables."""
    made = built(8, topology, ratio)
    assert bisection_gbit_per_s(made, 400, 400) == bisection
    assert oversubscription(made) == in_use


def test_full_bisection_of_rails_that_are_not_full() -> None:
    """8 nodes of 32 use a quarter of the wired uplinks: the cards are the limit, not 256 cables."""
    made = built(8, Topology.RAIL_OPTIMISED)
    assert made.leaf_spine_cables == 256
    assert bisection_gbit_per_s(made, 400, 400) == injection_gbit_per_s(made, 400) / 2 == 12_800


def test_three_tiers_have_full_bisection() -> None:
    """512 nodes: 4,096 x 400 / 2."""
    assert bisection_gbit_per_s(built(512, Topology.RAIL_OPTIMISED), 400, 400) == 819_200


def test_planes_add_up() -> None:
    """E13: two planes carry twice as much."""
    assert injection_gbit_per_s(built(8, None, planes=2), 400) == 2 * 64 * 400


def test_bits_and_bytes() -> None:
    """FB01, FB02, NC22: 8 x 200 Gb/s are 1.6 Tb/s, which is 200 GB/s and no 1.6 TB/s; one such card is 25 GB/s."""
    assert injection_gbit_per_s(built(8, None, rails=1), 200) == 1600
    assert gbyte_per_s(8 * 200) == 200
    assert gbyte_per_s(200) == 25


@given(
    nodes=st.integers(1, 500),
    rails=st.integers(1, 8),
    topology=st.sampled_from([None, Topology.RAIL_OPTIMISED, Topology.LEAF_SPINE]),
    ratio=st.floats(1, 8),
    wiring=st.sampled_from([None, *Wiring]),
    nic=st.sampled_from([100, 200, 400]),
)
def test_bisection_never_exceeds_injection(
    nodes: int, rails: int, topology: Topology | None, ratio: float, wiring: Wiring | None, nic: int
) -> None:
    """Half of the cards send to the other half: at most half of all; and at a ratio r at least that by r."""
    made = design(Demand(nodes=nodes, rails=rails), 64, topology=topology, oversubscription=ratio, wiring=wiring)
    if made is None:
        return
    half = injection_gbit_per_s(made, nic) / 2
    carried = bisection_gbit_per_s(made, nic, 400)
    assert carried <= half
    assert carried >= half / ratio * (1 - 1e-9)
    assert oversubscription(made) <= ratio * (1 + 1e-9)


def test_free_uplinks_of_one_leaf_help_no_other() -> None:
    """41 ports on leaves of 42 down and 22 up: the first leaf sends 22 ports' worth, the other its one."""
    made = design(
        Demand(nodes=43, rails=1),
        64,
        topology=Topology.LEAF_SPINE,
        oversubscription=2,
        wiring=Wiring.FULL,
    )
    assert made is not None
    (full, rest), (up, _) = made.leaf_loads(), made.leaf_uplinks()
    assert rest < up < full
    assert bisection_gbit_per_s(made, 400, 400) == (up + rest) * 400 / 2
