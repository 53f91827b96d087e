"""The script that has nginx read its files again: with a server that tells which signals it gets."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "node" / "door" / "serve.sh"
SERVER = """
import signal, sys, time
told = open(sys.argv[1], "a", buffering=1)
def heard(number, _):
    print(signal.Signals(number).name, file=told)
    if number == signal.SIGQUIT:
        time.sleep(0.2)
        sys.exit(7)
for each in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(each, heard)
print("started", file=told)
while True:
    time.sleep(0.05)
"""


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@pytest.fixture
def _quit_is_heard() -> Iterator[None]:
    """What a process ignores its children ignore, and a shell starts its background jobs with SIGQUIT ignored."""
    before = signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGQUIT, before)


@pytest.mark.usefixtures("_quit_is_heard")
def test_a_changed_file_is_read_again_and_a_stop_goes_on_to_the_server(tmp_path: Path) -> None:
    """As a kubelet brings a Secret's content: a link is put in another's place; and as it stops the container."""
    keys, told = tmp_path / "keys.conf", tmp_path / "told"
    told.touch()
    (tmp_path / "first").write_text("one")
    (tmp_path / "second").write_text("two")
    keys.symlink_to("first")
    command = ["sh", str(SCRIPT), str(keys), sys.executable, "-c", SERVER, str(told)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: "started" in told.read_text(), "the server starts")
            time.sleep(3)
            assert "SIGHUP" not in told.read_text()
            (tmp_path / "next").symlink_to("second")
            (tmp_path / "next").replace(keys)
            until(lambda: "SIGHUP" in told.read_text(), "the server is told")
            process.send_signal(signal.SIGQUIT)
            assert process.wait(60) == 7
        finally:
            process.kill()
        assert process.stderr is not None
        assert f"{keys} has changed" in process.stderr.read()
    assert told.read_text().split() == ["started", "SIGHUP", "SIGQUIT"]


def test_a_server_that_ends_ends_the_container_with_its_code(tmp_path: Path) -> None:
    keys = tmp_path / "keys.conf"
    keys.write_text("one")
    assert subprocess.run(["sh", str(SCRIPT), str(keys), "sh", "-c", "exit 3"], timeout=60).returncode == 3
