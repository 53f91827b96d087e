"""The NFS server of homes: a pool made once of drives that are free, directories that machines of a site mount."""

import pytest

from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsal.metal.machine import Drive

from .bundles import bundle
from .conftest import Rack
from .racks import Prepared, over_ssh, prepare, verified

pytestmark = pytest.mark.engine

PACKAGES = {"zfsutils-linux": "2.2.2", "nfs-kernel-server": "2.6.4"}
BOOT = Drive("sda", 480, "BOOT1", "ext4", "/")
DRIVES = (BOOT, Drive("nvme1n1", 3840, "HOME1"), Drive("nvme2n1", 3840, "HOME2"))
TOLD = {
    "HOME_VDEVS": "mirror /dev/nvme1n1 /dev/nvme2n1",
    "HOME_DIRECTORIES": "training team-vision",
    "HOME_CLIENTS": "10.20.0.0/22",
}


def server(rack: Rack, **facts: object) -> Host:
    return rack(**{"gpu": None, "host_key": None, "packages": PACKAGES, "drives": DRIVES, **facts})


def run(hall: Hall, host: Host, action: str = "apply", **told: str) -> Prepared:
    return prepare(hall, host, bundle(["nfs-server"], {**TOLD, **told}), action=action)


def mounts(hall: Hall, rack: Rack, source: str) -> bool:
    client = rack(gpu=None, host_key=None, packages={"nfs-common": "2.6.4"}, file_systems=())
    return prepare(hall, client, bundle(["shared-files"], {"SHARED_SOURCE": source})).status == 0


def test_homes_are_made_once_and_machines_of_the_site_mount_them(hall: Hall, rack: Rack) -> None:
    host = server(rack)
    source = f"{host.machine.address}:/srv/home/team-vision"
    assert not mounts(hall, rack, source)
    first = run(hall, host)
    assert "gpucluster-home made" in first.lines["nfs-server"]
    assert run(hall, host).all_ok()
    assert "gpucluster-zpool-home.service" in verified(hall, host)
    assert len([call for call in host.calls() if call[:2] == ["zpool", "create"]]) == 1
    listed = over_ssh(hall, host, "stat -c '%n %u:%g %a' /srv/home/*").stdout.splitlines()
    assert listed == [f"/srv/home/{name} 1000:1000 770" for name in ("team-vision", "training")]
    assert mounts(hall, rack, source)
    host.power_off()
    host.power_on()
    assert mounts(hall, rack, source), "a boot brings it back"


def test_a_team_that_comes_is_exported_and_undoing_keeps_what_lies_there(hall: Hall, rack: Rack) -> None:
    host = server(rack)
    assert run(hall, host).status == 0
    more = run(hall, host, HOME_DIRECTORIES="training team-vision team-speech")
    assert more.lines["nfs-server"] == "changed: /srv/home/team-speech, /etc/exports.d/gpucluster.exports"
    assert mounts(hall, rack, f"{host.machine.address}:/srv/home/team-speech")
    assert not mounts(hall, rack, f"{host.machine.address}:/srv/home/team-other")
    assert run(hall, host, "undo").status == 0
    assert not mounts(hall, rack, f"{host.machine.address}:/srv/home/team-speech")
    assert run(hall, host, ALLOW_FORMAT="").status == 0
    assert len([call for call in host.calls() if call[:2] == ["zpool", "create"]]) == 1


@pytest.mark.parametrize(
    ("told", "drives", "sentence"),
    [
        ({"ALLOW_FORMAT": "SER-2"}, DRIVES, "/dev/nvme1n1 would be formatted for homes: allow it with allowFormat"),
        ({"HOME_VDEVS": "mirror /dev/nvme1n1 /dev/sda"}, DRIVES, "/dev/sda is in use, mounted at /"),
        ({}, DRIVES[:2], "there is no drive /dev/nvme2n1"),
    ],
)
def test_what_ends_it_makes_nothing(
    hall: Hall, rack: Rack, told: dict[str, str], drives: tuple[Drive, ...], sentence: str
) -> None:
    host = server(rack, drives=drives)
    assert sentence in run(hall, host, **told).lines["nfs-server"]
    assert not [call for call in host.calls() if "create" in call or "--all" in call]
