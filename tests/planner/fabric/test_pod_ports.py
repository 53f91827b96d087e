"""What pods get of the fabric where they do not share its ports is planned, shown, and refused where it cannot be."""

from copy import deepcopy
from typing import Any

import pytest

from planner.fabric.plan import PodPorts
from planner.faces.room import fabric_facts
from tests.planner.fabric.sites import ROCE, ROCE_CARDS, one, with_cards
from tests.planner.site import found, planned_site

SRIOV = {"fabric.podDevices": "sriov"}
HOST = {"fabric.podDevices": "hostDevice"}
RULES = ("pod-devices-cards", "virtual-functions", "pod-port-addresses")
RAILS = [f"0000:{bus:02x}:00.0" for bus in (0x18, 0x40, 0x4F, 0x5E, 0x9A, 0xC0, 0xCE, 0xDC)]


def inventory(**hosts: Any) -> dict[str, Any]:
    """An inventory of the training pool's machines, with keys replaced; None removes one."""
    keys = [f"ssh-ed25519 {'A' * 60}{number:08}" for number in range(8)]
    entry = {"name": "dgx-[01-08]", "pool": "training", "address": "10.20.0.[21-28]", "hostKeys": keys, "rails": RAILS}
    given = {key: value for key, value in {**entry, **hosts}.items() if value is not None}
    return {"inventory": {"user": "root", "endpoint": "10.20.3.250", "hosts": [given]}}


def ports(changes: dict[str, Any] | None = None, **more: Any) -> PodPorts | None:
    fabric = planned_site(changes, **more).fabric
    assert fabric is not None
    return fabric.pod_ports


def test_pods_share_ports_unless_told_otherwise() -> None:
    assert ports() is None
    assert not [rule for rule in RULES if found(rule)]


def test_each_port_has_a_network_with_an_address_for_each_pod() -> None:
    """F09: 8 nodes with 4 functions of a port are 32 addresses, for which a /26 of each rail is the smallest."""
    assert ports(HOST) == PodPorts(
        mode="hostDevice", per_port=1, networks=tuple(f"10.21.0.{n * 16}/28" for n in range(8))
    )
    several = ports({**SRIOV, "fabric.vfsPerPort": 4})
    assert several is not None
    assert (several.mode, several.per_port, len(several.networks)) == ("sriov", 4, 8)
    assert several.networks[:2] == ("10.21.0.0/26", "10.21.0.64/26")


def test_growth_does_not_move_a_network() -> None:
    """F09: what the pools may grow to counts, so that a new node changes no pool of addresses."""
    grown = ports({**SRIOV, "pools.1.maxCount": 64})
    assert grown is not None
    assert grown.networks[1] == "10.21.0.128/25"
    assert ports({**SRIOV, "pools.1.maxCount": 64, "pools.1.count": 9}) == grown


def test_both_planes_have_networks() -> None:
    double = ports({**SRIOV, "fabric.redundant": True}, catalogue=with_cards("ConnectX-6 HDR dual"))
    assert double is not None
    assert len(double.networks) == 16


def test_names_of_functions_are_not_those_of_ports() -> None:
    """A pod with virtual functions would find none of the devices that NCCL_IB_HCA names."""
    for changes, named in ((None, True), (HOST, True), (SRIOV, False)):
        fabric = planned_site(changes).fabric
        assert fabric is not None
        assert ("NCCL_IB_HCA" in fabric.nccl) is named


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "all compute ports of their node, shared with its other pods (sharedDevice)"),
        (HOST, "each compute port of their node, with an address of the port's range (hostDevice, 1 pod of a node"),
        ({**SRIOV, "fabric.vfsPerPort": 8}, "a virtual function of each port, with an address of the port's range ("),
    ],
)
def test_the_page_says_what_pods_get(changes: dict[str, Any], words: str) -> None:
    fabric = planned_site(changes).fabric
    assert fabric is not None
    shown = dict(fabric_facts(fabric))
    assert str(shown["pods get"]).startswith(words)
    if changes:
        assert "10.21.0.0/" in str(shown["addresses"])


def test_more_functions_than_the_kernel_lists_are_refused() -> None:
    finding = one("virtual-functions", {**SRIOV, "fabric.vfsPerPort": 17})
    assert (finding.path, "the kernel lists 16 at most" in finding.sentence) == ("gpucluster:fabric.vfsPerPort", True)
    assert not found("virtual-functions", {**SRIOV, "fabric.vfsPerPort": 16})


def test_functions_without_sriov_are_refused() -> None:
    assert (
        "podDevices: hostDevice there are none" in one("virtual-functions", {**HOST, "fabric.vfsPerPort": 2}).sentence
    )
    assert one("virtual-functions", {"fabric.vfsPerPort": 2})


@pytest.mark.parametrize(
    ("changes", "sentence", "remedy"),
    [
        ({"fabric.railCidr": None}, "an address on each of 8 ports of 8 nodes", "give a private /25"),
        ({"fabric.railCidr": "10.21.0.0/26"}, "does not divide into 8 networks of 8 pods each", "give a private /25"),
        (
            {"fabric.railCidr": "10.21.0.0/25", "fabric.vfsPerPort": 8},
            "10.21.0.0/25 does not divide into 8 networks of 64 pods each",
            "give a private /22",
        ),
    ],
)
def test_a_range_that_is_too_small_is_refused(changes: dict[str, Any], sentence: str, remedy: str) -> None:
    finding = one("pod-port-addresses", {**SRIOV, **changes})
    assert sentence in finding.sentence
    assert (finding.path, finding.remedy) == ("gpucluster:fabric.railCidr", remedy)
    planned = ports({**SRIOV, **changes})
    assert planned is not None
    assert planned.networks == ()


def test_a_range_that_overlaps_is_refused() -> None:
    assert one("addresses-overlap", {**SRIOV, "fabric.railCidr": "10.244.8.0/21"}).path == "gpucluster:fabric.railCidr"
    stored = inventory(storageAddresses=["10.21.0.[21-28]"])
    finding = one("pod-port-addresses", {**SRIOV, **stored})
    assert finding.path == "gpucluster:inventory.hosts[0].storageAddresses"
    assert "10.21.0.21 is in fabric.railCidr 10.21.0.0/20" in finding.sentence
    assert not found("pod-port-addresses", stored)


def test_cards_that_nothing_can_be_handed_of_are_refused() -> None:
    plain = {"fabric.kind": "ethernet", "fabric.switch": "SN5600", "fabric.subnetManager": None}
    assert "NCCL takes sockets" in one("pod-devices-cards", {**SRIOV, **plain}, catalogue=ROCE_CARDS).sentence
    cards = with_cards("10GbE dual", count=4)
    finding = one("pod-devices-cards", {**SRIOV, **ROCE}, catalogue=cards)
    assert "10GbE dual of DGX H100 has no RDMA" in finding.sentence
    assert finding.path == "gpucluster:pools[1].server"
    nobody = deepcopy(planned_site({**SRIOV, "pools.1.server": "Dell PowerEdge R660"}).findings)
    assert [each for each in nobody if each.rule == "pod-devices-cards"]


def test_roce_gets_addresses_too() -> None:
    roce = ports({**SRIOV, **ROCE}, catalogue=ROCE_CARDS)
    assert roce is not None
    assert len(roce.networks) == 8
    assert not found("roce-rail-networks", {**SRIOV, **ROCE, "fabric.railCidr": None}, catalogue=ROCE_CARDS)
    assert found("pod-port-addresses", {**SRIOV, **ROCE, "fabric.railCidr": None}, catalogue=ROCE_CARDS)


def test_machines_name_their_ports() -> None:
    finding = one("pod-ports-named", {**SRIOV, **inventory(rails=None)})
    assert (finding.path, finding.subject) == ("gpucluster:inventory.hosts[0].rails", "dgx-[01-08]")
    assert not found("pod-ports-named", {**SRIOV, **inventory()})
    assert not found("pod-ports-named", inventory(rails=None))
    assert not found("pod-ports-named", SRIOV)


def test_a_port_is_one_rail_on_every_machine() -> None:
    both = inventory()
    (entry,) = both["inventory"]["hosts"]
    other = {**entry, "name": "dgx-09", "address": "10.20.0.29", "hostKeys": entry["hostKeys"][:1]}
    both["inventory"]["hosts"].append({**other, "rails": [RAILS[1], RAILS[0], *RAILS[2:]]})
    finding = one("pod-ports-named", {**HOST, **both})
    assert f"{RAILS[1]} is rail 0 here and rail 1 of other machines" in finding.sentence
