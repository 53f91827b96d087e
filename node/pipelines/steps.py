"""What every step of the pipeline shares: it is done whole or not at all, once, and says in a sentence what is wrong.

A step's directory holds what it made and RECORD, which is written last: what was asked of it, its files with their
SHA-256, and what is worth knowing. A step of which the same is asked, and whose files are still those, has nothing to
do; one that was broken off begins anew, but for training, which goes on at its saves.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RECORD = "STEP.json"
_CHUNK = 1 << 22


class StepError(Exception):
    """What is wrong, where, and what to do: one sentence for the log, and the pod's last words."""


@dataclass(frozen=True)
class Made:
    """What a step made: names of its files below its directory, and facts about them."""

    files: Sequence[str]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """A step that was done: `asked` of it, `files` by name with their SHA-256, and `facts`."""

    step: str
    asked: Mapping[str, Any]
    files: Mapping[str, str]
    facts: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """SHA-256 of all of it: another one means that what follows is to be done again."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def hash_of(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def read(place: Path) -> Record | None:
    """The record of a step's directory, None where it was not done. Raises StepError for one that is no record."""
    try:
        return Record(**json.loads((place / RECORD).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise StepError(
            f"{place / RECORD} is not the record of a step ({error}); remove {place} and run again"
        ) from None


def before(place: Path, step: str) -> Record:
    """The record of a step that comes before, with its files as they were made. Raises StepError."""
    found = read(place)
    if found is None or found.step != step:
        raise StepError(f"{place} has no finished step {step}; run {step} first, or give its directory")
    if wrong := differing(place, found):
        raise StepError(f"{place / wrong} is not what {step} wrote; run {step} again")
    return found


def differing(place: Path, record: Record) -> str | None:
    """The first file that is gone, or has another hash."""
    for name, digest in sorted(record.files.items()):
        path = place / name
        if not path.is_file() or hash_of(path) != digest:
            return name
    return None


def do(
    step: str, place: Path, asked: Mapping[str, Any], make: Callable[[Path], Made], *, goes_on: bool = False
) -> Record:
    """Does a step unless it was done; its record. One that `goes_on` finds what an earlier attempt left.

    Raises StepError, and then no directory looks like a finished step.
    """
    known = read(place)
    if known is not None and (known.step, dict(known.asked)) == (step, dict(asked)):
        wrong = differing(place, known)
        if wrong is None:
            print(f"{step}: already done", flush=True)
            return known
        print(f"{step}: {wrong} is missing or changed; running again", flush=True)
    work = place if goes_on else place.with_name(f".{place.name}")
    if goes_on:
        (place / RECORD).unlink(missing_ok=True)
    else:
        shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    made = make(work)
    record = Record(step, dict(asked), {name: hash_of(work / name) for name in made.files}, dict(made.facts))
    kept(work / RECORD, json.dumps(asdict(record), indent=1, sort_keys=True) + "\n")
    if not goes_on:
        shutil.rmtree(place, ignore_errors=True)
        work.rename(place)
    print(f"{step}: done", flush=True)
    return record


def kept(path: Path, text: str) -> None:
    """A file that is whole or not there, and on the disk."""
    aside = path.with_name(f".{path.name}")
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.rename(path)


def ended(main: Callable[[Sequence[str]], object], words: Iterable[str]) -> int:
    """The status of a step: 1, and its sentence on the standard error, where something is wrong."""
    try:
        main(list(words))
    except StepError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1
    except OSError as error:
        print(f"error: {error.filename or 'the file system'}: {error.strerror or error}", file=sys.stderr, flush=True)
        return 1
    return 0
