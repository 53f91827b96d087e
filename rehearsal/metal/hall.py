"""A hall: a network of its own with one switch, and the hosts in it.

Everything lives in namespaces that end with their processes: no name, address or route of the machine around is
touched, and nothing listens but inside. As root that is all it takes; anybody else needs user namespaces with a range
of ids (unshare(1), --map-auto; newuidmap(1)), which `missing` says in a sentence.
"""

from __future__ import annotations

import compileall
import logging
import os
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from rehearsal import places
from rehearsal.metal import files
from rehearsal.metal.control_planes import ControlPlanes
from rehearsal.metal.exports import Exports
from rehearsal.metal.file_systems import FileSystems
from rehearsal.metal.host import WAIT_SECONDS, Answer, Asked, Host, Question
from rehearsal.metal.keys import person
from rehearsal.metal.lacking import missing, unshare
from rehearsal.metal.machine import Machine
from rehearsal.metal.pools import Pools
from rehearsal.metal.record import Record
from rehearsal.processes import Process, StartError

log = logging.getLogger(__name__)

# An address that no site has (RFC 2544, for tests of networks): where the person sits who deploys.
OUTSIDE = "198.18.0.1"


class Hall:
    """The network, its hosts, and the key by which the person who deploys gets in."""

    def __init__(self, directory: Path, asked: Asked | None = None) -> None:
        self.directory = places.private_directory(directory)
        self.hosts: dict[str, Host] = {}
        self.keys = person(self.directory)
        self._asked = asked or _nobody
        self.pools, self.file_systems = Pools(self._boot), FileSystems(self._boot)
        self.exports = Exports(self._boot)
        self.control_planes = ControlPlanes(lambda: list(self.hosts.values()))
        self._keeper: Process | None = None
        self._ports = 0
        self._record: Record | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def record(self) -> Record:
        if self._record is None:
            raise StartError("the hall is not started")
        return self._record

    @property
    def file(self) -> Path:
        """The record for others; REHEARSAL_HALL names it."""
        return self.directory / "hall.json"

    def log(self, name: str) -> Path:
        return self.directory / "log" / f"{name}.log"

    def start(self) -> None:
        """Make the network. Raises StartError with what the machine lacks."""
        if (lack := missing()) is not None:
            raise StartError(lack)
        # Hosts see the tools read-only, and start them a hundred times each.
        compileall.compile_dir(files.TOOLS, quiet=2)
        self._keeper = Process("hall", [*unshare(), "sleep", "infinity"], log=self.log("hall"))
        identity = self._keeper.start()
        self._record = Record(identity, os.geteuid() != 0)
        self._await_namespace(identity.pid)
        for words in (
            ("link", "set", "lo", "up"),
            ("link", "add", "name", "hall0", "type", "bridge"),
            ("address", "add", f"{OUTSIDE}/32", "dev", "hall0"),
            ("link", "set", "hall0", "up"),
            ("route", "add", "default", "dev", "hall0"),
        ):
            self.do("ip", *words)
        self._publish()
        self._thread = threading.Thread(target=self._tend, name="hall", daemon=True)
        self._thread.start()

    def _await_namespace(self, pid: int) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        # unshare makes them, has ids mapped, and becomes the command.
        while Path(f"/proc/{pid}/comm").read_text() != "sleep\n":
            if time.monotonic() > deadline or not (self._keeper and self._keeper.running()):
                raise StartError("the hall's namespaces are not made")
            time.sleep(0.005)

    def rack(self, machines: Sequence[Machine]) -> None:
        """Rack, install and boot machines. Raises StartError."""
        for machine in machines:
            self._ports += 1
            host = Host(self, machine, f"port{self._ports}")
            host.install(f"{self.keys.public}\n")
            host.power_on()
            self.hosts[machine.name] = host
        self._publish()

    def do(self, *words: str, mounts: bool = False) -> str:
        """Run a command in the hall and return its stdout. Raises StartError."""
        done = subprocess.run([*self.record.enter(mounts=mounts), *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise StartError(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def stop(self) -> None:
        """Everything off; files of hosts are gone with the hall."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(10.0)
        for host in self.hosts.values():
            host.power_off()
        if self._keeper is not None:
            self._keeper.stop(0)
        self.file.unlink(missing_ok=True)

    def _publish(self) -> None:
        keys = {
            host.machine.host_key: host.keys.public for host in self.hosts.values() if host.machine.host_key is not None
        }
        self._record = Record(self.record.keeper, self.record.user, keys)
        self._record.write(self.file)

    def _boot(self, name: str) -> str:
        return self.hosts[name].boot if name in self.hosts else ""

    def _hear(self, machine: Machine, question: Question) -> Answer:
        """What hosts have together is the hall's to know; all else is the cluster's around it."""
        own = {"zfs": self.pools.asked, "lustre": self.file_systems.asked, "nfs": self.exports.asked}
        own["etcd"] = self.control_planes.asked
        return own.get(question["kind"], self._asked)(machine, question)

    def _tend(self) -> None:
        while not self._stopped.wait(0.02):
            for host in list(self.hosts.values()):
                try:
                    if host.on:
                        host.tend(self._hear)
                except FileNotFoundError:  # with the hall's keeper its files are gone
                    continue
                except (OSError, ValueError) as error:
                    log.warning("host %s: %s", host.machine.name, error)


def _nobody(machine: Machine, question: Question) -> Answer:
    return {"error": f"no cluster is there for {machine.name} ({question['kind']})"}
