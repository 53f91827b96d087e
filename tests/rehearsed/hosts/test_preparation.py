"""The whole bundle on a host: what it changes, that it changes nothing twice, and that undoing takes it all back."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host

from .bundles import CONCERNS, bundle
from .conftest import Rack
from .racks import over_ssh, prepare, verified

pytestmark = pytest.mark.engine

CHANGING = {
    "apt-get install",
    "mdadm --create",
    "mkfs.xfs",
    "swapoff",
    "modprobe",
    "nvidia-smi -pm",
    "systemctl restart",
    "systemctl enable",
    "apt-mark hold",
}
"""How calls begin that change a host."""


def files(hall: Hall, host: Host) -> Mapping[str, str]:
    """What lies in the host's /etc and /usr/local/sbin, with mode and content."""
    told = over_ssh(
        hall, host, "bash -s", "find /etc /usr/local/sbin -type f -printf '%p %m ' -exec md5sum {} \\; | sort"
    ).stdout
    return {line.split()[0]: line for line in told.splitlines() if not line.startswith("/etc/ssh")}


def changes(host: Host, since: int) -> list[str]:
    lines = [" ".join(call) for call in host.calls()[since:]]
    return [line for line in lines if any(line.startswith(each) for each in CHANGING)]


def test_every_concern_changes_a_new_host_once_and_a_second_run_nothing(hall: Hall, rack: Rack) -> None:
    host = rack()
    first = prepare(hall, host)
    assert first.status == 0, first.lines
    assert list(first.lines) == list(CONCERNS)
    assert {name for name, said in first.lines.items() if not said.startswith("changed: ")} == {"checks"}
    calls, before = len(host.calls()), files(hall, host)
    second = prepare(hall, host)
    assert second.all_ok(), second.lines
    assert changes(host, calls) == []
    assert files(hall, host) == before


def test_undoing_restores_what_was_there_and_formats_nothing(hall: Hall, rack: Rack) -> None:
    host = rack()
    before, sysctl = files(hall, host), "sysctl -n vm.max_map_count net.ipv4.ip_forward"
    values = over_ssh(hall, host, sysctl).stdout
    assert prepare(hall, host).status == 0
    assert over_ssh(hall, host, sysctl).stdout != values
    undone = prepare(hall, host, action="undo")
    assert undone.status == 0, undone.lines
    assert files(hall, host) == before
    assert over_ssh(hall, host, sysctl).stdout == values
    assert over_ssh(hall, host, "swapon --noheadings --show=NAME").stdout.split() == ["/swap.img"]
    assert set(host.state()["packages"]) == {"nvidia-fabricmanager-580"}
    array = host.state()["arrays"]["/dev/md/gpucluster"]
    assert (array["holds"], array["formatted"]) == ("xfs", 1)
    # What lies on the drives is taken up again.
    assert prepare(hall, host).status == 0
    assert host.state()["arrays"]["/dev/md/gpucluster"]["formatted"] == 1


def test_a_reboot_brings_everything_back_by_itself(hall: Hall, rack: Rack) -> None:
    host = rack()
    assert prepare(hall, host).status == 0
    host.power_off()
    host.power_on()
    again = prepare(hall, host)
    assert again.status == 0
    # Persistence mode is the daemon's to set, which is rehearsed as a unit only.
    assert {name for name, said in again.lines.items() if said != "ok"} <= {"persistence"}, again.lines


@pytest.mark.parametrize(
    ("concern", "damage"),
    [
        ("sysctls", "sysctl -q -w vm.max_map_count=65530"),
        pytest.param(
            "swap", "cp /var/lib/gpucluster/originals/etc/fstab /etc/fstab; swapon -a", marks=pytest.mark.scale
        ),
        ("containerd", "echo 'version = 2' >/etc/containerd/config.toml"),
        pytest.param(
            "memlock", "rm /etc/systemd/system/containerd.service.d/10-gpucluster.conf", marks=pytest.mark.scale
        ),
        ("acs", "setpci -s 0000:15:01.0 ECAP_ACS+6.w=001d; systemctl stop gpucluster-acs"),
        pytest.param("modules", "rm /etc/modules-load.d/gpucluster.conf", marks=pytest.mark.scale),
        pytest.param("packages", "apt-mark unhold kubelet", marks=pytest.mark.scale),
        pytest.param("time", "systemctl disable --now chrony", marks=pytest.mark.scale),
        ("bmc-network", "ip rule del priority 5 from all to 10.20.4.0/22 prohibit"),
    ],
)
def test_only_what_was_changed_by_hand_is_mended(hall: Hall, rack: Rack, concern: str, damage: str) -> None:
    host = rack()
    text = bundle(CONCERNS[: CONCERNS.index("rails")])
    assert prepare(hall, host, text).status == 0
    assert over_ssh(hall, host, damage).status == 0
    mended = prepare(hall, host, text)
    assert mended.status == 0
    assert {name for name, said in mended.lines.items() if said != "ok"} == {concern}, mended.lines
    assert prepare(hall, host, text).all_ok()


def test_two_at_once_wait_for_each_other(hall: Hall, rack: Rack) -> None:
    host, found = rack(), dict[int, Any]()
    text = bundle(("checks", "packages", "modules", "sysctls", "swap"))
    threads = [
        threading.Thread(target=lambda number=number: found.update({number: prepare(hall, host, text)}))
        for number in range(2)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(each.status for each in found.values()) == [0, 0]
    assert sorted(each.all_ok() for each in found.values()) == [False, True]
    assert sum(call[0] == "apt-get" and "install" in call for call in host.calls()) == 1


def test_a_run_that_does_not_want_to_wait_says_who_is_in_the_way(hall: Hall, rack: Rack) -> None:
    host = rack()
    text = bundle(("checks",), {"LOCK_SECONDS": "0"})
    assert prepare(hall, host, text).status == 0
    busy = threading.Thread(
        target=lambda: over_ssh(hall, host, "flock /run/gpucluster/lock sh -c ': >/tmp/held; sleep 3'")
    )
    busy.start()
    over_ssh(hall, host, "while [ ! -e /tmp/held ]; do sleep 0.05; done")
    said = prepare(hall, host, text)
    busy.join()
    assert said.status == 1
    assert said.lines["checks"].startswith("failed: another run prepares this host now")


def test_what_a_later_bundle_holds_is_not_undone_by_an_older_one(hall: Hall, rack: Rack) -> None:
    """An engine that replaces a command makes the new one first and deletes the old one then."""
    host, concerns = rack(), ("modules", "sysctls")
    assert prepare(hall, host, bundle(concerns, {"GENERATION": "one"})).status == 0
    assert prepare(hall, host, bundle(concerns, {"GENERATION": "two"})).status == 0
    before = files(hall, host)
    assert prepare(hall, host, bundle(concerns, {"GENERATION": "one"}), "undo").all_ok()
    assert files(hall, host) == before
    assert not prepare(hall, host, bundle(concerns, {"GENERATION": "two"}), "undo").all_ok()


def test_a_user_gets_in_and_does_it_by_sudo(hall: Hall, rack: Rack) -> None:
    host, text = rack(user="ops"), bundle(("checks", "modules"))
    plain = over_ssh(hall, host, "bash -s", text, user="ops")
    assert (plain.status, plain.stdout) == (1, "checks: failed: this needs root, and ops is not: use sudo\n")
    done = over_ssh(hall, host, "sudo -n bash -s", text, user="ops")
    assert done.status == 0, done
    assert done.stdout.startswith("checks: ok\nmodules: changed: ")


FILES = ("nvme", "local-volumes", "shared-files")


def test_file_systems_are_mounted_now_and_after_a_boot(hall: Hall, rack: Rack) -> None:
    host = rack(packages={"nfs-common": "2.6.4"})
    assert prepare(hall, host, bundle(FILES)).status == 0
    mounted = "systemctl is-active var-lib-scratch.mount mnt-shared.mount 'mnt-local\\x2dvolumes-volume\\x2d2.mount'"
    assert over_ssh(hall, host, mounted).stdout.split() == ["active"] * 3
    host.power_off()
    host.power_on()
    assert over_ssh(hall, host, mounted).stdout.split() == ["active"] * 3
    assert prepare(hall, host, bundle(FILES)).all_ok()
    undone = prepare(hall, host, bundle(FILES), "undo")
    assert undone.status == 0, undone.lines
    assert over_ssh(hall, host, "ls /etc/systemd/system").stdout.split() == ["multi-user.target.wants"]


@pytest.mark.parametrize(
    ("kind", "words"), [("nfs", "mnt-shared.mount does not start"), ("lustre", "has no Lustre client")]
)
def test_a_shared_file_system_without_its_client(hall: Hall, rack: Rack, kind: str, words: str) -> None:
    said = prepare(hall, rack(), bundle(("shared-files",), {"SHARED_KIND": kind}))
    assert said.status == 1
    assert words in said.lines["shared-files"]


def test_systemd_accepts_every_unit_that_a_node_gets(hall: Hall, rack: Rack) -> None:
    """Those of Lustre, of the server of homes and of what invites machines are verified where they are made."""
    host = rack(packages={"nfs-common": "2.6.4", "containerd.io": "2.2.1"})
    assert prepare(hall, host, bundle((*FILES, "acs", "clocks", "bmc-network"))).status == 0
    assert len(verified(hall, host)) == 7
    spoilt = "sed -i s/^Where=/Wheer=/ /etc/systemd/system/var-lib-scratch.mount; "
    broken = over_ssh(hall, host, spoilt + "systemd-analyze verify /etc/systemd/system/var-lib-scratch.mount")
    assert "Wheer" in broken.stderr


def test_a_host_without_gpus_has_no_module_that_must_not_be_there(hall: Hall, rack: Rack) -> None:
    host, text = rack(gpu=None), bundle(("modules",), {"BLACKLIST": ""})
    assert prepare(hall, host, text).status == 0
    assert over_ssh(hall, host, "cat /etc/modprobe.d/gpucluster.conf").stdout == ""
    assert prepare(hall, host, text).all_ok()
