"""Servers of Lustre: targets made once of the drives that are named for them, mounted in their order, never renumbered;
and clients, which mount what these servers serve."""

import itertools
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsal.metal.machine import Card, Drive

from .bundles import bundle
from .conftest import Rack
from .racks import Prepared, over_ssh, prepare, verified

pytestmark = pytest.mark.engine

PACKAGES = {
    "zfs-dkms": "2.2.2",
    "zfsutils-linux": "2.2.2",
    "lustre-server-modules-dkms": "2.16.1-1",
    "lustre-server-utils": "2.16.1-1",
}
CONCERNS = ("lnet", "lustre-server")
BOOT = Drive("sda", 480, "BOOT1", "ext4", "/")
_addresses = itertools.count(10)


def drives(count: int, enclosure: str = "", first: int = 1) -> tuple[Drive, ...]:
    numbers = range(first, first + count)
    return tuple(Drive(f"nvme{n}n1", 15360, f"BAY{n}", path=f"pci-{n}", enclosure=enclosure) for n in numbers)


def named(count: int, first: int = 1) -> str:
    return " ".join(f"/dev/disk/by-path/pci-{n}" for n in range(first, first + count))


@dataclass
class Server:
    """A machine with its address in the storage network, and the variables of its bundle."""

    hall: Hall
    host: Host
    address: str
    told: dict[str, str] = field(default_factory=dict)

    @property
    def nids(self) -> str:
        return f"{self.address}@o2ib,{self.host.machine.address}@tcp"

    def run(self, action: str = "apply", concerns: tuple[str, ...] = CONCERNS, **variables: str) -> Prepared:
        own = {"LNET": f"o2ib={self.address} tcp={self.host.machine.address}", "LUSTRE_SERVICE": self.nids}
        return prepare(self.hall, self.host, bundle(concerns, {**own, **self.told, **variables}), action=action)

    def said(self, **variables: str) -> str:
        return self.run("apply", CONCERNS, **variables).lines.get("lustre-server", "")

    def done(self, tool: str) -> list[str]:
        return [" ".join(call) for call in self.host.calls() if call[0] == tool]

    def active(self, *units: str) -> list[str]:
        return over_ssh(self.hall, self.host, f"systemctl is-active {' '.join(units)}").stdout.split()


Serve = Any


@pytest.fixture
def server(hall: Hall, rack: Rack) -> Serve:
    def one(**facts: Any) -> Server:
        address = f"10.22.0.{next(_addresses)}"
        card = Card("0000:a1:00.0", "ib0", infiniband=True, address=address)
        host = rack(
            **{"gpu": None, "host_key": None, "cards": (card,), "packages": PACKAGES, "file_systems": (), **facts}
        )
        return Server(hall, host, address)

    return one


@pytest.fixture
def mds(server: Serve) -> Server:
    """The first metadata server, with the MGS."""
    made: Server = server(drives=(BOOT, *drives(4)))
    halves = f"mirror {named(2)} mirror {named(2, 3)}"
    made.told = {"LUSTRE_TARGETS": f"mdt 0 {halves}\n", "LUSTRE_MGS": made.nids}
    return made


def oss(server: Serve, mds: Server, index: int = 0, groups: int = 2, **facts: Any) -> Server:
    made: Server = server(**{"drives": (BOOT, *drives(4 * groups)), **facts})
    lines = (f"ost {index + n} raidz2 {named(4, 4 * n + 1)}\n" for n in range(groups))
    made.told = {"LUSTRE_TARGETS": "".join(lines), "LUSTRE_MGS": mds.nids}
    return made


def client(server: Serve, source: str, **facts: Any) -> tuple[Server, str]:
    """A node that mounts it, and what its preparation says of that."""
    made: Server = server(packages={"lustre-client-modules": "2.16.1-1"}, drives=(BOOT,), **facts)
    shared = {"SHARED_KIND": "lustre", "SHARED_SOURCE": source}
    done = made.run(concerns=("lnet", "shared-files"), LNET=f"o2ib={made.address}", **shared)
    return made, done.lines.get("shared-files", str(done.lines))


def test_from_drives_to_a_mounted_file_system_and_a_second_run_changes_nothing(server: Serve, mds: Server) -> None:
    stores = oss(server, mds)
    assert client(server, f"{mds.nids}:/shared")[1].startswith("failed: mnt-shared.mount does not start")
    first = mds.said()
    assert "mdt0000-shared made, mdt0000-shared/mgt formatted, mdt0000-shared/mdt0000 formatted" in first
    assert stores.said().startswith("changed: ")
    units = ["gpucluster-zpool-mdt0000-shared.service", "srv-lustre-mdt0000.mount", "srv-lustre-mgt.mount"]
    assert verified(mds.hall, mds.host) == units
    assert len(verified(stores.hall, stores.host)) == 4
    made = [line.split() for line in mds.done("mkfs.lustre") + stores.done("mkfs.lustre")]
    assert [next(word for word in words if word in ("--mgs", "--mdt", "--ost")) for words in made] == [
        "--mgs",
        "--mdt",
        "--ost",
        "--ost",
    ]
    assert [word for words in made for word in words if word.startswith("--index")] == [
        "--index=0",
        "--index=0",
        "--index=1",
    ]
    assert all(f"--mgsnode={mds.nids}" in words for words in made[1:])
    for each in (mds, stores):
        calls = len(each.host.calls())
        assert each.run().all_ok()
        assert not [
            call for call in each.host.calls()[calls:] if call[0] in ("mkfs.lustre", "wipefs") or "create" in call
        ]
    user, said = client(server, f"{mds.nids}:/shared")
    assert said.startswith("changed: ")
    assert user.active("mnt-shared.mount") == ["active"]


@pytest.mark.parametrize("source", ["10.22.0.250@o2ib:/shared", "{mds}:/another"])
def test_what_nobody_serves_cannot_be_mounted(server: Serve, mds: Server, source: str) -> None:
    assert mds.run().status == 0
    assert oss(server, mds).run().status == 0
    assert "mnt-shared.mount does not start" in client(server, source.replace("{mds}", mds.nids))[1]


def test_a_client_without_the_servers_network_reaches_nothing(server: Serve, mds: Server) -> None:
    assert mds.run().status == 0
    assert oss(server, mds).run().status == 0
    only = f"{mds.address}@o2ib:/shared"
    other: Server = server(packages={"lustre-client-modules": "2.16.1-1"}, drives=(BOOT,))
    words = {"SHARED_KIND": "lustre", "LNET": f"tcp={other.host.machine.address}"}
    failed = other.run(concerns=("lnet", "shared-files"), SHARED_SOURCE=only, **words)
    assert "does not start" in failed.lines["shared-files"]
    assert other.run(concerns=("lnet", "shared-files"), SHARED_SOURCE=f"{mds.nids}:/shared", **words).status == 0


def test_a_boot_brings_targets_back_in_their_order_and_needs_nothing_of_the_program(server: Serve, mds: Server) -> None:
    stores = oss(server, mds)
    assert mds.run().status == 0
    assert stores.run().status == 0
    for each in (mds, stores):
        each.host.power_off()
    for each in (mds, stores):
        each.host.power_on()
    assert mds.active("srv-lustre-mgt.mount", "srv-lustre-mdt0000.mount") == ["active"] * 2
    assert stores.active("srv-lustre-ost0000.mount", "srv-lustre-ost0001.mount") == ["active"] * 2
    assert mds.run().all_ok()
    assert stores.run().all_ok()
    assert len(mds.done("mkfs.lustre")) == 2


def test_undoing_unmounts_and_what_lies_on_the_drives_is_taken_up_again(server: Serve, mds: Server) -> None:
    stores = oss(server, mds)
    assert mds.run().status == 0
    assert stores.run().status == 0
    for each in (stores, mds):
        assert each.run("undo").status == 0
        left = over_ssh(
            each.hall, each.host, "ls /etc/systemd/system /etc/modprobe.d; zpool list -H -o name mdt0000-shared"
        )
        assert "srv-lustre" not in left.stdout
        assert "gpucluster" not in left.stdout
        assert left.status == 1, "the pool is let go"
    assert mds.said(ALLOW_FORMAT="").startswith("changed: ")
    assert stores.said(ALLOW_FORMAT="").startswith("changed: ")
    assert (len(mds.done("mkfs.lustre")), len(stores.done("mkfs.lustre"))) == (2, 2)
    assert "destroy" not in " ".join(mds.done("zpool") + stores.done("zpool"))


@pytest.mark.parametrize(
    ("facts", "variables", "sentence"),
    [
        ({}, {"ALLOW_FORMAT": ""}, "/dev/disk/by-path/pci-1 would be formatted for ost0000-shared: allow it with"),
        ({}, {"ALLOW_FORMAT": "SER-2"}, "and this host's serial, SER-1"),
        (
            {"drives": (BOOT, *drives(3), Drive("nvme4n1", 15360, "BAY4", "xfs", path="pci-4"))},
            {"ALLOW_FORMAT": ""},
            "pci-1 would be formatted",
        ),
        (
            {"drives": (BOOT, *drives(3), Drive("nvme4n1", 15360, "BAY4", "ext4", "/data", "pci-4"))},
            {},
            "pci-4 is in use, mounted at /data: it is no drive for Lustre",
        ),
        ({"drives": (BOOT, *drives(3))}, {}, "there is no drive /dev/disk/by-path/pci-4"),
        ({"packages": {}}, {}, "there is no Lustre for the kernel 6.8.0-100-generic"),
        (
            {"packages": PACKAGES | {"lustre-server-modules-dkms": "2.15.5-1"}},
            {},
            "Lustre for the kernel 6.8.0-100-generic is 2.15.5, and the plan's is 2.16.1",
        ),
    ],
)
def test_what_ends_it_makes_nothing(
    server: Serve, mds: Server, facts: dict[str, Any], variables: dict[str, str], sentence: str
) -> None:
    """Every target is looked at before the first is made."""
    stores = oss(server, mds, groups=1, **facts)
    done = stores.run(concerns=("lustre-server",), **variables)
    assert done.status == 1
    assert sentence in done.lines["lustre-server"]
    assert not [call for call in stores.host.calls() if call[0] in ("mkfs.lustre", "wipefs") and "--all" in call]
    assert not [call for call in stores.done("zpool") if "create" in call]


def test_a_target_keeps_its_number_and_its_drives(server: Serve, mds: Server) -> None:
    """Another number for drives that hold a target would be another target to everybody who has files on it."""
    assert mds.run().status == 0
    stores = oss(server, mds, index=2, groups=1)
    assert stores.run().status == 0
    moved = stores.said(LUSTRE_TARGETS=f"ost 0 raidz2 {named(4)}\n")
    assert "pci-1 is of the pool ost0002-shared, and the plan has ost0000-shared there" in moved
    assert len(stores.done("mkfs.lustre")) == 1


def test_a_number_that_is_taken_is_refused_by_the_mgs(server: Serve, mds: Server) -> None:
    assert mds.run().status == 0
    assert oss(server, mds, groups=1).run().status == 0
    second = oss(server, mds, groups=1)
    assert "srv-lustre-ost0000.mount does not start" in second.said()
    log = over_ssh(second.hall, second.host, "cat /var/log/gpucluster.log").stdout
    assert "The target service's index is already in use" in log


def test_an_mgs_elsewhere_is_no_matter_of_a_text(server: Serve, mds: Server) -> None:
    assert mds.run().status == 0
    stores = oss(server, mds, groups=1)
    assert stores.run().status == 0
    assert "looks for its MGS at" in stores.said(LUSTRE_MGS="10.22.0.99@o2ib")


@pytest.mark.parametrize("at", ["mkfs.lustre", "zpool export", "systemctl enable --now srv-lustre-mdt0000.mount"])
def test_a_run_that_loses_its_power_is_made_good(server: Serve, mds: Server, at: str) -> None:
    mds.host.fail({at: "power"})
    assert mds.run().status is None
    deadline = time.monotonic() + 10
    while mds.host.on and time.monotonic() < deadline:
        time.sleep(0.02)
    mds.host.power_on()
    assert mds.said().startswith("changed: ")
    assert mds.active("srv-lustre-mdt0000.mount") == ["active"]
    assert len([call for call in mds.done("zpool") if "create" in call]) == 1
    assert mds.run().all_ok()


def test_the_partner_takes_over_only_what_nobody_runs_and_gives_it_back(server: Serve, mds: Server) -> None:
    """Both machines reach the drives of one enclosure; the pool's heartbeat says whether the other one is alive."""
    assert mds.run().status == 0
    first, second = (server(drives=(BOOT, *drives(8, enclosure="jbod-1"))) for _ in range(2))
    both = {"LUSTRE_SERVICE": f"{first.nids} {second.nids}", "LUSTRE_MGS": mds.nids}
    lines = [f"ost {n} raidz2 {named(4, 4 * n + 1)}\n" for n in range(2)]
    first.told = {**both, "LUSTRE_TARGETS": lines[0], "LUSTRE_STANDBY": lines[1]}
    second.told = {**both, "LUSTRE_TARGETS": lines[1], "LUSTRE_STANDBY": lines[0]}
    for each in (first, second):
        assert each.run().status == 0
        assert each.run().all_ok()
    servicenodes = [f"--servicenode={each.nids}" for each in (first, second)]
    assert [word for word in first.done("mkfs.lustre")[0].split() if "servicenode" in word] == servicenodes

    def start(on: Server) -> int | None:
        return over_ssh(on.hall, on.host, "systemctl start srv-lustre-ost0000.mount").status

    assert start(second) != 0, "the first machine is alive"
    first.host.power_off()
    assert start(second) == 0
    first.host.power_on()
    assert first.active("srv-lustre-ost0000.mount") == ["inactive"]
    assert first.said() == "ok", "what the partner runs is left to it"
    assert second.run().all_ok()
    assert over_ssh(second.hall, second.host, "systemctl stop gpucluster-zpool-ost0000-shared.service").status == 0
    assert start(first) == 0
    assert len(first.done("mkfs.lustre") + second.done("mkfs.lustre")) == 2


def test_targets_that_come_before_their_mgs_wait_for_the_next_run(server: Serve, mds: Server) -> None:
    stores = oss(server, mds, groups=1)
    assert "srv-lustre-ost0000.mount does not start" in stores.said()
    assert mds.run().status == 0
    assert stores.said().startswith("changed: ")
    assert len(stores.done("mkfs.lustre")) == 1


def test_a_kernel_that_is_new_has_no_modules_yet(server: Serve, mds: Server) -> None:
    assert mds.run(concerns=("packages",), PACKAGES="lustre-server-modules-dkms=2.16.1-2").status == 0
    mds.host.change(kernel="6.8.0-110-generic")
    assert (
        "there is no Lustre for the kernel 6.8.0-110-generic"
        in mds.run(concerns=("lustre-server",)).lines["lustre-server"]
    )


@pytest.mark.parametrize(
    ("lnet", "sentence"),
    [
        ("o2ib=10.22.9.9", "no interface has 10.22.9.9, which LNet is to use for o2ib"),
        ("o2ib={own}", "LNet does not come up on o2ib(eth0)"),
    ],
)
def test_a_network_that_is_not_there(server: Serve, mds: Server, lnet: str, sentence: str) -> None:
    said = mds.run(LNET=lnet.replace("{own}", mds.host.machine.address)).lines["lnet"]
    assert sentence in said


def test_lnet_that_runs_with_other_networks_is_left_and_told(server: Serve, mds: Server) -> None:
    assert mds.run(concerns=("lnet",)).status == 0
    said = mds.run(concerns=("lnet",), LNET=f"o2ib={mds.address}").lines["lnet"]
    assert "so reboot this host" in said
    mds.host.power_off()
    mds.host.power_on()
    assert mds.run(concerns=("lnet",), LNET=f"o2ib={mds.address}").status == 0
