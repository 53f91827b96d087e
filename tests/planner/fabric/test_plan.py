"""The fabric of a whole stack."""

from collections.abc import Mapping

import pytest

from planner.fabric.design import Topology
from planner.fabric.plan import FabricPlan
from tests.planner.fabric.sites import ROCE, ROCE_CARDS, with_cards
from tests.planner.site import planned_site


def fabric(changes: Mapping[str, object] | None = None) -> FabricPlan:
    """The site's fabric with values replaced."""
    planned = planned_site(changes).fabric
    assert planned is not None
    return planned


def test_eight_dgx_on_rails() -> None:
    """A06, E01: 8 leaves and 4 spines wired fully; 25.6 Tb/s sent, half of it across; 8 modules of 4 in each node."""
    planned = fabric()
    day_one = planned.growth.day_one
    assert (day_one.leaves, day_one.spines, day_one.node_cables, day_one.leaf_spine_cables) == (8, 4, 64, 256)
    assert (planned.injection_gbit_per_s, planned.bisection_gbit_per_s) == (25_600, 12_800)
    assert planned.optics.node_transceivers == 8 * 4
    assert planned.optics.fibres == 320
    assert planned.rail_networks[:2] == ("10.21.0.0/28", "10.21.0.16/28")


def test_jobs_get_the_exact_devices_and_stay_on_rails() -> None:
    """NC06, NC08: what NCCL is told follows from the server and the topology."""
    on_rails, on_one_switch = fabric(), fabric({"fabric.topology": "single"})
    listed = on_rails.nccl["NCCL_IB_HCA"]
    assert listed.startswith("=mlx5_")
    assert listed.count(",") == 7
    assert on_rails.nccl["NCCL_CROSS_NIC"] == "0"
    assert "NCCL_CROSS_NIC" not in on_one_switch.nccl


def test_ufm_takes_a_place() -> None:
    """A06, E14: 31 nodes and UFM fill a unit, 32 take a second one; opensm takes no port."""
    leaves = [
        fabric({"pools.1.count": nodes, "fabric.subnetManager": manager}).growth.day_one.leaves
        for nodes, manager in ((31, "ufm"), (32, "ufm"), (32, "opensm"))
    ]
    assert leaves == [8, 16, 8]


def test_auto_takes_what_suffices() -> None:
    """A07: one switch for 8 nodes; rails from 9 on; growth counts from the first day."""
    auto = {"fabric.topology": "auto"}
    assert fabric(auto).growth.day_one.topology is Topology.SINGLE
    assert fabric({**auto, "pools.1.count": 9}).growth.day_one.topology is Topology.RAIL_OPTIMISED
    assert fabric({**auto, "pools.1.maxCount": 9}).growth.day_one.topology is Topology.RAIL_OPTIMISED


def test_ethernet_kinds() -> None:
    """E04, FB11, NC03: RoCE has a fabric of 400 Gb/s ports, without a GID index; plain Ethernet uses sockets."""
    roce = planned_site({**ROCE, "fabric.ecn": True}, catalogue=ROCE_CARDS).fabric
    plain = planned_site({**ROCE, "fabric.kind": "ethernet"}, catalogue=ROCE_CARDS).fabric
    assert roce is not None
    assert plain is not None
    assert roce.radix.ports == 128
    assert roce.nccl["NCCL_IB_TIMEOUT"] == "22"
    assert "NCCL_IB_GID_INDEX" not in roce.nccl
    assert plain.nccl["NCCL_IB_DISABLE"] == "1"


def test_unknown_devices_are_not_guessed() -> None:
    """NC08: no list is better than a prefix."""
    planned = planned_site(catalogue=with_cards("ConnectX-7 NDR")).fabric
    assert planned is not None
    assert "NCCL_IB_HCA" not in planned.nccl


@pytest.mark.parametrize(
    "changes",
    [
        {"fabric.switch": "QM97OO"},
        {"pools.1.server": "Dell PowerEdge R660"},
        {"pools.1.role": "inference", "training": {}},
    ],
)
def test_no_fabric(changes: dict[str, object]) -> None:
    """An unknown switch, or no node with compute cards that trains: there is none, and nothing breaks."""
    assert planned_site(changes).fabric is None
