"""Arithmetic of ports, and the modules and cables in them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.network_types import Generation
from catalogue.nics import NICS
from catalogue.optics import CableKind
from catalogue.switches import SWITCHES
from planner.fabric.cabling import Optics, Span, cable_for, links, optics
from planner.fabric.design import Demand, FabricDesign, Topology, names
from planner.fabric.ports import LeafSplit, Radix, even_shares, leaf_split, radix, smallest_divisor, uplinks
from planner.fabric.room import Racking, arranged, length_m, position
from planner.fabric.topology import design


@pytest.mark.parametrize(
    ("ports", "ratio", "down", "up"),
    [
        (64, 1, 32, 32),
        (40, 1, 20, 20),
        (64, 2, 42, 22),
        (64, 3, 48, 16),
        (64, 4, 51, 13),
        (36, 1.5, 21, 15),
        (5, 1, 2, 3),
    ],
)
def test_leaves_are_divided(ports: int, ratio: float, down: int, up: int) -> None:
    """A14: most ports down within the ratio: 64 at 2:1 are 42 and 22, as 43 and 21 were more than 2."""
    assert leaf_split(ports, ratio) == LeafSplit(down=down, up=up)


@given(ports=st.integers(2, 300), ratio=st.floats(1, 16))
def test_the_ratio_is_kept_and_not_wasted(ports: int, ratio: float) -> None:
    """One port more down would break the ratio."""
    split = leaf_split(ports, ratio)
    assert split.down + split.up == ports
    assert split.down <= Fraction(ratio) * split.up
    assert split.down + 1 > Fraction(ratio) * (split.up - 1)


def test_a_ratio_below_one_is_a_slip_of_the_caller() -> None:
    """Settings do not take it."""
    with pytest.raises(ValueError, match=r"0\.5"):
        leaf_split(64, 0.5)


def test_small_things() -> None:
    """Worked out by hand."""
    assert [uplinks(32, 1), uplinks(32, 4), uplinks(33, 4), uplinks(35, 1.5)] == [32, 8, 9, 24]
    assert [
        smallest_divisor(32, Fraction(12)),
        smallest_divisor(72, Fraction(16)),
        smallest_divisor(6, Fraction(7)),
    ] == [
        16,
        18,
        None,
    ]
    assert even_shares(80, 3) == [27, 27, 26]


def test_ports_for_a_card() -> None:
    """E04: a Spectrum-4 switch has 128 ports for cards of 400 Gb/s, two in a cage; an InfiniBand switch has its own."""
    assert radix(SWITCHES["SN5600"], NICS["ConnectX-7 400GbE"]) == Radix(ports=128, gbit_per_s=400, ports_per_cage=2)
    assert radix(SWITCHES["SN5600"], NICS["ConnectX-7 200GbE"]) == Radix(ports=64, gbit_per_s=800, ports_per_cage=1)
    assert radix(SWITCHES["QM9700"], NICS["ConnectX-7 HDR"]) == Radix(ports=64, gbit_per_s=400, ports_per_cage=2)


def built(nodes: int, ports: int = 64, topology: Topology | None = None, **demand: int) -> FabricDesign:
    """A fabric of nodes with 8 ports."""
    made = design(Demand(nodes=nodes, rails=8, **demand), ports, topology=topology)
    assert made is not None
    return made


def test_a_full_switch_of_twin_ports() -> None:
    """FB16: 64 ports are 32 modules in the switch and 64 fibres; a DGX H100 brings 8 ports out in 4 cages."""
    assert optics(built(8), switch_ports_per_cage=2, node_ports_per_cage=2) == Optics(
        fibres=64, switch_transceivers=32, node_transceivers=8 * 4, other_transceivers=0
    )
    assert optics(built(8), switch_ports_per_cage=2).node_transceivers == 64


def test_a_full_unit() -> None:
    """FB16: 32 nodes: 8 leaves and 4 spines with all 64 ports in use are 12 x 32 modules; 256 + 256 fibres."""
    assert optics(built(32), switch_ports_per_cage=2, node_ports_per_cage=2) == Optics(
        fibres=512, switch_transceivers=384, node_transceivers=128, other_transceivers=0
    )


def test_half_used_cages_are_bought_whole() -> None:
    """5 nodes and one storage port: 41 ports of a switch are 21 cages."""
    counted = optics(built(5, storage_ports=1), switch_ports_per_cage=2)
    assert counted == Optics(fibres=41, switch_transceivers=21, node_transceivers=40, other_transceivers=1)


def test_planes_are_counted_both() -> None:
    """E13: two planes are two switches full of modules."""
    made = design(Demand(nodes=8, rails=8), 64, planes=2)
    assert made is not None
    assert optics(made, switch_ports_per_cage=2).switch_transceivers == 64
    assert optics(made, switch_ports_per_cage=2).fibres == 128


@given(
    nodes=st.integers(1, 80),
    ports=st.sampled_from([12, 16, 40, 64]),
    topology=st.sampled_from([None, Topology.RAIL_OPTIMISED, Topology.LEAF_SPINE]),
    storage=st.integers(0, 9),
    per_cage=st.sampled_from([1, 2]),
)
def test_modules_are_the_plan_s_ends(
    nodes: int, ports: int, topology: Topology | None, storage: int, per_cage: int
) -> None:
    """Counted from the design they are what the cable plan has: an end for each port, a module for each cage."""
    made = design(Demand(nodes=nodes, rails=3, storage_ports=storage), ports, topology=topology)
    if made is None:
        return
    counted = optics(made, switch_ports_per_cage=per_cage)
    plan = list(links(made, names(made)))
    switch_ends = {(link.high, link.high_port // per_cage) for link in plan}
    switch_ends |= {(link.low, link.low_port // per_cage) for link in plan if link.span is not Span.NODE_LEAF}
    assert counted.switch_transceivers == len(switch_ends)
    assert counted.fibres == len(plan)
    if per_cage == 1:
        ends = counted.switch_transceivers + counted.node_transceivers + counted.other_transceivers
        assert ends == 2 * len(plan)


@pytest.mark.parametrize(
    ("span", "generation", "length", "kind"),
    [
        (Span.NODE_LEAF, Generation.NDR, 3, CableKind.DAC),
        (Span.LEAF_SPINE, Generation.NDR, 2.5, CableKind.ACC),
        (Span.NODE_LEAF, Generation.NDR, 4, CableKind.MULTIMODE),
        (Span.NODE_LEAF, Generation.NDR, 50.1, CableKind.SINGLE_MODE),
        (Span.NODE_LEAF, Generation.NDR, 101, None),
        (Span.LEAF_SPINE, Generation.NDR, 101, CableKind.SINGLE_MODE),
        (Span.NODE_LEAF, Generation.HDR, 30, CableKind.AOC),
        (Span.NODE_LEAF, Generation.HDR, 101, None),
        (Span.NODE_LEAF, Generation.XDR, 1, CableKind.SINGLE_MODE),
        (Span.NODE_LEAF, Generation.ETHERNET_1G, 40, CableKind.TWISTED_PAIR),
    ],
)
def test_kind_of_cable(span: Span, generation: Generation, length: float, kind: CableKind | None) -> None:
    """E20, E09: the plainest that is long enough; an HDR AOC ends at 100 m."""
    found = cable_for(span, generation, length)
    assert (found.kind if found else None) == kind


def test_lengths() -> None:
    """Worked out by hand: in a rack 10 units are 0.44 m, and 1 m of slack; two racks on, up, along, down."""
    low, high, behind = position(0, 1), position(0, 11), position(17, 1)
    assert length_m(low, high) == pytest.approx(0.4445 + 1)
    assert length_m(low, position(2, 1)) == pytest.approx(2 * (2.4 - 0.04445) + 1.2 + 1)
    assert length_m(low, behind) == pytest.approx(2 * (2.4 - 0.04445) + 0.6 + 2.7 + 1)
    assert length_m(low, behind) == length_m(behind, low)


@pytest.mark.parametrize("made", [built(8), built(40, manager_ports=4), built(70, topology=Topology.LEAF_SPINE)])
def test_everything_has_a_place_of_its_own(made: FabricDesign) -> None:
    """E20: no two devices stand in one place, and leaves stand near their nodes."""
    named = names(made)
    places = arranged(made, named, Racking(nodes=4, node_units=8))
    assert set(places) == set(named)
    assert len({(place.rack, place.up_m) for place in places.values()}) == len(places)
    plan = list(links(made, named, places))
    assert all(link.length_m is not None and 0 < link.length_m < 30 for link in plan)
    assert len(plan) == made.cables
