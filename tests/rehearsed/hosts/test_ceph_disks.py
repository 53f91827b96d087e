"""Drives for Ceph: what is let through to Rook, what is wiped for it, and what nobody touches."""

import pytest

from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsal.metal.machine import Drive

from .bundles import bundle
from .conftest import Rack
from .racks import Prepared, prepare

pytestmark = pytest.mark.engine

BOOT = Drive("sda", 480, "BOOT1", "ext4", "/")


def disks(names: str, **variables: str) -> str:
    return bundle(["ceph-disks"], {"CEPH_DISKS": names, **variables})


def wipes(host: Host) -> list[list[str]]:
    return [call for call in host.calls() if call[0] == "wipefs" and "--all" in call]


def said(done: Prepared) -> str:
    return done.lines["ceph-disks"]


def test_empty_drives_are_left_to_ceph_once_and_undoing_touches_none(hall: Hall, rack: Rack) -> None:
    host = rack()
    text = disks("/dev/nvme1n1 /dev/nvme2n1")
    assert said(prepare(hall, host, text)) == "changed: /dev/nvme1n1 left to Ceph, /dev/nvme2n1 left to Ceph"
    assert said(prepare(hall, host, text)) == "ok"
    assert wipes(host) == []
    assert said(prepare(hall, host, text, action="undo")) == "ok"


def test_what_lies_on_a_drive_goes_only_by_this_hosts_serial(hall: Hall, rack: Rack) -> None:
    host = rack(drives=(BOOT, Drive("nvme1n1", 3840, "NVME1", "xfs")))
    refused = prepare(hall, host, disks("/dev/nvme1n1", ALLOW_FORMAT="SER-2"))
    assert refused.status == 1
    assert "/dev/nvme1n1 carries xfs and would become Ceph's: allow it with allowFormat" in said(refused)
    assert wipes(host) == []
    assert said(prepare(hall, host, disks("/dev/nvme1n1"))) == "changed: /dev/nvme1n1 wiped of xfs"
    assert len(wipes(host)) == 1
    assert said(prepare(hall, host, disks("/dev/nvme1n1"))) == "ok"
    assert len(wipes(host)) == 1


def test_what_is_cephs_already_stays_without_leave(hall: Hall, rack: Rack) -> None:
    host = rack(drives=(BOOT, Drive("nvme1n1", 3840, "NVME1", "ceph_bluestore")))
    for serials in ("", "SER-1"):
        assert said(prepare(hall, host, disks("/dev/nvme1n1", ALLOW_FORMAT=serials))) == "ok"
    assert wipes(host) == []


def test_an_empty_drive_needs_leave_too(hall: Hall, rack: Rack) -> None:
    """Rook makes an OSD of every empty drive on its list."""
    refused = prepare(hall, rack(), disks("/dev/nvme1n1", ALLOW_FORMAT=""))
    assert refused.status == 1
    assert "/dev/nvme1n1 would become Ceph's" in said(refused)


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ("/dev/sda", "/dev/sda is in use, mounted at /"),
        ("/dev/nvme1n1 /dev/nvme7n1", "there is no drive /dev/nvme7n1"),
    ],
)
def test_a_drive_in_use_or_missing_ends_it_and_none_is_wiped(hall: Hall, rack: Rack, names: str, sentence: str) -> None:
    host = rack(drives=(BOOT, Drive("nvme1n1", 3840, "NVME1", "xfs")))
    refused = prepare(hall, host, disks(names))
    assert refused.status == 1
    assert sentence in said(refused)
    assert wipes(host) == []
