"""Processes are started, recognised and stopped by pid and start time; none outlives its parent."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rehearsal import processes, procfs
from rehearsal.processes import Identity, Process, StartError

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.02)
    return True


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log" / "p.log"


@pytest.fixture
def sleeper(log: Path) -> Iterator[Process]:
    process = Process("sleeper", SLEEP, log=log)
    process.start()
    assert eventually(lambda: "up" in process.last_words())
    yield process
    process.stop(0.5)


def test_a_running_process_is_recognised_by_pid_and_start_time(sleeper: Process) -> None:
    assert sleeper.identity is not None
    assert sleeper.identity.alive()
    assert Identity.from_record(sleeper.identity.record()) == sleeper.identity


@pytest.mark.parametrize(("earlier", "boot"), [(1, None), (0, "00000000-0000-0000-0000-000000000000")])
def test_the_same_pid_of_another_time_or_boot_is_another_process_and_not_signalled(
    sleeper: Process, earlier: int, boot: str | None
) -> None:
    assert sleeper.identity is not None
    ticks, _, own = sleeper.identity.started.partition("@")
    before = Identity(sleeper.identity.pid, f"{int(ticks) - earlier}@{boot or own}")
    assert not before.alive()
    assert before.of_this_boot() is (boot is None)
    assert before.stop() is False
    assert sleeper.running()


def test_a_process_that_ended_but_was_not_waited_for_is_not_alive(log: Path) -> None:
    process = Process("short", [sys.executable, "-c", ""], log=log)
    identity = process.start()
    assert eventually(lambda: not identity.alive())
    assert process.wait(5) == 0


@pytest.mark.parametrize("record", [None, {}, {"pid": "12"}, [], "x"])
def test_a_record_of_something_else_is_no_identity(record: object) -> None:
    assert Identity.from_record(record) is None


def test_stop_asks_first(log: Path) -> None:
    program = (
        "import signal,sys,time; signal.signal(15, lambda *_: (print('bye'), sys.exit(7)));"
        "print('up', flush=True); time.sleep(600)"
    )
    process = Process("polite", [sys.executable, "-c", program], log=log)
    process.start()
    assert eventually(lambda: "up" in process.last_words())
    process.stop(10)
    assert process.exit_status() == 7
    assert process.last_words() == "up\nbye"


def parent(name: str, program: str, log: Path) -> tuple[Process, Identity]:
    """A process that has started another one and printed its number, and that other one."""
    process = Process(name, [sys.executable, "-c", program], log=log)
    process.start()
    assert eventually(lambda: process.last_words().isdigit())
    grandchild = Identity.of(int(process.last_words()))
    assert grandchild is not None
    return process, grandchild


def test_stop_kills_what_does_not_listen_and_what_it_started(log: Path) -> None:
    program = (
        "import signal,subprocess,sys,time; signal.signal(15, signal.SIG_IGN);"
        "c = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        "print(c.pid, flush=True); time.sleep(600)"
    )
    process, grandchild = parent("deaf", program, log)
    process.stop(0.2)
    assert process.exit_status() == -signal.SIGKILL
    assert eventually(lambda: not grandchild.alive())


def test_a_process_that_was_asked_has_its_own_time_and_takes_along_what_it_started(log: Path) -> None:
    program = (
        "import signal,subprocess,sys,time;"
        "c = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        "signal.signal(15, lambda *_: (time.sleep(0.5), sys.exit(7))); print(c.pid, flush=True); time.sleep(600)"
    )
    process, grandchild = parent("slow", program, log)
    process.ask()
    process.ask()
    assert process.running()
    assert eventually(lambda: process.exit_status() == 7)
    assert grandchild.alive()
    process.stop()
    assert eventually(lambda: not grandchild.alive())


def test_stop_waits_no_more_for_what_was_asked_before(log: Path) -> None:
    process = Process(
        "deaf",
        [
            sys.executable,
            "-c",
            "import signal,time; signal.signal(15, signal.SIG_IGN); print('up', flush=True);time.sleep(600)",
        ],
        log=log,
    )
    process.start()
    assert eventually(lambda: "up" in process.last_words())
    process.ask()
    begun = time.monotonic()
    process.stop(60)
    assert time.monotonic() - begun < 30
    assert process.exit_status() == -signal.SIGKILL


def test_a_process_that_is_no_child_is_stopped_by_its_identity() -> None:
    child = subprocess.Popen(SLEEP, stdout=subprocess.DEVNULL)
    identity = Identity.of(child.pid)
    assert identity is not None
    assert identity.stop(5) is True
    assert child.wait(5) == -signal.SIGTERM
    assert identity.stop(5) is False


def test_children_die_with_a_killed_parent_even_if_the_starting_thread_is_long_gone(tmp_path: Path) -> None:
    program = f"""
import pathlib, threading, time
from rehearsal.processes import Process
p = Process("child", {SLEEP!r}, log=pathlib.Path({str(tmp_path / "c.log")!r}))
t = threading.Thread(target=p.start); t.start(); t.join()
print(p.identity.pid, p.running(), flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        pid, running = parent.stdout.readline().split()
        child = Identity.of(int(pid))
        assert running == "True"
        assert child is not None
    finally:
        parent.kill()
        parent.communicate()
    assert eventually(lambda: not child.alive())


def test_a_child_that_survives_is_left_alone(tmp_path: Path) -> None:
    program = f"""
import pathlib, sys
from rehearsal.processes import Process
p = Process("child", {SLEEP!r}, log=pathlib.Path({str(tmp_path / "c.log")!r}), survives=True)
print(p.start().pid)
"""
    pid = int(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
    child = Identity.of(pid)
    assert child is not None
    assert child.stop(5)


def test_what_cannot_be_executed_is_named(log: Path) -> None:
    with pytest.raises(StartError, match=r"etcd cannot be started: .*no/such/etcd"):
        Process("etcd", ["/no/such/etcd"], log=log).start()


def test_logs_are_private_appended_and_their_last_lines_told(log: Path) -> None:
    for line in ("one", "two"):
        process = Process("talker", [sys.executable, "-c", f"print('{line}\\nend of {line}')"], log=log)
        process.start()
        assert process.wait(10) == 0
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert processes.last_lines(log, 3) == "end of one\ntwo\nend of two"
    assert processes.last_lines(log.with_name("none.log")) == ""


def test_memory_counts_descendants(sleeper: Process) -> None:
    assert sleeper.identity is not None
    assert sleeper.identity.pid in procfs.tree(os.getpid())
    one = procfs.memory(sleeper.identity.pid)
    assert 1_000_000 < one < 200_000_000
    assert procfs.memory(os.getpid()) > one
