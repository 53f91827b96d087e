"""A hall: a network of its own with one switch, and the hosts in it.

Everything lives in namespaces that end with their processes: no name, address or route of the machine around is
touched, and nothing listens but inside. As root that is all it takes; anybody else needs user namespaces with a range
of ids (unshare(1), --map-auto; newuidmap(1)), which `missing` says in a sentence.
"""

from __future__ import annotations

import ast
import compileall
import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rehearsal import places
from rehearsal.metal import files
from rehearsal.metal.exports import Exports
from rehearsal.metal.file_systems import FileSystems
from rehearsal.metal.keys import KeyPair, person
from rehearsal.metal.lacking import missing, unshare
from rehearsal.metal.machine import Machine
from rehearsal.metal.pools import Pools
from rehearsal.metal.record import Record
from rehearsal.metal.tools.machine import write
from rehearsal.processes import Process, StartError

log = logging.getLogger(__name__)

BOOT = Path(__file__).resolve().parent / "boot.sh"
# An address that no site has (RFC 2544, for tests of networks): where the person sits who deploys.
OUTSIDE = "198.18.0.1"
WAIT_SECONDS = 20.0

Question = Mapping[str, str]
Answer = dict[str, str]
Asked = Callable[[Machine, Question], Answer]
"""What the cluster around answers to a host's kubeadm."""


class Host:
    """One machine in the hall: its namespaces while it is on, its files as long as the hall is."""

    def __init__(self, hall: Hall, machine: Machine, port: str) -> None:
        self.machine, self._hall, self._port = machine, hall, port
        self.keys = KeyPair.make(hall.directory / "keys" / machine.name)
        self._process: Process | None = None
        self.place = hall.directory / "hosts" / machine.name

    @property
    def disk(self) -> Path:
        """The host's own files, seen from outside."""
        return Path(f"/proc/{self._hall.record.keeper.pid}/root{self.place}")

    @property
    def on(self) -> bool:
        return self._process is not None and self._process.running()

    def install(self, authorized: str) -> None:
        """Its disk, with an operating system and nothing else."""
        self.place.mkdir(parents=True, exist_ok=True)
        size = f"mode=755,size={self.machine.disk_mib}m"
        self._hall.do("mount", "-t", "tmpfs", "-o", size, f"host-{self.machine.name}", str(self.place), mounts=True)
        files.lay(self.disk, self.machine, authorized, self.keys.private)
        if self.machine.user != "root":
            # By whoever is root there: anybody else may give nothing away.
            home = f"{self.place}/home/{self.machine.user}"
            self._hall.do("chown", "--recursive", f"{files.USER}:{files.USER}", home, mounts=True)

    def power_on(self) -> None:
        """Boot, and wait until the SSH server listens. Raises StartError."""
        (self.disk / "kernel/sys/kernel/random/boot_id").write_text(str(time.monotonic_ns()) + "\n")
        record = self._hall.record
        net = f"/proc/{record.keeper.pid}/ns/net"
        own = ["unshare", "--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child=KILL"]
        boot: list[str | Path] = ["/bin/sh", BOOT, self.place, self.machine.name, self.machine.address, self._port, net]
        interfaces = " ".join(f"{card.name}={card.address}" for card in self.machine.cards if card.address)
        argv = [*record.enter(mounts=True), *own, "--", *boot, sys.base_prefix, files.TOOLS, interfaces]
        self._process = Process(
            f"host {self.machine.name}",
            argv,
            {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            log=self._hall.log(self.machine.name),
        )
        self._process.start()
        self._await_ssh(self._process)

    def _await_ssh(self, process: Process) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        said = self.disk / "var/log/sshd.log"
        said.unlink(missing_ok=True)
        while not (said.exists() and "Server listening on" in said.read_text()):
            if not process.running() or time.monotonic() > deadline:
                words = process.last_words() + (said.read_text() if said.exists() else "")
                process.stop(0)
                raise StartError(f"host {self.machine.name} does not boot:\n{words}")
            time.sleep(0.01)

    def power_off(self) -> None:
        """Pull the plug: every process ends at once, the disk stays."""
        if self._process is not None:
            self._process.stop(0)
            self._process = None
            # The namespace goes a moment later; its cable, now.
            with contextlib.suppress(StartError):
                self._hall.do("ip", "link", "delete", self._port)

    @property
    def boot(self) -> str:
        """Which boot it is in; empty while it is off."""
        return (self.disk / "kernel/sys/kernel/random/boot_id").read_text().strip() if self.on else ""

    def tend(self, asked: Asked) -> None:
        """Answer what the host asks, and end or begin it where it ended itself."""
        for path in (self.disk / ".machine").iterdir():
            if path.name == "off":
                path.unlink()
                self.power_off()
            elif path.name.startswith("ask-") and path.suffix == ".json":
                content = json.loads(path.read_text())
                path.unlink()
                answer = path.with_name(path.name.replace("ask-", "answer-", 1))
                # Some take minutes, and the host asks others meanwhile.
                threading.Thread(target=self._answer, args=(asked, content, answer), daemon=True).start()

    def _answer(self, asked: Asked, content: Question, answer: Path) -> None:
        try:
            found = asked(self.machine, content)
        except Exception as error:
            log.exception("host %s asks for %s", self.machine.name, content.get("kind"))
            found = {"error": str(error)}
        with contextlib.suppress(OSError):  # the host may be gone by now
            answer.with_suffix(".new").write_text(json.dumps(found))
            answer.with_suffix(".new").rename(answer)

    def change(self, **facts: Any) -> None:
        """Make the machine another one in these facts."""
        path = self.disk / ".machine/facts"
        write(str(path), {**_literal(path), **facts})

    def know(self, machine: Machine) -> None:
        """More, or something else, is known of the machine; drives appear with its next boot."""
        self.machine = machine
        self.change(**machine.facts())

    def fail(self, marks: Mapping[str, str]) -> None:
        """Let the next call of a tool whose words contain a mark end in `power`, `cut`, or with the words given."""
        write(str(self.disk / ".machine/faults"), dict(marks))

    def calls(self) -> list[list[str]]:
        """Every call of a tool that keeps a state, in order."""
        path = self.disk / ".machine/calls"
        return [ast.literal_eval(line) for line in path.read_text().splitlines()] if path.exists() else []

    def state(self) -> dict[str, Any]:
        """What its tools keep on disk."""
        return _literal(self.disk / ".machine/state")


def _literal(path: Path) -> dict[str, Any]:
    """What a host's tools keep in a file, read without running it."""
    return dict(ast.literal_eval(path.read_text())) if path.exists() else {}


class Hall:
    """The network, its hosts, and the key by which the person who deploys gets in."""

    def __init__(self, directory: Path, asked: Asked | None = None) -> None:
        self.directory = places.private_directory(directory)
        self.hosts: dict[str, Host] = {}
        self.keys = person(self.directory)
        self._asked = asked or _nobody
        self.pools, self.file_systems = Pools(self._boot), FileSystems(self._boot)
        self.exports = Exports(self._boot)
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
