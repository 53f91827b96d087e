"""What ends on its own is started again, sooner or later; what was stopped stays stopped."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rehearsal import places
from rehearsal.cluster.kept import KeptProcesses
from rehearsal.processes import Identity, Process, StartError
from rehearsal.tests.cluster.conftest import eventually

SLEEP = "import time; time.sleep(600)"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept(tmp_path: Path, clock: Clock) -> Iterator[KeptProcesses]:
    made = KeptProcesses("cluster c", tmp_path / "processes.json", clock)
    yield made
    made.stop(["p"])


@pytest.fixture
def start(kept: KeptProcesses, tmp_path: Path) -> Callable[[str], Process]:
    def make(program: str) -> Process:
        process = Process("p", [sys.executable, "-c", program], log=tmp_path / "p.log")
        kept.start(process, grace=0.2)
        return process

    return make


def test_the_pause_doubles_up_to_half_a_minute_and_a_steady_run_resets_it(
    kept: KeptProcesses, clock: Clock, start: Callable[[str], Process]
) -> None:
    process = start("")
    pauses = []
    for _ in range(8):
        process.wait(10)
        ended, began = clock.now, process.identity
        kept.tend()
        while process.identity == began:
            clock.now += 0.5
            kept.tend()
        pauses.append(clock.now - ended)
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]

    process.wait(10)
    clock.now += 61
    ended, began = clock.now, process.identity
    kept.tend()
    clock.now += 0.5
    kept.tend()
    assert process.identity != began, "after a minute of work the first pause is short again"


def test_a_killed_process_comes_back_and_the_record_names_the_new_one(
    kept: KeptProcesses, clock: Clock, start: Callable[[str], Process], tmp_path: Path
) -> None:
    process = start(SLEEP)
    before = kept.pid("p")
    assert before is not None
    os.kill(before, signal.SIGKILL)
    eventually(lambda: not process.running())
    assert kept.pid("p") is None
    kept.tend()
    clock.now += 1
    kept.tend()
    after = Identity.from_record((places.read_json(tmp_path / "processes.json") or {})["p"])
    assert after is not None
    assert after.alive()
    assert after.pid == kept.pid("p") != before


def test_a_stopped_process_stays_stopped_until_it_is_restarted(
    kept: KeptProcesses, clock: Clock, start: Callable[[str], Process]
) -> None:
    start(SLEEP)
    kept.halt("p")
    for _ in range(3):
        clock.now += 60
        kept.tend()
    assert kept.pid("p") is None
    kept.restart("p")
    assert kept.pid("p") is not None


def test_an_end_during_the_start_is_an_error_with_the_last_lines(
    kept: KeptProcesses, start: Callable[[str], Process]
) -> None:
    start("print('cannot bind'); raise SystemExit(3)").wait(10)
    with pytest.raises(StartError, match=r"p of cluster c ended with status 3:\ncannot bind"):
        kept.check()
