"""Checkpoints as directories that are whole or not there: written aside, hashed, then renamed.

A save of step 120 is the directory `step-000000120`. It is whole when it holds SHA256SUMS, as sha256sum writes it, and
every file hashes to its line. While it is written it lies beside under a name that begins with a dot. Several writers
(ranks, or nodes that copy) write parts of one save: each says what it wrote in `.part-N`, and the save is finished by
whoever finds all parts there. Nothing here needs more than Python 3.10: it runs in any image.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pumping import hash_of, removed, synced

SUMS, SEALED = "SHA256SUMS", ".sealed"
KEEP = "KEEP"
"""An empty file of this name in a save, or of one that begins so, keeps it from being pruned."""

_NAME = re.compile(r"(?:step|global_step|iter|checkpoint)[-_]?(\d+)")
"""This trainer's own name, DeepSpeed's, Megatron-LM's, and Hugging Face's; scripts on PyTorch take one of them."""
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


@dataclass(frozen=True)
class Verdict:
    """What a save is: `whole`, `half` (never finished), `missing` (files are gone) or `corrupt`, and why."""

    state: str
    why: str = ""


def name_of(step: int | str) -> str:
    """The directory of a step; names sort as steps do. A framework's own name stays."""
    return step if isinstance(step, str) else f"step-{step:09d}"


def step_of(path: Path) -> int | None:
    """The step of a directory, None for what is no save."""
    found = _NAME.fullmatch(path.name)
    return int(found[1]) if found else None


def aside(root: Path, step: int | str) -> Path:
    """Where the save of a step is written before it is whole."""
    return root / f".{name_of(step)}"


def begin(root: Path, step: int) -> Path:
    """An empty directory for the files of all parts, made once. What an earlier attempt left there is gone."""
    place = aside(root, step)
    removed(place)
    place.mkdir(parents=True)
    return place


def forget_asides(root: Path) -> None:
    """Removes all that is on its way."""
    for each in root.glob(".*"):
        if step_of(each.with_name(each.name.removeprefix("."))) is not None:
            removed(each)


def wrote(place: Path, part: int, names: Iterable[str], known: Mapping[str, str] | None = None) -> None:
    """Says that a writer is done with its files, which are on the disk then. Names are relative to `place`.

    Hashes that are `known` of what lies there are taken as they are.
    """
    lines = []
    for name in sorted(names):
        synced(place / name)
        lines.append(f"{(known or {}).get(name) or hash_of(place / name)}  {name}\n")
    write(place / f".part-{part}", "".join(lines), place)


def finish(root: Path, step: int | str, parts: int, *, replace: bool = True) -> Path | None:
    """The whole save, or None while parts are missing. Several may call it at once; one of them renames it.

    A whole save of that step that is there already gives way, or without `replace` stays.
    """
    place, target = aside(root, step), root / name_of(step)
    files = [place / f".part-{part}" for part in range(parts)]
    try:
        lines = sorted(line for file in files for line in file.read_text(encoding="utf-8").splitlines(keepends=True))
        if not lines:
            raise ValueError(f"{place} has no files, so it cannot be a checkpoint")
        write(place / SUMS, "".join(lines), root)
        for file in files:
            file.unlink(missing_ok=True)
        _rename(place, target, replace=replace)
    except FileNotFoundError:
        return target if check(target, hashes=False).state == "whole" else None
    synced(root)
    return target


def seal(path: Path) -> bool:
    """Makes a save of a directory that another program wrote: its files as they are now, hashed. False where one of
    them changed meanwhile.

    What was hashed is said beside it before the hashes: whoever ends between the two leaves no save.
    """
    before = listed(path)
    if _sealed_before(path, before):
        write(path / SEALED, json.dumps(before), path.parent)
        return True
    (path / SUMS).unlink(missing_ok=True)
    lines = [f"{hash_of(path / name)}  {name}\n" for name, *_ in before]
    if not lines or listed(path) != before:
        return False
    write(path / SEALED, json.dumps(before), path.parent)
    write(path / SUMS, "".join(lines), path.parent)
    return True


def is_sealed(path: Path) -> bool:
    """Whether the files are those that were hashed, by name, size and time. Which time is the later one says nothing:
    a step that is saved again may come from a node whose clock is behind.
    """
    try:
        hashed = (path / SEALED).read_text(encoding="utf-8")
    except (FileNotFoundError, ValueError):
        return False
    return (path / SUMS).exists() and hashed == json.dumps(listed(path))


def _sealed_before(path: Path, files: list[tuple[str, int, int]]) -> bool:
    """Whether it has hashes from when nobody said beside them what was hashed. They stay, right or wrong, unless a file
    is later than they are and does not match: then the step was saved again.
    """
    if (path / SEALED).exists() or not (path / SUMS).exists():
        return False
    since = (path / SUMS).stat().st_mtime_ns
    return all(changed <= since for *_, changed in files) or check(path).state == "whole"


def listed(path: Path) -> list[tuple[str, int, int]]:
    """Files of a save by name, with size and time of the last change."""
    found = ((str(each.relative_to(path)), each.stat()) for each in path.rglob("*") if each.is_file())
    return sorted(
        (name, info.st_size, info.st_mtime_ns)
        for name, info in found
        if name not in (SUMS, SEALED) and not name.startswith(KEEP)
    )


def _rename(place: Path, target: Path, *, replace: bool) -> None:
    try:
        place.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not replace and check(target, hashes=False).state == "whole":
            removed(place)
            return
        removed(target)
        place.rename(target)


def check(path: Path, *, hashes: bool = True) -> Verdict:
    """What a save is; without `hashes` only whether its files are there."""
    try:
        text = (path / SUMS).read_text(encoding="utf-8")
    except FileNotFoundError:
        return Verdict("half", f"it has no {SUMS}: it was never finished")
    except (OSError, UnicodeDecodeError) as error:
        return Verdict("corrupt", f"{SUMS} cannot be read: {error}")
    lines = text.splitlines()
    if not lines or not text.endswith("\n"):
        return Verdict("corrupt", f"{SUMS} is empty or cut")
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is None:
            return Verdict("corrupt", f"{SUMS} has a line that is none of sha256sum: {line[:80]!r}")
        digest, file = found[1], path / found[2]
        try:
            if hashes and hash_of(file) != digest:
                return Verdict("corrupt", f"{found[2]} does not match its SHA256SUMS")
            if not hashes and not file.is_file():
                return Verdict("missing", f"{found[2]} is gone")
        except FileNotFoundError:
            return Verdict("missing", f"{found[2]} is gone")
        except OSError as error:
            return Verdict("corrupt", f"{found[2]} cannot be read: {error}")
    return Verdict("whole")


def saves_in(root: Path) -> list[Path]:
    """Directories of saves, the newest first; whether they are whole is not asked."""
    try:
        found = [each for each in root.iterdir() if step_of(each) is not None and each.is_dir()]
    except FileNotFoundError:
        return []
    return sorted(found, key=lambda each: step_of(each) or 0, reverse=True)


def newest(root: Path, *, hashes: bool = True) -> tuple[Path | None, list[str]]:
    """The newest whole save, and a sentence for each newer one, which is skipped."""
    skipped: list[str] = []
    for path in saves_in(root):
        verdict = check(path, hashes=hashes)
        if verdict.state == "whole":
            return path, skipped
        skipped.append(f"skipped {path}: {verdict.state}, {verdict.why}")
    return None, skipped


def prune(root: Path, keep: int) -> list[Path]:
    """Removes what is older than the newest `keep` whole saves, but for those that are kept. Returns what went.

    Half and corrupt saves count for nothing, and go when they are older than a whole one that is kept.
    """
    if keep < 1:
        raise ValueError(f"keep is {keep}; keep at least one checkpoint")
    whole, gone = 0, []
    for path in saves_in(root):
        if whole >= keep and not any(path.glob(f"{KEEP}*")):
            removed(path)
            gone.append(path)
        elif check(path, hashes=False).state == "whole":
            whole += 1
    for left in root.glob(".gone-*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
    return gone


def write(path: Path, text: str, beside: Path) -> None:
    """A file that is whole or not there, and on the disk; until then it lies in a directory `beside`."""
    descriptor, name = tempfile.mkstemp(prefix=".gone-", dir=beside)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.rename(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    synced(path.parent)
