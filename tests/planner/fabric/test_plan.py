"""The fabric of a whole stack, addresses on it, and NCCL's environment."""

import inspect
from collections.abc import Mapping
from ipaddress import IPv4Network
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.fabric.design import Topology
from planner.fabric.nccl import variables
from planner.fabric.plan import FabricPlan, prefix_for_rails, rail_networks
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


DGX = tuple(f"mlx5_{number}" for number in (0, 3, 4, 5, 6, 9, 10, 11))
PRESETS = {
    "infiniband": variables("infiniband", DGX, rails=True, sharp=True),
    "roce": variables("roce", DGX, rails=True, sharp=True),
    "ethernet": variables("ethernet", rails=True, sharp=True),
}


def test_infiniband_on_rails() -> None:
    """T3.11, NC06, NC08, E11, E12: the exact list, the pods' interface, and traffic that stays on its rail."""
    assert PRESETS["infiniband"] == {
        "NCCL_DEBUG": "WARN",
        "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_IB_HCA": "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11",
        "NCCL_CROSS_NIC": "0",
        "NCCL_COLLNET_ENABLE": "1",
    }


def test_nothing_is_said_without_need() -> None:
    """T3.11: off rails, without SHARP and without known devices NCCL decides."""
    assert variables("infiniband", rails=False) == {"NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": "eth0"}


def test_roce() -> None:
    """T3.11: InfiniBand's, and the longer timeout."""
    verbs = variables("infiniband", DGX, rails=True)
    marked = {"NCCL_IB_TC": "106", "NCCL_IB_SL": "3"}
    assert PRESETS["roce"] == verbs | marked | {"NCCL_IB_TIMEOUT": "22"}


def test_tcp() -> None:
    """T3.11: without RDMA NCCL looks for none."""
    assert PRESETS["ethernet"]["NCCL_IB_DISABLE"] == "1"


def test_sockets_are_those_that_pods_have() -> None:
    """NC01, NC02: eth0, one value for all; ib0 is in no pod by itself."""
    names = {preset.get("NCCL_SOCKET_IFNAME") for preset in PRESETS.values()}
    assert names == {"eth0"}
    assert not set(inspect.signature(variables).parameters) & {"socket", "interface"}


@pytest.mark.parametrize(
    ("correction", "variable"),
    [
        ("NC03", "NCCL_IB_GID_INDEX"),
        ("NC04", "NCCL_NET_GDR_LEVEL"),
        ("NC05", "NCCL_NET_GDR_READ"),
        ("NC07", "NCCL_BUFFSIZE"),
        ("NC09", "NCCL_TOPO"),
        ("NC17", "NCCL_MIN_NCHANNELS"),
        ("NC17", "NCCL_ALGO"),
        ("NC17", "NCCL_PROTO"),
        ("NC17", "RDMAV_FORK_SAFE"),
    ],
)
def test_what_no_preset_can_say(correction: str, variable: str) -> None:
    """NC03, NC04, NC05, NC07, NC09, NC17: no preset sets it, with all of its fields given; NCCL decides better."""
    assert not any(variable in preset for preset in PRESETS.values()), correction


def test_no_preset_crosses_rails() -> None:
    """NC06: 1 would lead all traffic through the spines; it cannot be said."""
    assert {preset.get("NCCL_CROSS_NIC") for preset in PRESETS.values()} == {"0", None}


def test_timeout_is_roce_s_alone() -> None:
    """NC10: 20 is NCCL's default and no tuning; only RoCE takes another."""
    assert [kind for kind, preset in PRESETS.items() if "NCCL_IB_TIMEOUT" in preset] == ["roce"]


@pytest.mark.parametrize(
    "names", [("mlx5",), ("mlx5_0", "mlx5_0"), ("mlx5_0", "mlx5"), ("mlx5_0,mlx5_1",), ("=mlx5_0",)]
)
def test_devices_are_whole_names(names: tuple[str, ...]) -> None:
    """NC08: a prefix takes storage cards along; a list in one string hides one."""
    with pytest.raises(ValueError, match="no distinct device names"):
        variables("infiniband", names, rails=True)


def test_eight_rails_of_eight_nodes() -> None:
    """F09: 8 nodes and 2 addresses that no host has are a /28, of which a /24 has 16."""
    networks = rail_networks("192.168.1.0/24", 8, 8)
    assert networks is not None
    assert [str(network) for network in networks[:2]] == ["192.168.1.0/28", "192.168.1.16/28"]
    assert len(networks) == 8


@pytest.mark.parametrize(
    ("cidr", "rails", "nodes", "fits"),
    [
        ("192.168.1.0/24", 8, 30, True),
        ("192.168.1.0/24", 8, 31, False),
        ("192.168.1.0/24", 9, 30, False),
        ("10.0.0.0/16", 8, 8190, True),
        ("10.0.0.0/16", 8, 8191, False),
        ("10.0.0.0/30", 1, 2, True),
        ("10.0.0.0/30", 1, 3, False),
    ],
)
def test_ranges_that_are_too_small(cidr: str, rails: int, nodes: int, fits: bool) -> None:
    """F09: worked out by hand: 30 nodes are a /27, and 8 of them a /24."""
    assert (rail_networks(cidr, rails, nodes) is not None) is fits


@given(rails=st.integers(1, 16), nodes=st.integers(1, 5000))
def test_the_range_that_is_advised_is_the_smallest(rails: int, nodes: int) -> None:
    """Its networks do not overlap and have a host address for every node; half of it is too small."""
    prefix = prefix_for_rails(rails, nodes)
    networks = rail_networks(f"10.0.0.0/{prefix}", rails, nodes)
    assert networks is not None
    assert not any(one.overlaps(other) for one, other in combinations(networks, 2))
    assert all(network.num_addresses - 2 >= nodes for network in networks)
    assert all(network.subnet_of(IPv4Network(f"10.0.0.0/{prefix}")) for network in networks)
    assert rail_networks(f"10.0.0.0/{prefix + 1}", rails, nodes) is None
