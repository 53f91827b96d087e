"""What the tools of a host share: the machine's facts, a state that lasts, one that a boot ends, a list of calls."""

import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

PLACE = "/.machine"
BOOTED = "/run/.machine.json"
ANSWER_SECONDS = 1800.0


def facts() -> dict[str, Any]:
    """The machine as it is racked."""
    with open(f"{PLACE}/facts.json") as file:  # noqa: PTH123 - started for every command: few imports
        found: dict[str, Any] = json.load(file)
    return found


@contextlib.contextmanager
def lasting() -> Iterator[dict[str, Any]]:
    """What is on the machine's disk: packages, units, drives. Written when the block ends, whole or not at all."""
    with _state(f"{PLACE}/state.json") as state:
        if "packages" not in state:
            state["packages"] = {name: {"version": each, "held": False} for name, each in facts()["packages"].items()}
        yield state


@contextlib.contextmanager
def until_boot() -> Iterator[dict[str, Any]]:
    """What a boot ends: units that run, mounts, clocks of GPUs."""
    with _state(BOOTED) as state:
        yield state


@contextlib.contextmanager
def _state(path: str) -> Iterator[dict[str, Any]]:
    with open(f"{path}.lock", "w") as lock:  # noqa: PTH123
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with open(path) as file:  # noqa: PTH123
                state: dict[str, Any] = json.load(file)
        except FileNotFoundError:
            state = {}
        before = json.dumps(state, sort_keys=True)
        yield state
        after = json.dumps(state, sort_keys=True)
        if after != before:
            with open(f"{path}.new", "w") as file:  # noqa: PTH123
                file.write(after)
            os.replace(f"{path}.new", path)  # noqa: PTH105


def called(name: str, words: list[str]) -> None:
    """Add a call to the machine's list; a fault that was ordered for it happens here."""
    with open(f"{PLACE}/calls.jsonl", "a") as file:  # noqa: PTH123
        file.write(json.dumps([name, *words]) + "\n")
    _suffer(name, words)


def _suffer(name: str, words: list[str]) -> None:
    """Faults that were ordered: lines `WORD... => ACTION` in faults.json."""
    try:
        with open(f"{PLACE}/faults.json") as file:  # noqa: PTH123
            faults: dict[str, str] = json.load(file)
    except FileNotFoundError:
        return
    line = " ".join([name, *words])
    for mark, action in faults.items():
        if mark not in line:
            continue
        if action in ("power", "cut"):
            os.unlink(f"{PLACE}/faults.json")  # noqa: PTH108 - it happens once
        if action == "cut":
            _cut()
            continue
        if action == "power":
            with open(f"{PLACE}/off", "w"):  # noqa: PTH123
                time.sleep(60)
        raise SystemExit(complain(f"{name}: {action}", 1))


def _cut() -> None:
    """End the SSH session that this command is part of, as a network does that goes away."""
    pid, names = os.getpid(), []
    while pid > 1:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
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
    own = f"{os.getpid()}-{time.monotonic_ns()}"
    asked, answer = f"{PLACE}/ask-{own}.json", f"{PLACE}/answer-{own}.json"
    handle = os.open(f"{asked}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(question, file)
    os.rename(f"{asked}.new", asked)  # noqa: PTH104
    deadline = time.monotonic() + ANSWER_SECONDS
    while not os.path.exists(answer):  # noqa: PTH110
        if time.monotonic() > deadline:
            return {"error": "the API server does not answer: context deadline exceeded"}
        time.sleep(0.02)
    with open(answer) as file:  # noqa: PTH123
        found: dict[str, str] = json.load(file)
    os.unlink(answer)  # noqa: PTH108
    return found
