"""Rules about what the fabric needs to run trip where they should, and nowhere else."""

import pytest

from tests.planner.fabric.sites import ROCE, ROCE_CARDS, one
from tests.planner.site import found, planned_site


@pytest.mark.parametrize(
    ("pfc", "ecn", "missing"),
    [(True, True, None), (True, False, "ecn"), (False, True, "pfc"), (False, False, "pfc and ecn")],
)
def test_roce_loses_nothing(pfc: bool, ecn: bool, missing: str | None) -> None:
    """E04: both, or RoCE drops packets."""
    findings = found("roce-lossless", {**ROCE, "fabric.pfc": pfc, "fabric.ecn": ecn}, catalogue=ROCE_CARDS)
    assert [f"RoCE without {missing} " in finding.sentence for finding in findings] == ([True] if missing else [])


def test_infiniband_needs_neither() -> None:
    """E04: InfiniBand has credits."""
    assert not found("roce-lossless")


@pytest.mark.parametrize(
    ("cidr", "sentence"),
    [
        ("10.21.0.0/25", None),
        ("10.21.0.0/26", "10.21.0.0/26 does not divide into 8 networks for 8 nodes each"),
        (None, "RoCE needs an address for each of 8 ports of 8 nodes, and no range is given"),
    ],
)
def test_rails_of_roce_have_networks(cidr: str | None, sentence: str | None) -> None:
    """F09, E04: 8 rails of 8 nodes are 8 networks of 16 addresses, which is a /25."""
    findings = found("roce-rail-networks", {**ROCE, "fabric.railCidr": cidr}, catalogue=ROCE_CARDS)
    assert [finding.sentence for finding in findings] == ([sentence] if sentence else [])
    assert all(finding.remedy == "give a private /25" for finding in findings)


def test_infiniband_needs_no_address() -> None:
    """F09: verbs on InfiniBand need no IP address."""
    assert not found("roce-rail-networks", {"fabric.railCidr": None})


@pytest.mark.parametrize(
    ("range_", "rule"),
    [
        ("10.20.0.0/24", "addresses-overlap"),
        ("10.244.8.0/21", "addresses-overlap"),
        ("10.21.0.0/26", "addresses-too-few"),
    ],
)
def test_ranges(range_: str, rule: str) -> None:
    """F08, F09: the compute ports' range is nobody else's (hosts, pods), and has an address for each of 64 ports."""
    assert one(rule, {"fabric.railCidr": range_})
    assert not found(rule, {"fabric.railCidr": "10.21.0.0/25"})


@pytest.mark.parametrize(
    ("switch", "manager", "sentence"),
    [
        ("QM9700", "none", "nothing gives the ports their addresses"),
        ("QM9790", "switch", "QM9790 is managed from outside and runs no subnet manager"),
        ("QM9700", "switch", None),
        ("QM9790", "opensm", None),
        ("QM9790", "ufm", None),
    ],
)
def test_infiniband_has_a_subnet_manager(switch: str, manager: str, sentence: str | None) -> None:
    """FB05, E14: without one, every port stays in INIT."""
    findings = found("subnet-manager", {"fabric.switch": switch, "fabric.subnetManager": manager})
    assert [sentence is not None and sentence in finding.sentence for finding in findings] == (
        [True] if sentence else []
    )


def test_ethernet_has_none() -> None:
    """E14: a subnet manager has nothing to do on Ethernet."""
    finding = one("subnet-manager", {**ROCE, "fabric.subnetManager": "opensm"}, catalogue=ROCE_CARDS)
    assert finding.remedy == "remove the key"
    assert not found("subnet-manager", ROCE, catalogue=ROCE_CARDS)


def test_reductions_need_their_manager_beside_the_subnets() -> None:
    """E11: sharp_am takes the fabric from opensm or UFM on its own server."""
    finding = one("sharp-manager", {"fabric.sharp": True, "fabric.subnetManager": "switch", "fabric.switch": "QM9700"})
    assert "start sharp_am there" in finding.remedy
    assert not found("sharp-manager", {"fabric.sharp": True})
    assert not found("sharp-manager", {"fabric.subnetManager": "switch"})


def test_reductions_need_switches_that_reduce() -> None:
    """E11: SHARP is of Quantum switches."""
    finding = one("sharp-switch", {"fabric.sharp": True, "fabric.switch": "SB7790"})
    assert "SB7790 (EDR) cannot reduce in the network" in finding.sentence
    assert not found("sharp-switch", {"fabric.sharp": True})
    assert not found("sharp-switch", {"fabric.switch": "SB7790"})
    fabric = planned_site({"fabric.sharp": True}).fabric
    assert fabric is not None
    assert fabric.nccl["NCCL_COLLNET_ENABLE"] == "1"


@pytest.mark.parametrize(
    ("mtu", "sentence"),
    [
        (9000, None),
        (4200, None),
        (4100, "4100 bytes leave packets of RDMA 2048 of payload, not 4096"),
        (1500, "1500 bytes leave packets of RDMA 1024 of payload, not 4096"),
    ],
)
def test_packets_of_roce_are_whole_e19(mtu: int, sentence: str | None) -> None:
    findings = found("fabric-mtu", {**ROCE, "fabric.ecn": True, "fabric.mtu": mtu}, catalogue=ROCE_CARDS)
    assert [finding.sentence for finding in findings] == ([sentence] if sentence else [])


def test_the_mtu_of_infiniband_is_the_subnet_managers_e19() -> None:
    (finding,) = found("fabric-mtu", {"fabric.mtu": 4096})
    assert "mtu=5 in partitions.conf" in finding.remedy
