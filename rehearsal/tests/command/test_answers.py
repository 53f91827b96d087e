"""A part of a site that does not answer is named; only a person at a terminal gives a site up for that."""

import io
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from rehearsal import keys, procfs, sites
from rehearsal.command import answers, session
from rehearsal.command.errors import CommandError
from rehearsal.places import SiteDirectory
from rehearsal.processes import Identity, Process
from rehearsal.sites import Site, State, Status
from rehearsal.testing.answering import Said, answering

NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def account() -> Iterator[str]:
    """An account that is well."""
    with answering(lambda _: Said()) as where:
        yield f"http://{where}"


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Identity]:
    """Stands for the supervisor of a site."""
    made = Process("p", [sys.executable, "-c", "import time; time.sleep(600)"], log=tmp_path / "p.log")
    yield made.start()
    made.stop(0.2)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(answers, "HALTED_SECONDS", 0.1)


def site(directory: Path, url: str, process: Identity) -> Site:
    own = SiteDirectory(directory / "dev").create()
    keys.make(own.keys)
    return Site(own, url, process, process, "2026-01-01T00:00:00+00:00")


def kubeconfig(directory: Path) -> Path:
    """Of a cluster whose API server is away."""
    path = directory / "kubeconfig"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nusers: [{name: u, user: {token: t}}]\n"
        f"clusters: [{{name: c, cluster: {{server: '{NOBODY}'}}}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
    )
    return path


@pytest.mark.usefixtures("impatient")
def test_each_part_that_does_not_answer_is_named_lf28(tmp_path: Path, account: str, process: Identity) -> None:
    assert answers.trouble(site(tmp_path, account, process), {}) == ""
    said = answers.trouble(site(tmp_path, NOBODY, process), {})
    assert said.startswith(f"rehearsal dev runs, but its AWS account ({NOBODY}) did not answer within 0 s. Nothing was")
    assert f"`kill {process.pid}` ends this rehearsal permanently" in said
    said = answers.trouble(site(tmp_path, account, process), {"us-east-2/gpu": kubeconfig(tmp_path)})
    assert "but the API server of its cluster us-east-2/gpu did not answer" in said
    assert "AWS account" not in said


@pytest.mark.usefixtures("impatient")
def test_a_process_that_stands_still_is_named_with_what_lets_it_go_on_lf28(tmp_path: Path, process: Identity) -> None:
    assert procfs.halted(process.pid) == {}
    os.kill(process.pid, signal.SIGSTOP)
    try:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        said = answers.trouble(site(tmp_path, NOBODY, process), {})
    finally:
        os.kill(process.pid, signal.SIGCONT)
    assert f"(pid {process.pid}) is stopped, `kill -CONT {process.pid}` resumes it. Nothing was discarded" in said


@pytest.mark.usefixtures("impatient")
def test_a_site_that_is_slow_is_kept_and_one_that_a_person_gives_up_is_not_lf28(
    tmp_path: Path, process: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = site(tmp_path, NOBODY, process)
    directory = SiteDirectory(tmp_path / "dev")
    monkeypatch.setattr(sites, "status", lambda _: Status(State.RUNNING, "running", running))
    monkeypatch.setattr(sites, "start", lambda *_: "another")
    with pytest.raises(CommandError, match="Nothing was discarded"):
        session._start(directory, tmp_path, Console(file=io.StringIO()))
    assert directory.path.exists()
    monkeypatch.setattr(answers, "given_up", lambda *_: True)
    started: object = session._start(directory, tmp_path, Console(file=io.StringIO()))
    assert started == "another"
    assert not directory.path.exists()


@pytest.mark.parametrize(("typed", "given_up"), [("dev", True), ("", False), ("y", False)])
def test_a_person_types_the_name_of_what_is_to_go_and_nobody_else_is_asked(
    typed: str, given_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: typed)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert answers.given_up(Console(file=io.StringIO(), force_terminal=True), "slow", "dev") is given_up
    assert not answers.given_up(Console(file=io.StringIO()), "slow", "dev")
