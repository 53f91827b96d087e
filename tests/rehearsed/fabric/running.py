"""ibsim with a fabric, opensm on it, and the tools that look at it."""

import itertools
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rehearsal.processes import Process
from tests.rehearsed.fabric.net import Net

NEEDED = {
    "ibsim": "ibsim-utils",
    "ibsim-run": "ibsim-utils",
    "opensm": "opensm",
    "ibnetdiscover": "infiniband-diags",
    "ibqueryerrors": "infiniband-diags",
    "saquery": "infiniband-diags",
}
"""Tools, and the packages of Debian and Ubuntu that bring them."""

_LIMITS = ("-N", "20000", "-S", "2000", "-P", "200000")
"""Nodes, switches and ports that ibsim makes room for: its own limits end at a hundred or so."""
_LONGEST_S = 300
"""After which a tool is killed: without answers it asks on, and ignores a signal."""
_NUMBERS = itertools.count()


class UnsweptError(Exception):
    """A fabric that did not come up, and what its programs said."""


def missing() -> str | None:
    """In one sentence what this machine lacks to rehearse fabrics; None if nothing."""
    packages = sorted({package for tool, package in NEEDED.items() if shutil.which(tool, path=_path()) is None})
    if packages:
        return f"rehearsed fabrics need {', '.join(packages)}: apt-get install {' '.join(packages)} (rehearsal/apt.txt)"
    return None


@dataclass(frozen=True)
class Swept:
    """A fabric that stands. What runs on it leaves files where it runs: in `directory`."""

    environment: dict[str, str]
    directory: Path
    through: Sequence[str] = ()

    def discovered(self) -> str:
        """What ibnetdiscover prints."""
        return self._said("ibnetdiscover")

    def errors(self) -> str:
        """What ibqueryerrors prints; its status is how many ports have errors."""
        return self._said("ibqueryerrors", "## Summary:")

    def run(self, words: Sequence[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
        """A command whose tools look at this fabric, as on a machine that has a card on it."""
        whole = [*self.through, "timeout", "-s", "KILL", str(_LONGEST_S), "ibsim-run", *words]
        return subprocess.run(
            whole, input=stdin, capture_output=True, text=True, check=False, env=self.environment, cwd=self.directory
        )

    def _said(self, tool: str, end: str = "") -> str:
        """What a tool prints when it read everything: its status is 0, or it came to the line `end`. On a busy machine
        questions are dropped, so it is asked three times, as node/doctor/fabric.sh does.
        """
        for _ in range(3):
            done = self.run([tool])
            if end in done.stdout if end else done.returncode == 0:
                return done.stdout
        raise UnsweptError(f"{tool} ended with {done.returncode}: {done.stderr.strip()[-500:]}")


@contextmanager
def swept(
    net: Net,
    directory: Path,
    *,
    manager: bool = True,
    partitions: str | None = None,
    at: str | None = None,
    through: Sequence[str] = (),
    seconds: float = 120,
) -> Iterator[Swept]:
    """The fabric, swept by opensm, if somebody manages it. Raises UnsweptError, with the last words of a program.

    `partitions` are the lines of opensm's file of that name; without any it has its own default.
    With `at` the simulator listens at an address of the network that the words `through` lead into, for machines there.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "fabric.net"
    file.write_text(net.text())
    environment = {
        **os.environ,
        "PATH": _path(),
        # A socket of its own, in the abstract name space that all processes of a network share.
        "IBSIM_SOCKNAME": f"fabric-{os.getpid()}-{next(_NUMBERS)}",
        "SIM_HOST": next(each.name for each in net.devices if not each.switch),
        "OSM_CACHE_DIR": str(directory),
        "OSM_TMP_DIR": str(directory),
        **({"IBSIM_SERVER_NAME": at} if at else {}),
    }
    running: list[Process] = []

    def start(name: str, words: list[str], sign: str, log: Path | None = None) -> None:
        process = Process(name, [*through, *words], environment, log=directory / f"{name}.out", cwd=directory)
        for each in (process.log, log):
            if each:
                each.unlink(missing_ok=True)
        process.start()
        running.append(process)
        _await(process, log or process.log, sign, seconds)

    try:
        commands = directory / "console"
        commands.write_text(f"{net.commands()}Help\n")
        # The end of its input would be the end of the simulator; what holds it open ends with the simulator.
        console = 'exec ibsim "${@:2}" < <(cat "$1"; exec tail --pid=$$ -f /dev/null)'
        words = ["bash", "-c", console, "ibsim", str(commands), "-s", *(["-r"] if at else []), *_LIMITS, str(file)]
        start("ibsim", words, "Commands:")
        _obeyed((directory / "ibsim.out").read_text(errors="replace"))
        there = Swept(environment, directory, through)
        if manager:
            log, told = directory / "opensm.log", directory / "partitions.conf"
            if partitions:
                told.write_text(f"{partitions}\n")
            # Swept once (-s 0), and each line of the log is written at once (-d 2).
            words = ["ibsim-run", "opensm", "-s", "0", "-d", "2", "-f", str(log), "-P", str(told)]
            start("opensm", words, "SUBNET UP", log)
            _answering(there, seconds)
        yield there
    finally:
        for process in reversed(running):
            # opensm waits for answers that a simulator which has ended does not give.
            process.stop(grace=1.0)


def _answering(there: Swept, seconds: float) -> None:
    """Questions are dropped until the subnet administrator is ready, a little after the subnet is up."""
    until = time.monotonic() + seconds
    while (asked := there.run(["saquery", "-c"])).returncode:
        if time.monotonic() > until:
            raise UnsweptError(f"opensm answers nothing: {asked.stderr.strip()[-300:]}")


def _obeyed(said: str) -> None:
    """Whether the console took each command: what it says of one that it did not take begins with #."""
    _, _, console = said.partition("Network simulator ready")
    refused = re.findall(r"(?:^|> )(# .+)", console, re.MULTILINE)
    if refused:
        raise UnsweptError(f"ibsim's console: {refused[0]}")


def _await(process: Process, log: Path, sign: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    while sign not in (said := log.read_text(errors="replace") if log.exists() else ""):
        if not process.running() or time.monotonic() > until:
            raise UnsweptError(f"{process.name} has not said '{sign}': {said.strip()[-300:]} {process.last_words(3)}")
        time.sleep(0.05)


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
