"""Ceph on premises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.storage.redundancy import Redundancy, parse, replicated
from planner.storage.servers import CephServers, ceph_limits
from tests.planner.storage.servers import storage_server


def _osd(count: int, redundancy: Redundancy, cards: int = 2) -> CephServers:
    return CephServers(server=storage_server(cards=cards), count=count, redundancy=redundancy)


@pytest.mark.parametrize(
    ("redundancy", "hosts"), [(replicated(3), 3), (replicated(2), 3), (parse("4+2"), 6), (parse("8+3"), 11)]
)
def test_hosts(redundancy: Redundancy, hosts: int) -> None:
    """G11, G20: each part on a host of its own, three at least; triple replication needs 3 hosts, 4+2 needs 6."""
    assert _osd(1, redundancy).hosts_needed == hosts


def test_capacity() -> None:
    """G09: 6 hosts of 20 x 10 TB are 1,200 TB; three copies leave 400, 4+2 leaves 800; 85 % before Ceph warns."""
    assert _osd(6, replicated(3)).raw_tb == 1200
    assert _osd(6, replicated(3)).usable_tb == pytest.approx(340)
    assert _osd(6, parse("4+2")).usable_tb == pytest.approx(680)


def test_reading() -> None:
    """G09: 6 hosts of 2 x 12.5 GB/s read 150 GB/s, less than their drives' 240."""
    limits = ceph_limits(_osd(6, replicated(3)), clients_gb_per_s=1000, writing=False)
    assert (limits.servers_network, limits.servers_drives, limits.gb_per_s) == (150, 240, 150)


@pytest.mark.parametrize(
    ("redundancy", "network", "drives"),
    [(replicated(3), 50, 40), (parse("4+2"), 150 / 2.25, 80), (replicated(1), 150, 120)],
)
def test_writing(redundancy: Redundancy, network: float, drives: float) -> None:
    """G09: hosts receive 3 bytes per byte with three copies, 1 + 5/4 with 4+2; drives write 3 and 1.5."""
    limits = ceph_limits(_osd(6, redundancy), clients_gb_per_s=1000, writing=True)
    assert limits.servers_network == pytest.approx(network)
    assert limits.servers_drives == pytest.approx(drives)


def test_clients_decide() -> None:
    """G16: one client with 12.5 GB/s has no more, however large the cluster."""
    assert ceph_limits(_osd(60, replicated(3)), clients_gb_per_s=12.5, writing=False).gb_per_s == 12.5


@given(
    count=st.integers(1, 500),
    data=st.integers(1, 12),
    parity=st.integers(0, 4),
    clients=st.floats(0, 1e5),
)
def test_writing_never_beats_reading(count: int, data: int, parity: int, clients: float) -> None:
    """G09: redundancy is written, not read; a further host never makes it slower; usable is at most raw."""
    scheme = Redundancy(data=data, parity=parity)
    servers = _osd(count, scheme)
    write = ceph_limits(servers, clients_gb_per_s=clients, writing=True).gb_per_s
    assert write <= ceph_limits(servers, clients_gb_per_s=clients, writing=False).gb_per_s
    assert ceph_limits(_osd(count + 1, scheme), clients_gb_per_s=clients, writing=True).gb_per_s >= write
    assert servers.usable_tb <= servers.raw_tb
