"""Lustre and Ceph on premises, and redundancy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.network_types import Link, NicRole
from catalogue.servers import SERVERS
from catalogue.storage_servers import STORAGE_SERVERS
from planner.storage.limits import client_gb_per_s, network_gb_per_s, ports_needed, storage_link
from planner.storage.servers import CephServers, LustreServers, ceph_limits, lnet, lustre_limits
from planner.storage.types import Redundancy, parse, replicated, usable
from tests.planner.storage.servers import storage_server


def _oss(count: int = 4, drives: int = 20, cards: int | None = None, parity: str = "8+2") -> LustreServers:
    return LustreServers(
        server=storage_server(drives), count=count, drives=drives, redundancy=parse(parity), cards=cards
    )


def test_servers_ports_decide() -> None:
    """T3.8, ST02, ST03: four servers of 2 x 100GbE deliver 100 GB/s, whatever 8 clients of 200 Gb/s (200 GB/s) take."""
    limits = lustre_limits(_oss(), clients_gb_per_s=8 * 25, writing=False)
    assert (limits.servers_network, limits.servers_drives, limits.clients_network) == (100, 160, 200)
    assert limits.gb_per_s == 100
    assert limits.bound_by == "the servers' network"


def test_clients_ports_decide() -> None:
    """T3.8: with eight cards a server (400 GB/s) and 40 drives (320), 8 clients of 200 Gb/s have their 200 GB/s."""
    limits = lustre_limits(_oss(drives=40, cards=8), clients_gb_per_s=8 * 25, writing=False)
    assert (limits.servers_network, limits.servers_drives, limits.gb_per_s) == (400, 320, 200)
    assert limits.bound_by == "the clients' network"


def test_drives_decide_and_parity_is_written_too() -> None:
    """G04: 40 drives read 80 GB/s; they write 40, of which 8 in 10 are data: 32."""
    servers = _oss(count=2, cards=8)
    assert lustre_limits(servers, clients_gb_per_s=1000, writing=False).gb_per_s == 80
    writing = lustre_limits(servers, clients_gb_per_s=1000, writing=True)
    assert writing.gb_per_s == 32
    assert writing.bound_by == "the servers' drives"


def test_ports_that_a_server_needs() -> None:
    """ST03: 250 GB/s over four servers are 62.5 each, which takes five 100GbE ports; 50 GB/s fill one of 400."""
    assert ports_needed(62.5, 100) == 5
    assert ports_needed(50, 400) == 1
    assert ports_needed(50.1, 400) == 2


def test_targets_are_whole_groups_of_drives() -> None:
    """ST07: 24 drives are two groups of 8+2 and four spares, so four servers have 8 targets and 512 TB of 960."""
    servers = LustreServers(server=storage_server(24), count=4, drives=24, redundancy=parse("8+2"))
    assert (servers.osts_per_server, servers.osts, servers.raw_tb) == (2, 8, 960)
    assert servers.usable_tb == pytest.approx(8 * 8 * 10)


def test_lnet_follows_the_ports() -> None:
    """KJ19: InfiniBand ports are o2ib, and so is RoCE; plain Ethernet is tcp."""
    assert lnet(Link.ETHERNET, roce=True) == "o2ib"
    assert [lnet(link) for link in (Link.INFINIBAND, Link.ETHERNET)] == ["o2ib", "tcp"]
    row = STORAGE_SERVERS["OSS 24x15.36TB NDR"]
    assert storage_link(row.nics) is Link.INFINIBAND
    assert storage_link(storage_server().nics) is Link.ETHERNET
    assert storage_link(()) is None


def test_cards_by_role_and_link() -> None:
    """G22, HW01: a DGX H100 has 2 x 400 Gb/s for storage and 8 x 400 for compute; bits become bytes once."""
    groups = SERVERS["DGX H100"].nics
    assert network_gb_per_s(groups, NicRole.STORAGE) == 100
    assert network_gb_per_s(groups, NicRole.COMPUTE) == 400
    assert network_gb_per_s(groups, NicRole.STORAGE, cards=1) == 50
    assert network_gb_per_s((), NicRole.STORAGE, cards=3) == 0
    assert client_gb_per_s(groups, Link.INFINIBAND, compute=False) == 100
    assert client_gb_per_s(groups, Link.INFINIBAND, compute=True) == 400
    assert client_gb_per_s(groups, Link.ETHERNET, compute=False) == 0


def test_a_machine_without_storage_cards_uses_its_management_ports() -> None:
    """B11: the one-card server reaches storage over its 200 Gb/s fabric, or over 2 x 10GbE."""
    groups = SERVERS["Dell PowerEdge XE9680 HDR"].nics
    assert client_gb_per_s(groups, Link.INFINIBAND, compute=True) == 25
    assert client_gb_per_s(groups, Link.ETHERNET, compute=False) == 2.5


@given(
    count=st.integers(1, 200),
    drives=st.integers(1, 120),
    clients=st.floats(0, 1e5),
    more=st.integers(1, 5),
    parity=st.sampled_from(["8+2", "4+2", "10+2", "2+1"]),
)
def test_more_hardware_is_never_slower(count: int, drives: int, clients: float, more: int, parity: str) -> None:
    """G04: servers, drives and clients only add; writing is not faster than reading; usable is at most raw."""
    servers, larger = _oss(count, drives, parity=parity), _oss(count + more, drives + more, parity=parity)
    for writing in (True, False):
        here = lustre_limits(servers, clients_gb_per_s=clients, writing=writing).gb_per_s
        assert lustre_limits(larger, clients_gb_per_s=clients + more, writing=writing).gb_per_s >= here
    written = lustre_limits(servers, clients_gb_per_s=clients, writing=True).gb_per_s
    assert written <= lustre_limits(servers, clients_gb_per_s=clients, writing=False).gb_per_s
    assert servers.usable_tb <= servers.raw_tb


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


@pytest.mark.parametrize(
    ("scheme", "raw", "left"),
    [
        (parse("8+2"), 48 * 16, 614.4),
        (parse("8+2"), 48 * 15.36, 589.824),
        (Redundancy(data=8, parity=2), 48 * 10, 384),
        (replicated(3), 921.6, 307.2),
        (parse("4+2"), 921.6, 614.4),
        (replicated(1), 7, 7),
    ],
)
def test_usable_capacity(scheme: Redundancy, raw: float, left: float) -> None:
    """ST05, G20: 48 x 16 TB are 768 TB raw, of which 8+2 leaves 614; the others are raw x data / width by hand."""
    assert usable(raw, scheme) == pytest.approx(left)


def test_drives_are_not_their_capacity() -> None:
    """ST04: four servers of 48 drives of 10 TB hold 1,920 TB raw, 480 each; 192 is the number of drives.

    RAID-6 over 12 drives leaves 10 of 12: 1,600 TB.
    """
    one, four = (
        LustreServers(server=storage_server(48), count=count, drives=48, redundancy=Redundancy(data=10, parity=2))
        for count in (1, 4)
    )
    assert (one.raw_tb, four.raw_tb) == (480, 1920)
    assert four.usable_tb == pytest.approx(1600)


@pytest.mark.parametrize("text", ["8", "8+", "+2", "0+2", "8-2", "eight+2", "8+22", ""])
def test_what_is_no_scheme(text: str) -> None:
    """Text that is not DATA+PARITY is refused by name."""
    with pytest.raises(ValueError, match="DATA"):
        parse(text)


def test_nothing_is_stored_without_data() -> None:
    """A scheme has a part with data."""
    with pytest.raises(ValueError, match="stores no data"):
        Redundancy(data=0, parity=2)


def test_names() -> None:
    """Schemes read as people write them."""
    assert [str(scheme) for scheme in (replicated(3), parse("8+2"))] == ["3 replicas", "8+2"]


@given(raw=st.floats(0, 1e9), data=st.integers(1, 99), parity=st.integers(0, 9))
def test_usable_is_never_more_than_raw(raw: float, data: int, parity: int) -> None:
    """ST05: redundancy only takes capacity, and more parity takes more."""
    left = usable(raw, Redundancy(data=data, parity=parity))
    assert left <= raw
    assert usable(raw, Redundancy(data=data, parity=parity + 1)) <= left
    assert usable(raw, Redundancy(data=data + 1, parity=parity)) >= left * (1 - 1e-12)
