"""Rehearsed machines for the tests of host preparation, and commands on them over SSH."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsal.metal.machine import Card, Drive, Gpu, Machine
from rehearsal.plugins.command.ssh import Dialled, Session

from .bundles import bundle

DECLARED = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDeclaredByTheInventory"
GPU_NODE: dict[str, Any] = {
    "serial": "SER-1",
    "host_key": DECLARED,
    "gpu": Gpu("NVIDIA H100 80GB HBM3", 8, "580.126.20", 200, 700, 1980),
    "drives": (
        Drive("sda", 480, "BOOT1", "ext4", "/"),
        Drive("nvme1n1", 3840, "NVME1"),
        Drive("nvme2n1", 3840, "NVME2"),
    ),
    "cards": (Card("0000:18:00.0", "ibp24s0"), Card("0000:40:00.0", "ibp64s0")),
    "bridges": ("0000:15:01.0", "0000:15:02.0"),
    "file_systems": ("nfs.example.com:/export", "10.22.0.11@o2ib:/shared"),
    "packages": {"nvidia-fabricmanager-580": "580.126.20-1"},
}


def gpu_node(name: str, address: str, **changes: Any) -> Machine:
    """An H100 server as it is delivered: installed, prepared by nobody."""
    return Machine(name, address, **{**GPU_NODE, **changes})


@dataclass
class Prepared:
    """What a bundle said: its lines by concern, and the exit status."""

    status: int | None
    lines: dict[str, str]

    def all_ok(self) -> bool:
        return self.status == 0 and set(self.lines.values()) == {"ok"}


def prepare(
    hall: Hall, host: Host, text: str | None = None, action: str = "apply", command: str = "", **connection: Any
) -> Prepared:
    """Run a bundle on a host as the program does: one connection, the bundle on standard input."""
    command = command or f"GPUCLUSTER_ACTION={action} bash -s"
    done = over_ssh(hall, host, command, bundle() if text is None else text, **connection)
    pairs = (line.partition(": ") for line in done.stdout.splitlines())
    return Prepared(done.status, {name: rest for name, _, rest in pairs})


def over_ssh(hall: Hall, host: Host, command: str, stdin: str = "", **connection: Any) -> Dialled:
    """One command over one connection."""
    given: Mapping[str, Any] = {
        "host": host.machine.address,
        "port": 22,
        "user": "root",
        "dialErrorLimit": 0,
        "perDialTimeout": 5,
        "hostKey": host.machine.host_key or host.keys.public,
        "privateKey": hall.keys.private.read_text(),
    }
    return Session(hall.record, {**given, **connection}, threading.Event()).run(command, stdin)


def verified(hall: Hall, host: Host) -> list[str]:
    """The units that were written on a host, of which the real `systemd-analyze verify` there has nothing to say."""
    kinds = r"find /etc/systemd/system -maxdepth 1 -type f -regex '.*\.\(service\|timer\|mount\)' | sort"
    units = over_ssh(hall, host, kinds).stdout
    said = over_ssh(hall, host, r"xargs -d '\n' systemd-analyze verify", units)
    assert (said.status, said.stdout, said.stderr) == (0, "", "")
    return [each.rpartition("/")[2] for each in units.splitlines()]
