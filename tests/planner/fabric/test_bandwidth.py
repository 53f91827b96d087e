"""What fabrics carry, and what switches are told so that RoCE loses no packet."""

import csv
from dataclasses import replace
from io import StringIO

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
from planner.fabric.plan import PodPorts
from planner.fabric.topology import design
from planner.faces.lists import switches
from planner.metal_types import MetalPlan
from tests.planner.site import planned_site

from .sites import ROCE, ROCE_CARDS


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


def told(planned: MetalPlan) -> list[dict[str, str]]:
    listed = switches(planned)
    assert listed is not None
    return list(csv.DictReader(StringIO(listed)))


def roce(mtu: int | None = 9000) -> MetalPlan:
    return planned_site({**ROCE, "fabric.ecn": True, **({"fabric.mtu": mtu} if mtu else {})}, catalogue=ROCE_CARDS)


def test_every_switch_has_a_line_for_each_setting_in_three_makers_words() -> None:
    planned = roce()
    assert planned.fabric is not None
    rows = told(planned)
    design = planned.fabric.growth.day_one
    assert len({row["switch"] for row in rows}) == design.leaves + design.spines
    settings = ["frames", "trust", "class of RDMA", "PFC", "ECN", "answers to marks"]
    assert [row["setting"] for row in rows if row["switch"] == rows[0]["switch"]] == settings
    assert all(row["Cumulus Linux (NVIDIA)"] and row["EOS (Arista)"] and row["SONiC"] for row in rows)
    assert not any(row["done"] for row in rows)


def test_ranks_cards_and_switches_mean_one_class() -> None:
    planned = roce()
    assert planned.fabric is not None
    rows = {row["setting"]: row for row in told(planned)}
    assert int(planned.fabric.nccl["NCCL_IB_TC"]) >> 2 == 26
    assert rows["class of RDMA"]["value"] == "DSCP 26 is class 3"
    assert rows["PFC"]["EOS (Arista)"].endswith("priority-flow-control priority 3 no-drop")
    assert rows["ECN"]["SONiC"] == "ecnconfig -p PROFILE -gmin 150000 -gmax 1500000"


@pytest.mark.parametrize(("mtu", "words"), [(9000, "at least 9022"), (None, "the same at every port")])
def test_frames_are_longer_than_packets(mtu: int | None, words: str) -> None:
    assert told(roce(mtu))[0]["value"] == f"9216 bytes ({words})"


def test_a_fabric_of_sockets_has_frames_alone() -> None:
    planned = roce()
    assert planned.fabric is not None
    rows = told(replace(planned, fabric=replace(planned.fabric, kind="ethernet")))
    assert {row["setting"] for row in rows} == {"frames"}


def test_infiniband_is_told_by_its_subnet_manager() -> None:
    planned = planned_site()
    assert planned.fabric is not None
    functions = PodPorts(mode="sriov", per_port=2, networks=())
    rows = told(replace(planned, fabric=replace(planned.fabric, pod_ports=functions)))
    lines = {row["setting"]: row["opensm: line"] for row in rows}
    assert "mtu=5" in lines["MTU of the default partition"]
    assert lines["virtual ports"] == "virt_enabled 2"
    assert len(told(planned)) == len(rows) - 1
