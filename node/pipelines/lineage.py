"""Where a model comes from, as a typed record: enough to make it again, and nothing that may be guessed."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from steps import StepError, kept

_SHAPES = {
    "dataset_sha256": (r"[0-9a-f]{64}", "64 hex digits, as snapshot says them"),
    "commit": (r"[0-9a-f]{40}", "40 hex digits, as git rev-parse HEAD says them"),
    "image": (r"\S+@sha256:[0-9a-f]{64}", "an image with its digest (NAME@sha256:...), since a tag may move"),
    "experiment": (r"[a-z0-9][a-z0-9-]{0,62}", "a name of small letters, digits and dashes"),
    "stack": (r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", "the stack's name"),
    "tokenizer": (r"bytes|[0-9a-f]{64}", "bytes, or the SHA-256 of a tokenizer's file"),
}


@dataclass(frozen=True)
class Lineage:
    """A run of the pipeline. `commit` is that of the code, `experiment` what the run is called in the tracker.

    Raises StepError for a value of another shape.
    """

    dataset_sha256: str
    commit: str
    image: str
    experiment: str
    stack: str
    tokenizer: str
    tokens: int

    def __post_init__(self) -> None:
        for name, (shape, what) in _SHAPES.items():
            value = getattr(self, name)
            if not isinstance(value, str) or not re.fullmatch(shape, value):
                raise StepError(f"lineage: {name} is {value!r}; it must be {what}")
        if not isinstance(self.tokens, int) or self.tokens < 1:
            raise StepError(f"lineage: tokens is {self.tokens!r}; it must be the number of training tokens")

    def tags(self) -> dict[str, str]:
        """As a registry keeps it."""
        return {f"gpucluster.{name}": str(value) for name, value in asdict(self).items()}

    def write(self, path: Path) -> None:
        """As JSON."""
        kept(path, json.dumps(asdict(self), indent=1, sort_keys=True) + "\n")


def read(path: Path) -> Lineage:
    """The record of a file. Raises StepError for another."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StepError(f"{path} is missing; training writes it") from None
    except ValueError as error:
        raise StepError(f"{path} is not JSON ({error})") from None
    names = {each.name for each in fields(Lineage)}
    if not isinstance(found, dict) or set(found) != names:
        raise StepError(f"{path} is not a lineage: its keys must be {', '.join(sorted(names))}")
    return Lineage(**found)
