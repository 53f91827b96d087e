"""Rules about cards, switches and cables trip where they should, and nowhere else."""

from dataclasses import replace
from typing import Any

import pytest

from catalogue.network_types import NicRole
from catalogue.tables import SHIPPED
from planner.findings import Severity
from settings.errors import SettingsError
from tests.planner.fabric.sites import ROCE, ROCE_CARDS, one, with_cards, with_server
from tests.planner.site import found, planned_site


def test_what_is_plugged_speaks_one_language() -> None:
    """FB10, E22: switch and cards are of the kind that the fabric is."""
    finding = one("fabric-link", {"fabric.switch": "SN5600"})
    assert finding.sentence == "SN5600 is a switch for Ethernet, and the fabric is infiniband"
    assert "QM9700" in finding.remedy
    cards = one("fabric-link", catalogue=ROCE_CARDS)
    assert "(ConnectX-7 400GbE) speak Ethernet, and the fabric is infiniband" in cards.sentence
    assert not found("fabric-link", ROCE, catalogue=ROCE_CARDS)


@pytest.mark.parametrize(
    ("switch", "nic", "finds"),
    [
        ("SB7790", "ConnectX-6 HDR", "fabric-rate"),
        ("SB7790", "ConnectX-6 EDR", None),
        ("QM8700", "ConnectX-6 HDR", None),
        ("QM8700", "ConnectX-7 NDR", "fabric-rate"),
        ("QM9700", "ConnectX-7 HDR", "fabric-idle-rate"),
        ("Q3400-RA", "ConnectX-8 XDR", None),
    ],
)
def test_rates(switch: str, nic: str, finds: str | None) -> None:
    """FB06, FB07, FB08, FB12: SB7790 is no HDR switch; a faster switch than the cards is paid for nothing."""
    findings = planned_site({"fabric.switch": switch}, catalogue=with_cards(nic)).findings
    assert {finding.rule for finding in findings} & {"fabric-rate", "fabric-idle-rate"} == ({finds} if finds else set())


def test_an_edr_switch_for_hdr_cards() -> None:
    """FB06: the sentence has both rates, the remedy has the switches of the cards' generation."""
    finding = one("fabric-rate", {"fabric.switch": "SB7790"}, catalogue=with_cards("ConnectX-6 HDR"))
    assert finding.sentence == ("SB7790 has 36 ports of 100 Gb/s (EDR), and ConnectX-6 HDR of DGX H100 has 200")
    assert finding.remedy == "take QM8700 or QM8790"
    assert finding.inputs == {"card": "200 Gb/s", "switch port": "100 Gb/s"}


def test_fewer_cards_than_gpus() -> None:
    """FB01, FB02, B11: one HDR card for 8 GPUs is 25 GB/s where 8 were 200; 8 cards are no finding."""
    changes = {"pools.1.server": "Dell PowerEdge XE9680 HDR", "fabric.switch": "QM8700", "fabric.topology": "auto"}
    finding = one("few-cards", changes)
    assert finding.severity is Severity.WARNING
    assert "1 x 200 Gb/s (25 GB/s one way) for 8 GPUs; with a card for each it would have 200 GB/s" in finding.sentence
    assert not found("few-cards")


def test_a_gang_needs_a_fabric() -> None:
    """L07, FB01: nodes without compute cards do not train together."""
    bare = replace(SHIPPED.servers["DGX H100"], nics=(SHIPPED.servers["DGX H100"].nics[-1],))
    finding = one("gang-without-fabric", catalogue=with_server(bare))
    assert "would share 400 Gb/s (50 GB/s)" in finding.sentence
    assert not found("gang-without-fabric", {"training.runs.0.nodes": 1}, catalogue=with_server(bare))


def test_unknown_devices_beside_storage_cards() -> None:
    """NC08: without the exact list NCCL takes the storage cards as well; with it, or without such cards, it cannot."""
    finding = one("rdma-devices", catalogue=with_cards("ConnectX-7 NDR"))
    assert "DGX H100's 8 ConnectX-7 NDR are not known, so NCCL would use ConnectX-7 NDR as well" in finding.sentence
    assert not found("rdma-devices")
    row = with_cards("ConnectX-7 NDR").servers["DGX H100"]
    alone = replace(row, nics=tuple(group for group in row.nics if group.role is NicRole.COMPUTE))
    assert not found("rdma-devices", catalogue=with_server(alone))


@pytest.mark.parametrize(
    ("switch", "key", "metres", "longest"),
    [
        ("QM9700", "nodeToLeaf", 101, "single-mode with 100 m"),
        ("QM9700", "nodeToLeaf", 100, None),
        ("QM9700", "leafToSpine", 101, None),
        ("QM9700", "leafToSpine", 501, "single-mode with 500 m"),
        ("QM8700", "nodeToLeaf", 101, "multimode with 100 m"),
    ],
)
def test_cables_that_are_not_made(switch: str, key: str, metres: float, longest: str | None) -> None:
    """E20, E09, B13: an HDR cable ends at 100 m."""
    findings = found("cable-too-long", {"fabric.switch": switch, "fabric.cableLengthsM": {key: metres}})
    assert [finding.path for finding in findings] == ([f"gpucluster:fabric.cableLengthsM.{key}"] if longest else [])
    assert all(longest is not None and longest in finding.sentence for finding in findings)


def test_a_site_s_own_switch() -> None:
    """E22: a row of the site is planned with like a shipped one."""
    rows = {"switches": [{"name": "big", "like": "QM9700", "ports": 128}]}
    fabric = planned_site(
        {"catalogue": rows, "fabric.switch": "big", "pools.1.count": 16, "fabric.topology": "single"}
    ).fabric
    assert fabric is not None
    assert fabric.growth.day_one.switches == 1


@pytest.mark.parametrize(
    "row",
    [
        {"name": "odd", "like": "QM9700", "ports": 1},
        {"name": "odd", "like": "QM9700", "ports": 2, "portsPerCage": 3},
        {"name": "odd", "like": "SN5600", "generation": "ndr"},
    ],
)
def test_a_site_s_impossible_switch(row: dict[str, Any]) -> None:
    """FB12: a row that cannot be is a finding, never a traceback."""
    rules = [
        finding.rule for finding in planned_site({"catalogue": {"switches": [row]}, "fabric.switch": "odd"}).errors
    ]
    assert {"site-row", "switch-unknown"} <= set(rules)


@pytest.mark.parametrize(("key", "value"), [("ports", 0), ("ports", 10**15), ("portsPerCage", 0), ("maxW", 0)])
def test_a_switch_of_nothing(key: str, value: int) -> None:
    """FB12: numbers of a row have bounds, which the settings hold."""
    with pytest.raises(SettingsError, match=rf"switches\[0\]\.{key}: must be at"):
        planned_site({"catalogue": {"switches": [{"name": "odd", "like": "QM9700", key: value}]}})
