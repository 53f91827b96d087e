"""RoCE: a machine's ports keep its packets from being dropped, now and whenever their driver loads anew."""

from dataclasses import replace
from typing import Any

import pytest

from doctor.machines.reading import SCRIPT, parsed
from rehearsal.metal.hall import Hall
from rehearsal.metal.machine import Card

from .bundles import bundle
from .conftest import Rack
from .racks import over_ssh, prepare

pytestmark = pytest.mark.engine

CARDS = tuple(
    Card(pci, f"enp{number}", vendor="15b3", device="1021", rdma=True)
    for number, pci in enumerate(("0000:18:00.0", "0000:40:00.0"))
)
PACKAGES = {"mstflint": "4.31.0-1"}
TOLD = {"ROCE": "26:3", "ROCE_CNP": "48", "RAIL_MTU": "9000"}
TEXT = bundle(("rails", "roce"), TOLD)
LOOK = "LOOK_DISKS= LOOK_RAILS='0000:18:00.0 0000:40:00.0' bash -s"


def held(hall: Hall, host: Any) -> set[tuple[frozenset[str], int, str]]:
    """What doctor is told of each port: its classes and MTU, and what connections carry."""
    seen = parsed(over_ssh(hall, host, LOOK, SCRIPT.read_text()).stdout, 0.0, 0.0)
    carried = over_ssh(hall, host, "cat /sys/kernel/config/rdma_cm/*/ports/1/default_roce_tos").stdout.split()
    return {
        (
            frozenset(word for word in seen.classes[rail] if word in ("26:3", "3:on") or ":on" in word),
            seen.mtus[rail],
            tos,
        )
        for rail, tos in zip(sorted(seen.cards), carried, strict=True)
    }


LOSSLESS = {(frozenset({"26:3", "3:on"}), 9000, "106")}


def test_ports_are_set_once_and_again_at_each_boot(hall: Hall, rack: Rack) -> None:
    host = rack(cards=CARDS, packages=PACKAGES)
    first = prepare(hall, host, TEXT)
    assert first.status == 0, first.lines
    assert "rail0" in first.lines["roce"]
    assert held(hall, host) == LOSSLESS
    assert prepare(hall, host, TEXT).all_ok()
    host.power_off()
    host.power_on()
    assert held(hall, host) == LOSSLESS, "by udev alone"
    assert prepare(hall, host, TEXT).all_ok()
    assert prepare(hall, host, TEXT, action="undo").status == 0
    assert over_ssh(hall, host, "ls /etc/udev/rules.d").stdout == ""


def test_what_somebody_changed_is_put_right(hall: Hall, rack: Rack) -> None:
    host = rack(cards=CARDS, packages=PACKAGES)
    assert prepare(hall, host, TEXT).status == 0
    pfc, app = "dcb pfc set dev rail1 prio-pfc 4:on", "dcb -N app replace dev rail1 dscp-prio 26:0"
    for damage in (pfc, app, "ip link set dev rail1 mtu 1500"):
        assert over_ssh(hall, host, damage).status == 0
        assert held(hall, host) != LOSSLESS, damage
        assert prepare(hall, host, TEXT).status == 0
        assert held(hall, host) == LOSSLESS


def test_firmware_that_answers_no_marks_is_set_and_taken_up_by_a_boot(hall: Hall, rack: Rack) -> None:
    host = rack(cards=CARDS, packages=PACKAGES)
    over_ssh(hall, host, "mstconfig --dev 0000:40:00.0 --yes set ROCE_CC_PRIO_MASK_P1=0")
    host.power_off()
    host.power_on()
    said = prepare(hall, host, TEXT)
    assert said.lines["roce"].startswith("failed: the firmware answers marks of congestion at rail1 after a reboot")
    host.power_off()
    host.power_on()
    assert prepare(hall, host, TEXT).all_ok()


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"cards": tuple(replace(each, vendor="8086") for each in CARDS)}, "does not take what RoCE needs"),
        ({"cards": tuple(replace(each, rdma=False) for each in CARDS)}, "0000:18:00.0 has no RDMA device"),
        ({"packages": {}}, "the firmware of 0000:18:00.0 cannot be asked"),
    ],
)
def test_what_stands_in_the_way_is_said(hall: Hall, rack: Rack, facts: dict[str, Any], words: str) -> None:
    host = rack(**{"cards": CARDS, "packages": PACKAGES, **facts})
    said = prepare(hall, host, TEXT)
    assert said.status == 1
    assert words in said.lines["roce"]
    wider = prepare(hall, host, bundle(("rails",), {"RAIL_MTU": "12000"}))
    assert "rail0 takes no MTU of 12000 bytes" in wider.lines["rails"]
