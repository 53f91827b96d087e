"""A host of a hall: its disk, its power, and what it asks and keeps."""

from __future__ import annotations

import ast
import contextlib
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rehearsal.metal import files
from rehearsal.metal.keys import KeyPair
from rehearsal.metal.machine import Machine
from rehearsal.metal.tools.machine import write
from rehearsal.processes import Process, StartError

if TYPE_CHECKING:
    from rehearsal.metal.hall import Hall

log = logging.getLogger(__name__)

BOOT = Path(__file__).resolve().parent / "boot.sh"
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
