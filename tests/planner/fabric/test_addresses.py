"""Networks of rails."""

from ipaddress import IPv4Network
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.fabric.plan import prefix_for_rails, rail_networks


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
