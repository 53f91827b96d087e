"""What can befall a machine while a stack is applied: nothing is lost, and a person is told what it was."""

import contextlib
import errno
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.tests.command.trial import (
    PATIENCE,
    PROGRAM,
    Trial,
    account,
    creating,
    kill_engine,
    small,
    throttle,
    until,
)

pytestmark = [pytest.mark.engine, pytest.mark.apart]
SOON = 45.0
"""Seconds in which a command is to end that waited for minutes before it was told: a busy machine, no more."""


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    made = small(tmp_path)
    yield made
    made.end("dev")


def begun(trial: Trial, times: int = 6) -> "subprocess.Popen[str]":
    """An `up` that waits for an account which throttles it, so many times."""
    (trial.root / "__main__.py").write_text(PROGRAM.replace('"ab"', '"abc"'))
    throttle(trial, "CreateSubnet", times)
    process = trial.start("up")
    until(creating(trial, "c", process), "the third subnet")
    return process


def state(trial: Trial) -> Path:
    (found,) = trial.site().backend.glob(".pulumi/stacks/*/dev.json")
    return found


@pytest.mark.scale
def test_04_and_05_an_account_that_refuses_every_call_for_a_minute_is_waited_for(trial: Trial) -> None:
    """It answers 500, and then throttles: the provider asks again and again, and nobody has to type anything."""
    assert trial.run("up")[0] == 0
    process = begun(trial)
    assert account(trial).ask("DELETE", "faults").status == 200
    began = time.monotonic()
    for code, status, until_s in (("InternalError", 500, 60), ("ThrottlingException", 400, 120)):
        every = {"action": ".*", "code": code, "status": status, "times": None, "seconds": until_s}
        assert account(trial).ask("POST", "faults", every).status < 300
    said = process.communicate(timeout=PATIENCE)[0]
    assert (process.returncode, time.monotonic() - began > 120) == (0, True), said
    status, said = trial.run("up")
    assert (status, "create" not in said.partition("next:")[0].partition("update")[2]) == (0, True), said
    assert trial.run("down")[0] == 0


@pytest.mark.scale
def test_06_an_account_that_dies_ends_the_wait_at_once_with_its_name(trial: Trial) -> None:
    """Before, the engine waited two minutes for an account that was gone, and said that it could not connect."""
    assert trial.run("up")[0] == 0
    process = begun(trial)
    os.kill(trial.record()["cloud"]["pid"], signal.SIGKILL)
    began = time.monotonic()
    said = process.communicate(timeout=PATIENCE)[0]
    assert (process.returncode, time.monotonic() - began < SOON) == (1, True), said
    assert "the rehearsal died: the AWS stand-in" in said
    assert "the next `up` starts clean" in said
    until(lambda: not trial.processes(), "every process to end with it")
    status, said = trial.run("up")
    assert (status, "starting clean" in said) == (0, True), said


@pytest.mark.scale
def test_09_a_damaged_state_is_named_and_replaced_by_its_backup_on_request(trial: Trial) -> None:
    assert trial.run("up")[0] == 0
    (trial.root / "__main__.py").write_text(PROGRAM.replace('"ab"', '"abc"'))
    assert trial.run("up")[0] == 0
    path = state(trial)
    path.write_text('{"version": 3, "checkpo')
    for words in ("up", "preview", "recover", "refresh"):
        status, said = trial.run(words)
        assert (status, f"error: {path} is damaged (" in said) == (1, True), said
        assert "`rehearse recover --stack dev --restore` goes on from " in said
        assert "`rehearse down --stack dev` ends the rehearsal without it" in said
    status, said = trial.run("status")
    assert (status, f"{path} is damaged (" in said) == (1, True), said
    status, said = trial.run("recover", "--restore")
    assert (status, "again; the damaged one is" in said) == (0, True), said
    status, said = trial.run("up")
    assert status == 0, said
    status, said = trial.run("down")
    assert (status, "zero left" in said) == (0, True), said


def test_09_down_works_without_a_state(trial: Trial) -> None:
    assert trial.run("up")[0] == 0
    path = state(trial)
    path.write_text("")
    status, said = trial.run("down")
    assert (status, f"{path} is damaged (it is empty" in said) == (0, True), said
    assert "ends without its state" in said
    assert trial.nothing_left()


@pytest.mark.scale
def test_10_no_passphrase_is_made_where_a_state_is_and_a_wrong_one_is_named(trial: Trial) -> None:
    assert trial.run("up")[0] == 0
    path = trial.site().pulumi / "passphrase"
    kept = path.read_text()
    path.unlink()
    status, said = trial.run("up")
    assert (status, f"{path} is missing" in said, path.exists()) == (1, True, False), said
    path.write_text("another")
    path.chmod(0o600)
    status, said = trial.run("up")
    assert (status, "put the right one back" in said) == (1, True), said
    path.write_text(kept)
    assert trial.run("up")[0] == 0
    path.unlink()
    status, said = trial.run("down")
    assert (status, "ends without its state" in said) == (0, True), said
    assert trial.nothing_left()


@pytest.mark.scale
def test_11_two_at_once_are_told_in_our_own_words(trial: Trial) -> None:
    """Pulumi's own advice, `pulumi cancel`, would take the lock from the one that works."""
    assert trial.run("up")[0] == 0
    first = begun(trial, times=24)
    status, said = trial.run("up")
    assert account(trial).ask("DELETE", "faults").status == 200
    assert status == 1, said
    assert "works on stack dev now, started by another command: let it finish" in said
    assert "pulumi cancel" not in said
    assert first.communicate(timeout=PATIENCE)[0]
    assert first.returncode == 0
    assert trial.run("up")[0] == 0


@contextlib.contextmanager
def small_disk(path: Path) -> Iterator[None]:
    """A disk of 1.7 GiB; only root may mount one, or who becomes root by sudo without a password."""
    path.mkdir()
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    own = f"size=1700m,mode=700,uid={os.geteuid()},gid={os.getegid()}"
    done = subprocess.run([*root, "mount", "-t", "tmpfs", "-o", own, "tmpfs", path], capture_output=True)
    if done.returncode:
        pytest.skip(f"no disk can be mounted here, so none can be filled: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run([*root, "umount", "--lazy", path], check=True)


def fill(filler: Path) -> None:
    """Take what is free on its disk, to the last page: other processes write meanwhile, so it is taken in pieces."""
    taken, piece = 0, 64 << 20
    with filler.open("wb") as file:
        while piece >= 4096:
            try:
                os.posix_fallocate(file.fileno(), taken, piece)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                piece //= 2
            else:
                taken += piece


@pytest.mark.scale
def test_08_a_full_disk_is_seen_within_seconds_and_what_was_applied_is_kept(trial: Trial) -> None:
    with small_disk(trial.home):
        assert trial.run("up")[0] == 0
        process = begun(trial)
        began = time.monotonic()
        filler = trial.home / "filler"
        fill(filler)
        said = process.communicate(timeout=PATIENCE)[0]
        assert (process.returncode, time.monotonic() - began < SOON) == (1, True), said
        assert f"the disk of {trial.site().path} is full" in said
        filler.unlink()
        status, said = trial.run("up")
        assert status == 0, said
        assert "starting clean" not in said, "the site was lost"
        assert "vpc" not in said.partition("update")[2].partition("next:")[0], f"what was applied was lost: {said}"
        assert trial.run("down")[0] == 0


def test_02_an_engine_killed_in_destroy_is_told_and_the_next_down_goes_on(trial: Trial) -> None:
    assert trial.run("up")[0] == 0
    throttle(trial, "DeleteSubnet")
    process = trial.start("down")
    until(lambda: "ec2.DeleteSubnet" in account(trial).ask("GET", "requests").json(), "a subnet's turn")
    until(lambda: kill_engine(trial, "destroy") > 0, "an engine to kill")
    said = process.communicate(timeout=PATIENCE)[0]
    assert (process.returncode, "The rehearsal still runs: try again." in said) == (1, True), said
    status, said = trial.run("down")
    assert (status, "recover: the engine was killed" in said, "zero left" in said) == (0, True, True), said


def test_07_a_second_ctrl_c_leaves_nothing_running_and_does_not_swallow_what_is_said(trial: Trial) -> None:
    assert trial.run("up")[0] == 0
    process = begun(trial)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE)[0]
    assert (process.returncode, "nothing is left running; the next `up` starts" in said) == (130, True), said
    assert trial.nothing_left()


@pytest.mark.scale
def test_12_a_stack_file_that_is_edited_and_broken_meanwhile_disturbs_nobody(trial: Trial) -> None:
    assert trial.run("up")[0] == 0
    file = trial.root / "Pulumi.dev.yaml"
    text = file.read_text()
    process = begun(trial)
    file.write_text(text + "  trial:more: [")
    said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 0, said
    status, said = trial.run("up")
    assert (status, "Pulumi.dev.yaml" in said, "line" in said) == (1, True, True), said
    file.write_text(text)
    assert trial.run("up")[0] == 0


def test_13_a_program_that_raises_is_seen_before_anything_is_changed(trial: Trial) -> None:
    assert trial.run("up")[0] == 0
    (trial.root / "__main__.py").write_text(f"{PROGRAM}\nraise RuntimeError('half way')\n")
    status, said = trial.run("up")
    assert (status, "RuntimeError: half way" in said) == (1, True), said
    assert "\nupdate" not in said
    (trial.root / "__main__.py").write_text(PROGRAM)
    status, said = trial.run("up")
    assert (status, "create" not in said.partition("next:")[0].partition("update")[2]) == (0, True), said
