"""The real engine: secrets, results, kill -9 and recovery, Ctrl-C (N02, N03, Q02)."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from rehearsal import places
from rehearsal.engine import state
from rehearsal.engine.events import Diagnostic, Record, Step
from rehearsal.engine.home import Home
from rehearsal.engine.locks import locks
from rehearsal.engine.lookup import Surroundings
from rehearsal.engine.recover import Verdict, recover
from rehearsal.engine.run import EngineError
from rehearsal.engine.state import Pending
from rehearsal.engine.workspace import open_workspace
from rehearsal.procfs import tree
from rehearsal.tests.engine.conftest import Trial
from rehearsal.tests.inside.account import until

pytestmark = pytest.mark.engine
ITEM = "drawer:index:Item"
PATIENCE = 60.0


def in_drawer(trial: Trial) -> Callable[[Pending, Surroundings], list[str]]:
    """The natural key of an item is its text."""

    def find(pending: Pending, _: Surroundings) -> list[str]:
        name = pending.inputs["text"]
        return [name] if (trial.drawer / name).exists() else []

    return find


def kill_while_second_is_made(trial: Trial) -> None:
    """`up` in a process of its own, its engine killed with SIGKILL while it creates the second item."""
    threading.Thread(target=_kill_engine_when, args=(trial, os.getpid()), daemon=True).start()
    outcome = trial.engine.up()
    assert outcome.status == -signal.SIGKILL


def _kill_engine_when(trial: Trial, parent: int) -> None:
    until(lambda: "second" in trial.items(), PATIENCE, "the second item")
    for pid in tree(parent):
        # A process may end while it is looked at.
        with suppress(OSError):
            if Path(f"/proc/{pid}/exe").resolve() == trial.engine.cli:
                os.kill(pid, signal.SIGKILL)


def test_an_update_is_told_step_by_step_and_leaves_the_tree_alone(trial: Trial) -> None:
    seen: list[Step | Diagnostic] = []

    def watch(what: Step | Diagnostic | None, _: Record) -> None:
        if what is not None:
            seen.append(what)

    before = {path: path.read_bytes() for path in trial.root.iterdir()}
    trial.go()
    outcome = trial.engine.up(watch=watch).require()
    created = [("create", ITEM, name) for name in ("first", "second", "third")]
    assert [each for each in outcome.record.operations() if each[1] == ITEM] == created
    assert any(isinstance(each, Step) and each.urn.name == "third" and each.seconds is not None for each in seen)
    assert not [each for each in seen if isinstance(each, Diagnostic) and each.severity == "warning"]
    assert {path: path.read_bytes() for path in trial.root.iterdir() if path.is_file()} == before
    assert trial.engine.preview("--expect-no-changes").status == 0
    assert not (trial.site.pulumi / "logs").is_dir(), "the CLI logs each call, which takes a third of its time"


def test_generated_secrets_are_never_in_clear(trial: Trial) -> None:
    trial.go()
    trial.engine.up().require()
    assert trial.workspace.replaced == ("trial:token",)
    assert trial.engine.outputs() == {"token": "[secret]"}
    value = str(state.plain(_stack(trial.engine.export(show_secrets=True))["outputs"]["token"]))
    assert len(value) >= 20
    holders = [
        path
        for path in trial.site.path.rglob("*")
        if path.is_file() and path.stat().st_size < 2**22 and value in path.read_text(errors="replace")
    ]
    assert holders == []


def _stack(document: state.Document) -> dict[str, dict[str, object]]:
    return next(each for each in state.resources(document) if each["type"] == "pulumi:pulumi:Stack")


def test_the_private_copy_follows_the_file_and_keeps_its_secrets(trial: Trial) -> None:
    trial.go()
    trial.engine.up().require()
    copy = trial.engine.config_file
    assert copy is not None
    assert "  trial:expiry: 2026-12-31\n" in copy.read_text()
    (trial.root / "Pulumi.dev.yaml").write_text("config:\n  trial:expiry: 2027-01-31\n")
    again = open_workspace(trial.site, Home(trial.engine.cli, trial.engine.env), trial.root, "dev")
    assert "2027-01-31" in copy.read_text()
    assert again.engine.preview("--expect-no-changes").status == 0


def test_a_failure_is_explained_in_full(trial: Trial) -> None:
    (trial.drawer / "first").touch()
    outcome = trial.engine.up()
    assert outcome.status != 0
    assert "drawer:Item first: create drawer:index:Item first: first exists already" in outcome.explain()
    (trial.root / "__main__.py").write_text("raise ValueError('wrong program')\n")
    assert "ValueError: wrong program" in trial.engine.up().explain()
    (trial.root / "Pulumi.yaml").write_text("name: trial\nruntime: python\nconfig:\n  must:\n    type: string\n")
    assert "missing configuration value 'must'" in trial.engine.up().explain()


def test_a_killed_engine_is_recovered_without_orphan_or_duplicate(trial: Trial) -> None:
    kill_while_second_is_made(trial)
    assert [lock.held() for lock in locks(trial.site.backend, "dev")] == [False]
    assert [(each.urn.name, each.kind) for each in state.pending(trial.engine.export())] == [("second", "creating")]
    refused = trial.engine.up()
    assert "locked" in refused.explain()

    recovery = recover(trial.engine, in_drawer(trial))
    assert [(each.urn.name, each.verdict, each.id) for each in recovery.findings] == [
        ("second", Verdict.IMPORT, "second")
    ]
    assert recovery.complete
    assert not locks(trial.site.backend, "dev")
    assert not state.pending(trial.engine.export())

    trial.go()
    outcome = trial.engine.up().require()
    assert [each for each in outcome.record.operations() if each[1] == ITEM] == [
        ("create", ITEM, "third"),
        ("update", ITEM, "second"),
    ]
    assert trial.engine.preview("--expect-no-changes").status == 0
    trial.engine.destroy().require()
    assert trial.items() == []


def test_an_interrupted_create_that_made_nothing_is_cleared(trial: Trial) -> None:
    kill_while_second_is_made(trial)
    (trial.drawer / "second").unlink()
    recovery = recover(trial.engine, in_drawer(trial))
    assert [each.verdict for each in recovery.findings] == [Verdict.CLEAR]
    trial.go()
    outcome = trial.engine.up().require()
    assert ("create", ITEM, "second") in outcome.record.operations()


def test_what_needs_a_decision_stays_in_the_state(trial: Trial) -> None:
    kill_while_second_is_made(trial)

    def several(_: Pending, __: Surroundings) -> list[str]:
        return ["a", "b"]

    assert not recover(trial.engine, several).complete
    assert len(state.pending(trial.engine.export())) == 1
    recovery = recover(trial.engine, several, clear_rest=True)
    assert [each.verdict for each in recovery.findings] == [Verdict.CLEAR]
    assert not state.pending(trial.engine.export())


def test_recovering_a_stack_that_needs_nothing_changes_nothing(trial: Trial) -> None:
    trial.go()
    trial.engine.up().require()
    before = trial.engine.export()["deployment"]["resources"]
    assert recover(trial.engine, in_drawer(trial)).findings == ()
    assert trial.engine.export()["deployment"]["resources"] == before


def test_an_interrupt_ends_what_is_in_flight_and_leaves_no_lock(trial: Trial) -> None:
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        until(lambda: "second" in trial.items(), PATIENCE, "the second item")
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        trial.engine.up()
    assert not locks(trial.site.backend, "dev")
    assert not state.pending(trial.engine.export())
    assert trial.items() == ["first", "second"]
    assert not _engines(trial)


def test_nothing_outlives_the_process_that_ran_the_engine(trial: Trial, tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from rehearsal.engine.run import Engine\n"
        "Engine(Path(sys.argv[1]), os.environ, Path(sys.argv[2]), 'dev', Path(sys.argv[3]), Path(sys.argv[4])).up()\n"
    )
    arguments = list(map(str, (trial.engine.cli, trial.root, trial.site.logs, trial.engine.config_file)))
    runner = subprocess.Popen([sys.executable, "-c", code, *arguments], env=dict(trial.engine.env), cwd=places.CODE)
    until(lambda: "second" in trial.items(), PATIENCE, "the second item")
    runner.kill()
    runner.wait()
    until(lambda: not _engines(trial), PATIENCE, "the engine and its plugins to end")


def _engines(trial: Trial) -> list[str]:
    """Command lines of living processes that belong to this trial's site."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"PULUMI_HOME={trial.site.pulumi}".encode() in environment.split(b"\0"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def test_a_refusal_of_the_cli_is_told_in_its_words(trial: Trial) -> None:
    with pytest.raises(EngineError, match="no stack named 'none'"):
        trial.engine.ask("stack", "export", "--stack", "none")
