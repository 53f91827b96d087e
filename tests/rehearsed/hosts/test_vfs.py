"""Virtual functions: a machine's firmware is set once, and takes it up at a boot, which the sentence asks for."""

from dataclasses import replace

import pytest

from rehearsal.metal.hall import Hall
from rehearsal.metal.machine import Card

from .bundles import bundle
from .conftest import Rack
from .racks import over_ssh, prepare

pytestmark = pytest.mark.engine

CARDS = tuple(
    Card(pci, f"ibp{number}", vendor="15b3", device="1021", infiniband=True)
    for number, pci in enumerate(("0000:18:00.0", "0000:40:00.0"))
)
PACKAGES = {"doca-ofed": "3.4.1-1", "mstflint": "4.31.0-1"}
TOLD = {"VFS": "4"}


def test_firmware_is_set_once_and_taken_up_by_a_boot(hall: Hall, rack: Rack) -> None:
    host = rack(cards=CARDS, packages=PACKAGES)
    text = bundle(("rails", "vfs"), TOLD)
    first = prepare(hall, host, text)
    assert first.lines["vfs"].startswith(
        "failed: the firmware allows 4 virtual functions of rail0 rail1 after a reboot: reboot this host"
    )
    assert len([call for call in host.calls() if "set" in call]) == 2
    assert prepare(hall, host, text).status == 1, "nothing but a reboot helps"
    host.power_off()
    host.power_on()
    assert prepare(hall, host, text).all_ok()
    assert len([call for call in host.calls() if "set" in call]) == 2
    found = over_ssh(hall, host, "cat /sys/bus/pci/devices/0000:18:00.0/sriov_totalvfs").stdout
    assert found == "4\n"


def test_a_machine_that_its_site_prepared_is_left_as_it_is(hall: Hall, rack: Rack) -> None:
    line = "root=/dev/sda2 ro iommu=pt ib_core.netns_mode=0"
    ready = rack(cards=tuple(replace(each, vfs=4) for each in CARDS), packages=PACKAGES, command_line=line)
    said = prepare(hall, ready, bundle(("checks", "rails", "vfs"), {**TOLD, "IOMMU": "pt"}))
    assert said.status == 0
    assert not [call for call in ready.calls() if "set" in call]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"packages": {"mstflint": "4.31.0-1"}}, "RDMA devices are shared by all namespaces until this host is reb"),
        ({"packages": PACKAGES}, "RDMA devices are shared by all namespaces until this host is rebooted"),
        ({"packages": {"doca-ofed": "3.4.1-1"}}, "the firmware of 0000:18:00.0 cannot be asked"),
        (
            {"cards": (Card("0000:18:00.0", "ens1", vendor="8086"),), "packages": PACKAGES},
            "is the card one of NVIDIA's",
        ),
    ],
)
def test_what_stands_in_the_way_is_said(hall: Hall, rack: Rack, facts: dict[str, object], words: str) -> None:
    given = {"cards": tuple(replace(each, vfs=4) for each in CARDS), **facts}
    said = prepare(hall, rack(**given), bundle(("vfs",), {**TOLD, "RAILS": "0000:18:00.0=rail0"}))
    assert said.status == 1
    assert words in said.lines["vfs"]


def test_more_than_firmware_takes_is_said(hall: Hall, rack: Rack) -> None:
    said = prepare(hall, rack(cards=CARDS, packages=PACKAGES), bundle(("rails", "vfs"), {"VFS": "200"}))
    assert "the firmware of rail0 does not take 200 virtual functions" in said.lines["vfs"]
