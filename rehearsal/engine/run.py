"""Runs the Pulumi CLI as a person does, follows what it does, and hands back typed results.

Interrupts: the engine runs in a session of its own, so that a Ctrl-C at the terminal reaches it once, from us: it lets
the operations in flight end, saves the state and leaves no lock. A second Ctrl-C makes it stop at once.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal import places
from rehearsal.engine.events import WRITES_EVENTS, Diagnostic, Record, Step
from rehearsal.engine.remedies import remedy
from rehearsal.processes import Identity, Process, last_lines

PARALLEL = 16
"""Operations at once: a Service waits for its endpoints, and several of them fill the default of 8 on two cores."""
LOOK_SECONDS = 0.1
SHORT_SECONDS = 120.0
PATIENCE_SECONDS = 20.0
"""How long operations in flight may take to end when the engine is told to end them; then it stops at once."""

Watcher = Callable[[Step | Diagnostic | None, Record], None]
"""Called for each step that begins or ends and each diagnostic, and with None about ten times a second."""


class EngineError(Exception):
    """The CLI refused or failed; the text is its own."""

    at_once = True
    """Whether the engine is ended at once if a watcher raises this; else it ends what is in flight."""


@dataclass(frozen=True)
class Outcome:
    """How one run ended. `status` is the CLI's exit status, `seconds` wall time; `log` holds its own words."""

    operation: str
    status: int
    record: Record
    seconds: float
    log: Path

    @property
    def events(self) -> Path:
        """The engine's event log of the run."""
        return self.log.with_suffix(".events")

    def explain(self) -> str:
        """Why it failed, in full: the errors of the engine, the plugins and the program, else the CLI's last words."""
        errors = self.record.errors()
        if not errors:
            said = last_lines(self.log, 20)
            return "\n".join(filter(None, (said, remedy(said))))
        program = [each.message for each in self.record.diagnostics if each.severity == "info#err"]
        remedies = dict.fromkeys(sentence for each in errors if (sentence := remedy(each.message)))
        return "\n".join([*map(str, errors), *remedies, *program])

    def require(self) -> "Outcome":
        """Itself; raises EngineError if the run did not succeed."""
        if self.status:
            raise EngineError(f"pulumi {self.operation} failed (exit status {self.status}):\n{self.explain()}")
        return self


@dataclass(frozen=True)
class Engine:
    """One stack seen through one CLI and environment. `config_file` None means the stack's own file below `root`."""

    cli: Path
    env: Mapping[str, str]
    root: Path
    stack: str
    logs: Path
    config_file: Path | None = None

    def up(self, *flags: str, watch: Watcher | None = None) -> Outcome:
        """Apply the program, without the CLI's preview before it."""
        return self._operate("up", "--yes", "--skip-preview", *flags, watch=watch)

    def preview(self, *flags: str, watch: Watcher | None = None) -> Outcome:
        return self._operate("preview", *flags, watch=watch)

    def refresh(self, *flags: str, watch: Watcher | None = None) -> Outcome:
        """Take what there is into the state; with the flag `--preview-only` show it."""
        flags = flags if "--preview-only" in flags else ("--yes", "--skip-preview", *flags)
        return self._operate("refresh", *flags, watch=watch)

    def destroy(self, *flags: str, watch: Watcher | None = None) -> Outcome:
        """Delete everything; with the flag `--preview-only` show it, and what forbids it."""
        flags = flags if "--preview-only" in flags else ("--yes", "--skip-preview", *flags)
        return self._operate("destroy", *flags, watch=watch)

    def cancel(self) -> None:
        """Remove the lock of an update that is no more; raises EngineError if the CLI cannot."""
        self.ask("cancel", "--yes", "--stack", self.stack)

    def unprotect(self) -> None:
        """Take the protection off every resource of the state (not of the program)."""
        self.ask("state", "unprotect", "--all", "--yes", "--stack", self.stack)

    def export(self, *, show_secrets: bool = False) -> dict[str, Any]:
        """The stack's deployment as `pulumi stack export` gives it; secrets stay sealed unless asked for."""
        reveal = ("--show-secrets",) if show_secrets else ()
        document = json.loads(self.ask("stack", "export", "--stack", self.stack, *reveal))
        return document if isinstance(document, dict) else {}

    def replace_state(self, document: Mapping[str, Any]) -> None:
        """Hand an edited deployment back to the backend (`pulumi stack import`, which checks its integrity)."""
        self.ask("stack", "import", "--stack", self.stack, stdin=json.dumps(document))

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs; secret ones read `[secret]`."""
        values = json.loads(self.ask("stack", "output", "--json", "--stack", self.stack))
        return values if isinstance(values, dict) else {}

    def exists(self) -> bool:
        """Whether the backend knows the stack."""
        listed = json.loads(self.ask("stack", "ls", "--json"))
        return any(each["name"].rpartition("/")[2] == self.stack for each in listed)

    def ask(self, *words: str, stdin: str | None = None) -> str:
        """Run a short command and return its stdout; raises EngineError with the CLI's stderr."""
        argv = [str(self.cli), "-C", str(self.root), *words, "--non-interactive", "--color", "never"]
        try:
            done = subprocess.run(
                argv, env=dict(self.env), input=stdin or "", capture_output=True, text=True, timeout=SHORT_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise EngineError(f"pulumi {words[0]} gave no answer within {SHORT_SECONDS:.0f} s.") from error
        if done.returncode:
            said = done.stderr.strip() or done.stdout.strip()
            raise EngineError("\n".join(filter(None, (f"pulumi {' '.join(words[:2])}: {said}", remedy(said)))))
        return done.stdout

    def _operate(self, operation: str, *flags: str, watch: Watcher | None) -> Outcome:
        places.private_directory(self.logs)
        log = self.logs / f"pulumi-{operation}.log"
        events = log.with_suffix(".events")
        log.unlink(missing_ok=True)
        events.unlink(missing_ok=True)
        argv = [str(self.cli), "-C", str(self.root), operation, "--stack", self.stack, "--non-interactive"]
        argv += ["--color", "never", "--parallel", str(PARALLEL), "--event-log", str(events), *flags]
        if self.config_file is not None:
            argv += ["--config-file", str(self.config_file)]
        env = {**self.env, **WRITES_EVENTS}
        began = time.monotonic()
        process = Process(f"pulumi {operation}", argv, env, log=log, cwd=self.root)
        record = _follow(process, events, watch or _ignore)
        return Outcome(operation, process.exit_status() or 0, record, time.monotonic() - began, log)


def _ignore(_: Step | Diagnostic | None, __: Record) -> None:
    pass


def _follow(process: Process, events: Path, watch: Watcher) -> Record:
    """Start the process and read its event log until it has ended; KeyboardInterrupt is passed on after that.

    So is an EngineError of the watcher, which makes the process end: what is in flight first, unless `at_once`.
    """
    record = Record()
    reader = _Tail(events)
    interrupted: KeyboardInterrupt | EngineError | None = None
    hurry = float("inf")
    identity = process.start()
    try:
        while True:
            try:
                ended = process.wait(LOOK_SECONDS) is not None
                for line in reader.lines():
                    seen = record.feed(line, time.monotonic())
                    if seen is not None:
                        watch(seen, record)
                watch(None, record)
                if ended:
                    break
                if time.monotonic() > hurry:
                    hurry = float("inf")
                    _send(identity, signal.SIGINT)
            except KeyboardInterrupt as interrupt:
                interrupted = interrupt
                _send(identity, signal.SIGINT)
            except EngineError as alarm:
                interrupted = alarm
                if alarm.at_once:
                    break
                hurry = time.monotonic() + PATIENCE_SECONDS
                _send(identity, signal.SIGINT)
    finally:
        process.stop()
        reader.close()
    if interrupted:
        raise interrupted
    return record


def _send(identity: Identity, number: signal.Signals) -> None:
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return
    try:
        if identity.alive():
            signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


class _Tail:
    """The complete lines that a growing file has gained since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._rest = b""

    def lines(self) -> list[str]:
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return []
        chunks = [self._rest]
        while chunk := os.read(self._descriptor, 1 << 20):
            chunks.append(chunk)
        *whole, self._rest = b"".join(chunks).split(b"\n")
        return [line.decode() for line in whole]

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
