"""What others need to know of a hall: how to enter its network, and which key stands in for which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal import places
from rehearsal.processes import Identity

HALL = "REHEARSAL_HALL"
"""The variable that leads a plugin to the record of its site's hall."""


@dataclass(frozen=True)
class Record:
    """A hall that runs: its keeper's process, and the public keys of its hosts.

    The private half of a key that a stack file names is on the site's own server. In its place stands one of the
    hall's: `keys` maps each named key to it, both as `TYPE BASE64`.
    """

    keeper: Identity
    user: bool
    keys: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """The record in a file; None if there is none, or its hall is gone."""
        content: Any = places.read_json(path)
        keeper = Identity.from_record((content or {}).get("keeper"))
        if keeper is None or not keeper.alive():
            return None
        return cls(keeper, bool(content.get("user")), dict(content.get("keys") or {}))

    def write(self, path: Path) -> None:
        places.write_json(path, {"keeper": self.keeper.record(), "user": self.user, "keys": dict(self.keys)})

    def enter(self, *, mounts: bool = False) -> tuple[str, ...]:
        """The words before a command that is to run in the hall's network, and perhaps among its mounts."""
        words = ["nsenter", f"--target={self.keeper.pid}", "--net"]
        if self.user:
            words += ["--user", "--preserve-credentials"]
        if mounts:
            words.append("--mount")
        return (*words, "--")

    def stand_in(self, kind: str, key: str) -> tuple[str, str]:
        """The key to believe where a stack file names this one."""
        found = self.keys.get(f"{kind} {key}", f"{kind} {key}")
        first, _, second = found.partition(" ")
        return first, second
