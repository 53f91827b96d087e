"""Each bad situation is one sentence with the remedy, and nothing is started (N05, Q06)."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from rehearsal import places, processes, sites, toolchain
from rehearsal.command import apply, commands, preflight
from rehearsal.command.errors import StateLostError
from rehearsal.command.main import main
from rehearsal.engine.events import Record
from rehearsal.engine.run import Outcome
from rehearsal.toolchain import BuildError


@pytest.fixture(autouse=True)
def nothing_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCLUSTER_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a process was started")

    monkeypatch.setattr(processes.Process, "start", refuse)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "program"
    directory.mkdir()
    (directory / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    (directory / "Pulumi.dev.yaml").write_text("config:\n  p:x: 1\n")
    return directory


def error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "Traceback" not in said
    return said.removeprefix("error: ").strip()


def one_sentence(text: str) -> bool:
    return "\n" not in text and text.endswith(".") and len(re.findall(r"[.!?] [A-Z]", text)) <= 1


def test_a_missing_stack_file_lists_those_that_exist(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("up", "rehearse", "preview", "recover"):
        said = error(capsys, command, "--stack", "lab", "--root", str(root))
        assert "Pulumi.lab.yaml does not exist; stacks here: dev." in said
        assert one_sentence(said)


def test_a_broken_stack_file(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "Pulumi.dev.yaml").write_text("- config\n")
    assert "must be a block of `key: value` lines" in error(capsys, "up", "--root", str(root))


def test_a_full_disk(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(2**40, 2**40, 300 * 2**20))
    said = error(capsys, "up", "--root", str(root))
    assert "but 0.3 GiB are free: free some space" in said
    assert one_sentence(said)


@pytest.mark.parametrize("variable", ["GPUCLUSTER_HOME", "XDG_CACHE_HOME"])
def test_a_directory_that_cannot_be_written(
    variable: str, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(variable, str(tmp_path / "file"))
    said = error(capsys, "up", "--root", str(root))
    assert f"set {variable} to a directory that is" in said
    assert one_sentence(said)


def test_missing_packages(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "NEEDED_MODULES", ("pulumi", "no_such_package"))
    said = error(capsys, "up", "--root", str(root))
    assert "lacks no_such_package: install what it requires" in said
    assert one_sentence(said)


def test_another_system(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "needs Linux, this is darwin" in error(capsys, "up", "--root", str(root))


def test_no_go(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BuildError("Go cannot be had.")

    monkeypatch.setattr(toolchain, "ensure", refuse)
    assert error(capsys, "up", "--root", str(root)) == "Go cannot be had."


def test_an_old_python_reads_why_and_not_a_syntax_error() -> None:
    code = (
        "import runpy, sys; sys.version_info = (3, 9, 2, 'final', 0); "
        "runpy.run_module('rehearsal', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=places.CODE, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch(r"error: Python 3\.9 at \S+ is too old: run this with 3\.11 or later\.\n", done.stderr)


def test_commands_that_need_a_rehearsal_say_how_to_get_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = error(capsys, "recover", "--root", str(root))
    assert "`rehearse up --stack dev` starts one" in said
    assert "`rehearse recover --stack dev --real`" in said
    nowhere = ("--root", str(root))
    assert "`rehearse up --stack dev` makes one" in error(capsys, "kubectl", *nowhere, "--", "get", "pods")
    assert main(["status", *nowhere]) == 1
    assert "dev: absent" in capsys.readouterr().out


def test_down_of_what_does_not_run_is_fine(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down", "--root", str(root)]) == 0
    assert "zero left: no rehearsal dev runs" in capsys.readouterr().out


@pytest.mark.parametrize("case", ["died", "reused", "rebooted"])
def test_down_of_a_rehearsal_that_died_says_so_and_clears_it(
    case: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recorded process that died, whose pid was reused, or of before a reboot is never signalled."""
    me = processes.Identity.of(os.getpid())
    assert me is not None
    ended = subprocess.Popen(["true"])
    ended.wait()
    boot = me.started.partition("@")[2]
    record = {
        "died": {"pid": ended.pid, "started": f"1@{boot}"},
        "reused": {"pid": me.pid, "started": f"1@{boot}"},
        "rebooted": {"pid": me.pid, "started": "1@another-boot"},
    }[case]
    directory = places.site("dev", root).create()
    places.write_json(
        directory.record, {"supervisor": record, "cloud": {"url": "http://127.0.0.1:9", **record}, "created": "then"}
    )
    assert sites.status(directory.path).state is sites.State.DEAD
    assert main(["down", "--root", str(root)]) == 0
    said = capsys.readouterr().out
    expected = {
        "died": "ended unexpectedly",
        "reused": "its pid belongs to another process",
        "rebooted": "was restarted",
    }
    assert expected[case] in said
    assert "zero left" in said
    assert not directory.path.exists()


def test_a_request_to_end_is_an_interrupt(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked_to_end(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(toolchain, "ensure", asked_to_end)
    before = signal.getsignal(signal.SIGTERM)
    assert main(["up", "--root", str(root)]) == 130
    assert signal.getsignal(signal.SIGTERM) is before


def test_down_ends_a_site_whose_state_is_lost(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that such a stack made lives in the site: it is ended, though not proven to destroy itself."""
    site, stopped = places.site("dev", root).create(), list[Path]()
    running = sites.Status(sites.State.RUNNING, "running")

    def lost(*_: object, **__: object) -> None:
        raise StateLostError("/s/dev.json is damaged (it is empty; 0 bytes)")

    monkeypatch.setattr(sites, "status", lambda _: running)
    monkeypatch.setattr(sites, "stop", stopped.append)
    monkeypatch.setattr(commands, "open_session", lost)
    monkeypatch.setattr(preflight, "check", lambda *_: None)
    assert main(["down", "--root", str(root)]) == 0
    said = capsys.readouterr().out
    assert "/s/dev.json is damaged (it is empty; 0 bytes)" in said
    assert "ends without its state" in said
    assert stopped == [site.path]
    assert not site.path.exists()
    monkeypatch.setattr(apply, "up", lost)
    assert main(["up", "--root", str(root)]) == 1
    assert "error: /s/dev.json is damaged" in capsys.readouterr().err


def test_a_wrong_passphrase_is_explained_where_the_engine_never_began(tmp_path: Path) -> None:
    log = tmp_path / "pulumi-preview.log"
    log.write_text("error: get stack secrets manager: incorrect passphrase")
    said = Outcome("preview", 255, Record(), 1.0, log).explain()
    assert "incorrect passphrase" in said
    assert "put the right one back" in said
