"""What a host is refused for: one sentence that says what is wrong and what to do, and nothing changed."""

from collections.abc import Mapping
from typing import Any

import pytest

from rehearsal.metal.hall import Hall
from rehearsal.metal.machine import Card, Drive, Gpu

from .bundles import bundle
from .conftest import Rack
from .racks import over_ssh, prepare

pytestmark = pytest.mark.engine

H100 = Gpu("NVIDIA H100 80GB HBM3", 8, "580.126.20", 200, 700, 1980)
BOOT = Drive("sda", 480, "BOOT1", "ext4", "/")

CASES: list[tuple[str, dict[str, Any], Mapping[str, str | None], str]] = [
    ("checks", {"serial": "SER-9"}, {}, "this machine has serial SER-9 and the stack file says SER-1"),
    (
        "checks",
        {"system": "rocky", "release": "9.4"},
        {},
        "this host runs rocky-9.4, and this stack knows ubuntu-22.04",
    ),
    ("checks", {"kernel": "5.15.0-30-generic"}, {}, "kernel 5.15.0-30-generic is older than 6.8.0"),
    ("checks", {"memory_gib": 1920}, {}, "this host has 1891 GiB of memory and its model 2048: look for a failed DIMM"),
    ("checks", {}, {"IOMMU": "pt"}, "SR-IOV needs iommu=pt"),
    ("checks", {"command_line": "ro intel_iommu=on quiet"}, {}, "the IOMMU is on"),
    (
        "checks",
        {"drives": (Drive("sda", 32, "BOOT1", "ext4", "/"),)},
        {"MIN_FREE_GIB": "50"},
        "/var has 26 GiB free and needs 50: make room",
    ),
    ("modules", {}, {"MODULES": "overlay ib_umad"}, "the kernel 6.8.0-100-generic has no module ib_umad"),
    ("modules", {}, {"BLACKLIST": "xfs"}, "xfs is loaded and cannot go while it is in use: reboot this host"),
    ("sysctls", {}, {"SYSCTLS": "net.ipv4.nothing=1"}, "the kernel has no parameter net.ipv4.nothing"),
    ("containerd", {}, {}, "containerd is not installed"),
    ("containerd", {"packages": {"containerd.io": "1.7.25-1"}}, {}, "containerd is 1.7.25, and its configuration here"),
    ("packages", {}, {"PACKAGES": "kubelet=1.35.2-1.1"}, "apt-get cannot install kubelet=1.35.2-1.1"),
    ("packages", {}, {"PACKAGES": "nonsense="}, "apt-get cannot install nonsense"),
    ("time", {"clock_off": 400.0, "packages": {"chrony": "4.5"}}, {}, "chronyd has no time from 10.20.0.1 10.20.0.2"),
    ("rails", {}, {"RAILS": "0000:99:00.0=rail0"}, "no PCI device 0000:99:00.0 for rail0: is the card seated"),
    (
        "rails",
        {"cards": (Card("0000:18:00.0", "ibp24s0", up=True),)},
        {"RAILS": "0000:18:00.0=rail0"},
        "still called ibp24s0",
    ),
    ("nvme", {"drives": (BOOT,)}, {}, "there is no drive /dev/nvme1n1"),
    ("nvme", {"drives": (BOOT,)}, {"NVME": "/dev/sda"}, "/dev/sda is in use, mounted at /"),
    (
        "nvme",
        {},
        {"ALLOW_FORMAT": ""},
        "/dev/nvme1n1 would be formatted: allow it with allowFormat and this host's serial, SER-1",
    ),
    ("nvme", {}, {"ALLOW_FORMAT": "SER-2"}, "would be formatted"),
    (
        "nvme",
        {"drives": (Drive("nvme1n1", 3840, "N1", "ext4"), Drive("nvme2n1", 3840, "N2"))},
        {"ALLOW_FORMAT": ""},
        "/dev/nvme1n1 carries ext4 and would be formatted",
    ),
    ("fabric-manager", {"packages": {}}, {}, "no fabric manager is installed"),
    (
        "fabric-manager",
        {"packages": {"nvidia-fabricmanager-580": "580.105.08-1"}},
        {},
        "the fabric manager is 580.105.08 and the driver 580.126.20",
    ),
    ("fabric-manager", {"gpu": None}, {}, "nvidia-smi does not answer"),
    ("clocks", {}, {"GPU_WATTS": "800"}, "a cap of 800 W lies outside of what this GPU takes, 200 to 700 W"),
    ("clocks", {}, {"GPU_CLOCKS": "210,2200"}, "clocks of 210 to 2200 MHz are not within this GPU's"),
    ("persistence", {"gpu": None}, {}, "nvidia-persistenced.service cannot be enabled"),
    ("checks", {}, {"SERIAL": None}, "the bundle does not set GPUCLUSTER_SERIAL"),
]


@pytest.mark.parametrize(("concern", "facts", "variables", "words"), CASES)
def test_refused(
    hall: Hall, rack: Rack, concern: str, facts: dict[str, Any], variables: Mapping[str, str | None], words: str
) -> None:
    """PW17: a host of another distribution is one of them."""
    host = rack(**facts)
    given = {name: value for name, value in variables.items() if value is not None}
    unset = [name for name, value in variables.items() if value is None]
    said = prepare(hall, host, bundle((concern,), given, unset=unset))
    assert said.status == 1
    sentence = said.lines[concern]
    assert sentence.startswith("failed: ")
    assert words in sentence
    assert "arrays" not in host.state()


def test_nothing_after_the_first_failure_is_begun(hall: Hall, rack: Rack) -> None:
    host = rack(serial="SER-9")
    said = prepare(hall, host, bundle(("checks", "swap")))
    assert list(said.lines) == ["checks"]
    assert over_ssh(hall, host, "swapon --noheadings --show=NAME").stdout.split() == ["/swap.img"]


def test_a_virtual_machine_keeps_its_access_control(hall: Hall, rack: Rack) -> None:
    host = rack(virtual=True)
    assert prepare(hall, host, bundle(("acs",))).all_ok()
    assert not any(call[0] == "setpci" for call in host.calls())
