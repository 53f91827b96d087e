"""What the tools of a host share: the machine's facts, a state that lasts, one that a boot ends, a list of calls.

A process is started for each call of a tool, a hundred for one preparation of a host, and most of its time goes into
what it imports. So modules of the standard library that import others (json, pathlib, typing) are left out of here and
of what is called most, and files hold Python's own literals.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PLACE = "/.machine"
BOOTED = "/run/.machine"
ANSWER_SECONDS = 1800.0


def read(path: str) -> Any:
    """What a file holds as a literal; None if there is none."""
    try:
        with open(path) as file:
            text = file.read()
    except FileNotFoundError:
        return None
    return eval(text, {"__builtins__": {}})  # noqa: S307 - the host's own file, written by the lines below


def write(path: str, value: object) -> None:
    """Let a file hold a value, at once."""
    with open(f"{path}.new", "w") as file:
        file.write(repr(value))
    os.replace(f"{path}.new", path)


def facts() -> dict[str, Any]:
    """The machine as it is racked."""
    found: dict[str, Any] = read(f"{PLACE}/facts")
    return found


class State:
    """A state for as long as a block goes on, which nobody else has meanwhile. Written when the block ends without an
    error, whole or not at all.
    """

    def __init__(self, path: str, *, packages: bool = False) -> None:
        self._path = path
        self._packages = packages

    def __enter__(self) -> dict[str, Any]:
        self._lock = open(f"{self._path}.lock", "w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._state: dict[str, Any] = read(self._path) or {}
        self._before = repr(self._state)
        if self._packages and "packages" not in self._state:
            installed = facts()["packages"].items()
            self._state["packages"] = {name: {"version": each, "held": False} for name, each in installed}
        return self._state

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and repr(self._state) != self._before:
            write(self._path, self._state)
        self._lock.close()


def lasting() -> State:
    """What is on the machine's disk: packages, units, drives."""
    return State(f"{PLACE}/state", packages=True)


def until_boot() -> State:
    """What a boot ends: units that run, mounts, clocks of GPUs."""
    return State(BOOTED)


def called(name: str, words: list[str]) -> None:
    """Add a call to the machine's list; a fault that was ordered for it happens here."""
    with open(f"{PLACE}/calls", "a") as file:
        file.write(f"{[name, *words]!r}\n")
    _suffer(name, words)


def _suffer(name: str, words: list[str]) -> None:
    """Faults that were ordered: what happens, by a part of the call's words."""
    faults: dict[str, str] = read(f"{PLACE}/faults") or {}
    line = " ".join([name, *words])
    for mark, action in faults.items():
        if mark not in line:
            continue
        if action in ("power", "cut"):
            os.unlink(f"{PLACE}/faults")
        if action == "cut":
            _cut()
            continue
        if action == "power":
            with open(f"{PLACE}/off", "w"):
                time.sleep(60)
        raise SystemExit(complain(f"{name}: {action}", 1))


def _cut() -> None:
    """End the SSH session that this command is part of, as a network does that goes away."""
    pid, names = os.getpid(), []
    while pid > 1:
        with open(f"/proc/{pid}/stat") as file:
            name, rest = file.read().split("(", 1)[1].rsplit(") ", 1)
        names.append((pid, name))
        pid = int(rest.split()[1])
    # The last one is the server itself, which goes on listening.
    for pid, _ in [each for each in names if each[1].startswith("sshd")][:-1]:
        os.kill(pid, 9)


def takes(seconds: float) -> None:
    """Wait as long as the tool does by its documentation, at the machine's pace."""
    time.sleep(seconds * float(facts()["pace"]))


def complain(text: str, status: int) -> int:
    """Print a message of the tool to stderr and give its exit status."""
    sys.stdout.flush()
    print(text, file=sys.stderr)
    return status


def version(package: str) -> str:
    """The version of an installed package; empty if it is not."""
    with lasting() as state:
        return str(state.get("packages", {}).get(package, {}).get("version", ""))


def absent(name: str) -> int:
    """What a shell says of a program that is not there."""
    return complain(f"bash: line 1: {name}: command not found", 127)


def ask(question: dict[str, str]) -> dict[str, str]:
    """Ask the hall what this machine alone cannot know, and wait for its answer."""
    import json

    own = f"{os.getpid()}-{time.monotonic_ns()}"
    asked, answer = f"{PLACE}/ask-{own}.json", f"{PLACE}/answer-{own}.json"
    handle = os.open(f"{asked}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(question, file)
    os.rename(f"{asked}.new", asked)
    deadline = time.monotonic() + ANSWER_SECONDS
    while not os.path.exists(answer):
        if time.monotonic() > deadline:
            return {"error": "the API server does not answer: context deadline exceeded"}
        time.sleep(0.02)
    with open(answer) as file:
        found: dict[str, str] = json.load(file)
    os.unlink(answer)
    return found
