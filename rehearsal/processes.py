"""Start, recognise and stop the processes of a rehearsal.

A process is known by its pid *and* the kernel's start time of it within one boot: a recorded pid that now belongs to
something else is recognised and never signalled. Children get a session of their own and die with the process that
started them (`PR_SET_PDEATHSIG`), however that one ends.
"""

import atexit
import concurrent.futures
import contextlib
import ctypes
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal import places, procfs

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
# A `subprocess.Popen` that is collected while its child runs warns; those of survivors are kept until we end.
_survivors: list[subprocess.Popen[bytes]] = []


@atexit.register
def _notice_ended() -> None:
    """The same warning comes at the end for a child that ended and that nobody asked."""
    for each in _survivors:
        each.poll()


# The kernel sends the death signal when the forking *thread* ends, so all forks come from one that outlives them.
_forker = concurrent.futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="forker")


@dataclass(frozen=True)
class Identity:
    """One process of one boot; `started` is `<clock ticks after boot>@<boot id>`."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> "Identity | None":
        """The identity of the process that has this pid now; None if there is none, or only its exit status is left."""
        stat = procfs.stat(pid)
        return None if stat is None or stat[0] in "ZX" else cls(pid, f"{stat[2]}@{procfs.boot_id()}")

    @classmethod
    def from_record(cls, record: Any) -> "Identity | None":
        """Read back what `record()` gave; None for anything else."""
        if not isinstance(record, dict) or not isinstance(record.get("pid"), int):
            return None
        return cls(record["pid"], str(record.get("started", "")))

    def record(self) -> dict[str, int | str]:
        return {"pid": self.pid, "started": self.started}

    def alive(self) -> bool:
        """Whether this very process still runs: not one that got its pid later, not one of before a reboot."""
        return Identity.of(self.pid) == self

    def of_this_boot(self) -> bool:
        return self.started.partition("@")[2] == procfs.boot_id()

    def stop(self, grace: float = 10.0) -> bool:
        """Ask the process to end, kill it after `grace` seconds; True if it ran. It need not be a child."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.alive():
                return False
            for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, None)):
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, number)
                if _ended(handle, patience):
                    break
            return True
        finally:
            os.close(handle)


class StartError(Exception):
    """A process did not start, or ended before it was of use."""


class Process:
    """A child process with its own session, log file and identity.

    `argv` never carries secrets (anybody may read it). `env` is the whole environment; None inherits ours. The log is
    appended to and readable by the owner only. `survives` keeps the child alive when its parent ends.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str | Path],
        env: Mapping[str, str] | None = None,
        *,
        log: Path,
        cwd: Path | None = None,
        survives: bool = False,
    ) -> None:
        self.name = name
        self.argv = [str(word) for word in argv]
        self.env = dict(env) if env is not None else None
        self.log = log
        self.cwd = cwd
        self.survives = survives
        self.identity: Identity | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._asked = False
        self._lock = threading.Lock()

    def start(self) -> Identity:
        """Start the process; raises StartError if it cannot be executed, RuntimeError if it runs already."""
        with self._lock:
            if self._child is not None and self._child.poll() is None:
                raise RuntimeError(f"{self.name} runs already (pid {self._child.pid})")
            try:
                self._child = _forker.submit(self._fork).result()
            except OSError as error:
                raise StartError(f"{self.name} cannot be started: {error}") from error
            if self.survives:
                _survivors.append(self._child)
            self._asked = False
            self.identity = Identity.of(self._child.pid) or Identity(self._child.pid, f"ended@{procfs.boot_id()}")
            return self.identity

    def _fork(self) -> subprocess.Popen[bytes]:
        places.private_directory(self.log.parent)
        output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            return subprocess.Popen(
                self.argv,
                env=self.env,
                cwd=self.cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=None if self.survives else _die_with(os.getpid()),
            )
        finally:
            os.close(output)

    def running(self) -> bool:
        return self.exit_status() is None and self._child is not None

    def exit_status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs or before it was started."""
        with self._lock:
            return None if self._child is None else self._child.poll()

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the end; None if it still runs after `timeout` seconds."""
        if self._child is None:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._child.wait(timeout)
        return None

    def ask(self, word: signal.Signals = signal.SIGTERM) -> None:
        """Ask the process to end, once, and do not wait for it; `stop` is for what is left then."""
        with self._lock:
            if self._child is not None and self._child.poll() is None and not self._asked:
                self._asked = True
                self._child.send_signal(word)

    def stop(self, grace: float = 10.0) -> None:
        """End the process and whatever it started in its session: TERM, `grace` seconds, KILL. One that was asked
        before has had its time.
        """
        with self._lock:
            child = self._child
            if child is None:
                return
            if child.poll() is not None:
                if self._asked:
                    # Its number is that of its group, and of nothing else, as long as anything is in the group.
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(child.pid, signal.SIGKILL)
                return
            handle = os.pidfd_open(child.pid)
            try:
                child.send_signal(signal.SIGTERM)
                _ended(handle, 0.0 if self._asked else grace)
                # Not reaped yet, so its number still names its own process group and no other.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            finally:
                os.close(handle)

    def last_words(self, lines: int = 12) -> str:
        return last_lines(self.log, lines)


def last_lines(log: Path, lines: int = 12) -> str:
    """The last lines of a log, at most 64 KiB; empty if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 65_536))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""


def _ended(handle: int, timeout: float | None) -> bool:
    """Wait until the process behind a pidfd has ended."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        if poll.poll(left):
            return True
        if deadline is not None and time.monotonic() >= deadline:
            return False


def _die_with(parent: int) -> Callable[[], None]:
    """What a child does between fork and exec: be killed when the parent ends, at once if it already has."""
    prctl = _libc.prctl

    def child() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return child
