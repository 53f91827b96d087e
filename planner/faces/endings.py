"""Training runs that a change stops: jobs are immutable, so a changed job is deleted and created again."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_MINUTE = 60
_WORDS = {"pods": "nodes", "pool": "pool", "image": "image", "script": "script", "saves": "checkpoints"}
"""What of a run is compared, and how it is called."""

Runs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Ending:
    """A run that a change ends: `why`, and what it goes on from."""

    run: str
    why: str
    whence: str

    def __str__(self) -> str:
        return f"run {self.run} stops: {self.why}; {self.whence}"


def endings(before: Runs, after: Runs) -> tuple[Ending, ...]:
    """The runs that are there before and are deleted or replaced after. What is not compared may end more of them."""
    return tuple(_endings(before, after))


def _endings(before: Runs, after: Runs) -> Iterator[Ending]:
    for name, was in before.items():
        if name not in after:
            yield Ending(
                run=name, why="the change deletes it", whence="what it computed since its last checkpoint is lost"
            )
            continue
        now = after[name]
        changed = [key for key in _WORDS if key in was and key in now and _plain(was[key]) != _plain(now[key])]
        if changed:
            why = f"its job is deleted and created again ({', '.join(_said(key, was, now) for key in changed)})"
            yield Ending(run=name, why=why, whence=f"it starts again from {whence(was)}")


def whence(run: Mapping[str, Any]) -> str:
    """The newest checkpoint that outlives a run's pods, and how old it may be."""
    saves = run["saves"]
    if not saves:
        return "its first step: it has no checkpoint"
    seconds = saves["file_system_s"] if saves["local"] else saves["every_s"]
    return f"its newest checkpoint on the shared file system, at most {round(seconds / _MINUTE):,} min old"


def _said(key: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    shown = f" {was[key]} to {now[key]}" if key in ("pods", "pool") else ""
    return f"{_WORDS[key]}{shown}"


def _plain(value: Any) -> Any:
    """As JSON has it: what another revision tells comes as JSON."""
    return json.loads(json.dumps(value))
