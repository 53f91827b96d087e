"""Ctrl-C in the middle of `up`: nothing is left running, and the next `up` starts clean."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rehearsal import procfs
from rehearsal.engine.home import DROPPED_PREFIXES
from rehearsal.processes import Identity

from .rehearsed import command, until
from .trees import ROOT

pytestmark = [pytest.mark.engine, pytest.mark.scale]

NAME = "interrupted"
END_SECONDS = 90.0


class Terminal:
    """`python -m rehearsal up` in a terminal: Ctrl-C goes to all in the foreground."""

    def __init__(self, home: Path, output: Path) -> None:
        self.home = home
        self.output = output
        words = [sys.executable, "-u", "-m", "rehearsal", "up", "--site", NAME]
        env = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED_PREFIXES)}
        with output.open("w") as file:
            self.process = subprocess.Popen(
                words,
                cwd=ROOT,
                env=env | {"GPUCLUSTER_HOME": str(home)},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def says(self, text: str) -> bool:
        assert self.process.poll() is None, self.output.read_text()
        return text in self.output.read_text()

    def interrupt(self) -> int:
        """Press Ctrl-C; the exit status."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(END_SECONDS)


@contextmanager
def terminal(home: Path, output: Path) -> Iterator[Terminal]:
    opened = Terminal(home, output)
    try:
        yield opened
    finally:
        if opened.process.poll() is None:
            opened.process.terminate()
            opened.process.wait(END_SECONDS)


def about(directory: Path) -> list[str]:
    """Processes that have to do with a directory: by their command line, their working directory, their environment."""
    mark, found = str(directory).encode(), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line, where = (entry / "cmdline").read_bytes(), os.fsencode((entry / "cwd").readlink())
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if mark in line or mark in where or mark in environment:
            found.append(f"{entry.name} {line.replace(bytes(1), b' ').decode(errors='replace')}")
    return found


def test_nothing_is_left_running_and_the_next_up_starts_clean(tmp_path: Path) -> None:
    home = tmp_path / "state"
    with terminal(home, tmp_path / "first") as first:
        # EKS makes the cluster now: an operation is in flight, and the control plane's processes begin.
        until(lambda: first.says("update") and list(home.glob("*/*/*/clusters/*/*/processes.json")), "a control plane")
        started = [Identity.of(pid) for pid in procfs.tree(first.process.pid)]
        assert first.interrupt() == 130, first.output.read_text()
    assert "nothing is left running; the next `up` starts interrupted clean" in first.output.read_text()
    until(lambda: not about(home), "every process of the site to end", seconds=5)
    assert len(started) > 5
    assert [each for each in started if each and each.alive()] == []
    assert not list(home.glob("*/*/interrupted")), "the site's directory is there"

    with terminal(home, tmp_path / "second") as second:
        until(lambda: second.says("\nupdate"), "the preview of the second up")
        said = second.output.read_text()
        assert "  create " in said
        assert "same" not in said
        assert "recover" not in said
        assert second.interrupt() == 130, second.output.read_text()
    until(lambda: not about(home), "every process of the site to end", seconds=5)

    down = command(home, "down", "--site", NAME)
    assert (down.returncode, down.stdout) == (0, f"zero left: no rehearsal {NAME} runs\n")
