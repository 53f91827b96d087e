"""Reports of the real tools over a simulated fabric, whole, cut and broken.

`reports/` is what infiniband-diags 44 printed of two DGX A100 and a port of storage on a switch with SHARP, in ibsim.
"""

from pathlib import Path

import pytest

from doctor.fabric.counters import times_down
from doctor.fabric.discovered import At, Rate, hosts_of, parsed
from doctor.fabric.refused import RefusedError

REPORTS = Path(__file__).parent / "reports"
LINKS, DOWN = (REPORTS / "links.txt").read_text(), (REPORTS / "down.txt").read_text()
LEAF = 0x200000


def test_a_whole_report_is_a_fabric() -> None:
    found = parsed(LINKS)
    (switch,) = (each for each in found.devices.values() if each.switch)
    assert (switch.guid, switch.ports, switch.description) == (LEAF, 41, "MF0;leaf-01:MQM8700/U1")
    assert len(found.devices) == 1 + 2 * 8 + 1 + 1
    assert len(found.links) == 2 * (len(found.devices) - 1)
    assert found.links[At(LEAF, 3)] == (At(0x100006, 1), Rate(4, "HDR"))
    assert found.links[At(0x100006, 1)] == (At(LEAF, 3), Rate(4, "HDR"))
    assert found.port_guids[0x100007] == At(0x100006, 1)
    hosts = [(host, hca) for _, host, hca in hosts_of(found.devices.values())]
    assert hosts.count(("training-0", "mlx5_1")) == 1


@pytest.mark.parametrize("line", range(1, len(LINKS.splitlines())))
def test_a_report_that_is_cut_is_refused(line: int) -> None:
    """After any of its lines but empty ones behind the last."""
    cut = "".join(LINKS.splitlines(keepends=True)[:line])
    with pytest.raises(RefusedError, match=r"truncated|not a report|not from"):
        parsed(cut)


@pytest.mark.parametrize("characters", [*range(1, 40), 100, 1000])
def test_a_report_that_is_cut_within_a_line_is_refused(characters: int) -> None:
    with pytest.raises(RefusedError):
        parsed(LINKS.rstrip("\n")[:-characters])


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("# Topology file: generated on", "# Topology of", "not a report of ibnetdiscover"),
        ('\n[3]\t"H', '\n[3\t"H', "line 13 is truncated, or not from ibnetdiscover: \\[3"),
        ("4xHDR\n[3]", "4xhdr\n[3]", "line 12 is truncated"),
        ('Switch\t41 "S-', 'Bridge\t41 "S-', "line 10 is not from ibnetdiscover: Bridge"),
        ('Ca\t1 "H-0000000000100022"', 'Ca\t1 "H-0000000000100020"', "a second device has the GUID 0x0000000000100020"),
        (
            '"S-0000000000200000"[17]',
            '"S-0000000000200000"[18]',
            "leads to port 1 of training-1 mlx5_9, which does not",
        ),
    ],
)
def test_a_report_that_is_broken_is_refused_with_its_place(was: str, now: str, said: str) -> None:
    assert LINKS.count(was) == 1
    with pytest.raises(RefusedError, match=said):
        parsed(LINKS.replace(was, now))


@pytest.mark.parametrize(
    ("written", "rate", "gbit_per_s"),
    [
        ("4xNDR", Rate(4, "NDR"), 400),
        ("4xXDR", Rate(4, "XDR"), 800),
        ("2xHDR", Rate(2, "HDR"), 100),
        ("1xEDR", Rate(1, "EDR"), 25),
        ("4xFDR10", Rate(4, "FDR10"), 40),
        ("4xFDR", Rate(4, "FDR"), 56),
        ("4x???", Rate(4, None), None),
        ("??HDR", Rate(None, "HDR"), None),
        ("4xNDR s=4 w=2 v=4", Rate(4, "NDR"), 400),
    ],
)
def test_rates_as_the_tool_writes_them(written: str, rate: Rate, gbit_per_s: float | None) -> None:
    """The last with -f."""
    found = parsed(LINKS.replace("4xHDR", written)).links[At(LEAF, 3)][1]
    assert (found, found.gbit_per_s) == (rate, gbit_per_s)


def test_grouping_of_a_chassis_changes_no_link() -> None:
    """With -g the tool adds headings, and ports as they stand on the chassis."""
    grouped = LINKS.replace("\nvendid=0x0\ndevid=0x0\nsysimgguid=0x200000\n", "\nNon-Chassis Nodes\n\nvendid=0x0\n", 1)
    grouped = grouped.replace("switchguid=0x200000(200000)", "switchguid=0x200000(200000)\t# Line 1 slot 2")
    grouped = grouped.replace("[3]\t", "[3][ext 2]\t")
    assert parsed(grouped).links == parsed(LINKS).links


def test_links_that_went_down_are_counted_by_port() -> None:
    """A switch's by its GUID, a card's by its port's; the sum of a switch's ports is no port."""
    found = parsed(LINKS)
    assert times_down(DOWN, found) == {At(LEAF, 3): 7, At(0x10001C, 1): 2}
    assert times_down(DOWN.replace("== 7]", "== 7 (7.000)]"), found)[At(LEAF, 3)] == 7


def test_other_counters_are_not_times_down_and_a_cut_report_is_refused() -> None:
    found = parsed(LINKS)
    assert times_down(DOWN.replace("LinkDownedCounter", "SymbolErrorCounter"), found) == {}
    with pytest.raises(RefusedError, match="no summary"):
        times_down(DOWN[: DOWN.index("## Summary")], found)
