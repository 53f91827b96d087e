"""What goes wrong on the way to a host and on it, and that the next run brings it to the same end."""

import threading
import time

import pytest

from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsal.metal.keys import KeyPair
from rehearsal.plugins.servicer import OwnWordsError

from .bundles import bundle
from .conftest import Rack
from .racks import over_ssh, prepare

pytestmark = pytest.mark.engine

SCRATCH = ("checks", "modules", "sysctls", "swap", "nvme")


def test_another_host_key_lets_nobody_in(hall: Hall, rack: Rack) -> None:
    host = rack()
    with pytest.raises(
        OwnWordsError, match=r"^after 1 failed attempts: ssh: handshake failed: ssh: host key mismatch$"
    ):
        over_ssh(
            hall,
            host,
            "true",
            hostKey="ssh-ed25519 " + KeyPair.make(hall.directory / "other").public.split()[1],
            dialErrorLimit=1,
        )
    assert host.calls() == []


def test_another_private_key_is_not_let_in(hall: Hall, rack: Rack) -> None:
    stranger = KeyPair.make(hall.directory / "stranger")
    with pytest.raises(OwnWordsError, match="unable to authenticate, attempted methods"):
        over_ssh(hall, rack(), "true", privateKey=stranger.private.read_text())


def test_a_host_that_is_down_is_dialled_until_it_is_up(hall: Hall, rack: Rack) -> None:
    host = rack()
    host.power_off()
    words = r"^after 0 failed attempts: dial tcp .*: (connect: (no route to host|connection refused)|i/o timeout)$"
    with pytest.raises(OwnWordsError, match=words):
        over_ssh(hall, host, "true", perDialTimeout=1)
    later = threading.Timer(1.0, host.power_on)
    later.start()
    assert over_ssh(hall, host, "hostname", dialErrorLimit=20).stdout.strip() == host.machine.name
    later.join()


@pytest.mark.parametrize(
    "at", ["mdadm --create", "mkfs.xfs", "systemctl enable --now var-lib-scratch", "modprobe br_netfilter"]
)
@pytest.mark.parametrize("how", ["power", "cut"])
def test_a_half_applied_host_converges(hall: Hall, rack: Rack, at: str, how: str) -> None:
    """The plug is pulled, or the connection goes, in the middle of a concern; the next run ends what was begun."""
    host = rack()
    host.fail({at: how})
    cut = prepare(hall, host, bundle(SCRATCH))
    assert cut.status is None, cut.lines
    if how == "power":
        _until_off(host)
        host.power_on()
    again = prepare(hall, host, bundle(SCRATCH))
    assert again.status == 0, again.lines
    assert prepare(hall, host, bundle(SCRATCH)).all_ok()
    assert host.state()["arrays"]["/dev/md/gpucluster"]["formatted"] == 1


def _until_off(host: Host) -> None:
    deadline = time.monotonic() + 10
    while host.on and time.monotonic() < deadline:
        time.sleep(0.02)


def test_a_restart_that_was_missed_is_made_up_for(hall: Hall, rack: Rack) -> None:
    """The file is written and the connection goes before the daemon has read it: the right file is not the end."""
    host = rack(packages={"containerd.io": "2.2.1-1"})
    concerns = ("containerd", "memlock")
    host.fail({"systemctl restart containerd": "cut"})
    assert prepare(hall, host, bundle(concerns)).status is None
    again = prepare(hall, host, bundle(concerns))
    assert again.status == 0, again.lines
    assert over_ssh(hall, host, "systemctl show containerd -p LimitMEMLOCK --value").stdout.strip() == "infinity"


def test_a_full_disk_leaves_whole_files(hall: Hall, rack: Rack) -> None:
    host, concerns = rack(), ("sysctls", "modules")
    before = over_ssh(hall, host, "cat /etc/fstab").stdout
    over_ssh(hall, host, "head -c 200M /dev/zero >/var/filler")
    said = prepare(hall, host, bundle(("modules", "swap")))
    assert said.status == 1
    assert "is the disk full?" in "".join(said.lines.values())
    assert over_ssh(hall, host, "cat /etc/fstab").stdout == before
    assert over_ssh(hall, host, "find /etc -name '*gpucluster-new'").stdout == ""
    over_ssh(hall, host, "rm /var/filler")
    assert prepare(hall, host, bundle(("modules", *concerns))).status == 0


def test_a_clock_that_is_off_keeps_the_host_out_until_its_servers_answer(hall: Hall, rack: Rack) -> None:
    host, concerns = rack(clock_off=400.0, packages={"chrony": "4.5"}), ("time",)
    assert prepare(hall, host, bundle(concerns)).status == 1
    host.change(clock_off=0.0)
    assert prepare(hall, host, bundle(concerns)).all_ok()


def test_another_machine_under_the_same_name_is_left_alone(hall: Hall, rack: Rack) -> None:
    """A server that was exchanged has another serial, even if it was given the address, the name and the host key."""
    host = rack(serial="SER-77")
    said = prepare(hall, host)
    assert said.status == 1
    assert "this machine has serial SER-77 and the stack file says SER-1" in said.lines["checks"]
    assert "arrays" not in host.state()


def test_an_array_of_other_drives_is_not_taken(hall: Hall, rack: Rack) -> None:
    host = rack()
    text = bundle(("nvme",), {"NVME": "/dev/nvme1n1"})
    assert prepare(hall, host, text).status == 0
    said = prepare(hall, host, bundle(("nvme",)))
    assert said.status == 1
    assert "/dev/md/gpucluster has 1 drives and the plan 2" in said.lines["nvme"]


def test_hosts_do_not_reach_the_machine_around(hall: Hall, rack: Rack) -> None:
    """Neither its files, nor its kernel, nor its network."""
    host = rack()
    tried = "ls /work /root/.cache 2>&1; mount -t tmpfs x /mnt 2>&1; date -s 2030-01-01 2>&1; mknod /tmp/x b 8 0 2>&1"
    said = over_ssh(hall, host, tried).stdout
    assert said.count("No such file") == 2
    assert "permission denied" in said
    assert said.count("not permitted") == 2
    assert over_ssh(hall, host, "ip -o route show default").stdout.split()[:3] == ["default", "dev", "eth0"]


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_bundle_that_does_not_arrive_whole_changes_nothing(hall: Hall, rack: Rack, share: float) -> None:
    """Nothing runs before the last line has come."""
    host, text = rack(), bundle(("modules", "swap"))
    said = over_ssh(hall, host, "bash -s 2>/dev/null", text[: int(len(text) * share)])
    assert said.stdout == ""
    assert host.calls() == []
