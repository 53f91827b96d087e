"""A wait ends at once when a part of the rehearsal died, and when the disk is full."""

import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal import sites
from rehearsal.command import alarm
from rehearsal.command.alarm import AlarmError, Watch
from rehearsal.engine import run
from rehearsal.engine.events import Record
from rehearsal.processes import Process
from rehearsal.sites import State, Status

RUNNING, DEAD = Status(State.RUNNING, "running"), Status(State.DEAD, "the AWS stand-in ended with status -9")
LASTS = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
"""An engine whose operations in flight do not end."""


def nothing(*_: Any) -> None:
    pass


def look(status: Status) -> Callable[[Path], Status]:
    return lambda _: status


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**20))


def test_a_part_that_died_is_named_and_one_that_runs_is_not(tmp_path: Path) -> None:
    Watch(tmp_path, nothing, look(RUNNING))(None, Record())
    with pytest.raises(AlarmError, match=r"the AWS stand-in ended with status -9.*next `up` starts clean") as error:
        Watch(tmp_path, nothing, look(DEAD))(None, Record())
    assert error.value.at_once


def test_a_site_is_looked_at_once_a_second(tmp_path: Path) -> None:
    looks: list[Path] = []

    def looked(path: Path) -> Status:
        looks.append(path)
        return RUNNING

    watch = Watch(tmp_path, nothing, looked)
    for _ in range(100):
        watch(None, Record())
    assert looks == [tmp_path]


@pytest.mark.usefixtures("full")
def test_a_full_disk_is_named_once_and_room_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarm, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(alarm, "RESERVE_MIB", 2)
    alarm.keep_reserve(tmp_path)
    assert (tmp_path / alarm.RESERVE).stat().st_blocks * 512 == 2 * 2**20, "a file with a hole gives nothing back"
    watch = Watch(tmp_path, nothing, look(RUNNING))
    with pytest.raises(AlarmError, match=f"the disk of {tmp_path} is full .*is kept.*GPUCLUSTER_HOME") as error:
        watch.look()
    assert not error.value.at_once
    assert not (tmp_path / alarm.RESERVE).exists()
    watch.look()


def follow(tmp_path: Path, watch: Watch, patience: float, monkeypatch: pytest.MonkeyPatch) -> tuple[Process, float]:
    monkeypatch.setattr(run, "PATIENCE_SECONDS", patience)
    process = Process("engine", [sys.executable, "-c", LASTS], log=tmp_path / "log")
    began = time.monotonic()
    with pytest.raises(AlarmError):
        run._follow(process, tmp_path / "events", watch)
    assert not process.running()
    return process, time.monotonic() - began


def test_the_engine_ends_at_once_with_an_account_that_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would wait minutes for an answer."""
    _, seconds = follow(tmp_path, Watch(tmp_path, nothing, look(DEAD)), 60.0, monkeypatch)
    assert seconds < 15


@pytest.mark.usefixtures("full")
def test_of_a_full_disk_the_engine_is_told_twice_as_by_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []

    def send(identity: Any, number: int) -> None:
        sent.append(number)
        if len(sent) == 2:
            identity.stop(0.0)

    monkeypatch.setattr(run, "_send", send)
    _, seconds = follow(tmp_path, Watch(tmp_path, nothing, look(RUNNING)), 0.5, monkeypatch)
    assert sent == [signal.SIGINT, signal.SIGINT]
    assert 0.5 <= seconds < 15


def test_a_running_site_is_what_the_supervisor_says(tmp_path: Path) -> None:
    with pytest.raises(AlarmError, match="no rehearsal runs here"):
        Watch(tmp_path, nothing).look()
    assert sites.status(tmp_path).state is State.ABSENT
