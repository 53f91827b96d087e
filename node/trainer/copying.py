"""Copies whole saves from a node's own disk to the file system all nodes share, checks them, and keeps the last ones.

A node holds only its ranks' files of a save, so each node copies a part, and the save is whole when all parts are.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import saves

COMMON = ("meta.json", ".metadata")
"""Files that every node has the same of: those of the first part are copied."""

_CHUNK = 1 << 22


def copy(source: Path, root: Path, part: int, parts: int) -> Path | None:
    """Copies a whole save into `root`; the save there once all parts are, else None.

    Each file is hashed while it is read, and its copy read again: a bit that flipped on either side ends the copy with
    ValueError, before anything has the name of a save. Raises OSError where the disk is full; then nothing is left.
    """
    step = saves.step_of(source)
    if step is None:
        raise ValueError(f"{source} is no save")
    target = root / source.name
    if saves.check(target, hashes=False).state == "whole":
        return target
    place = saves.aside(root, step)
    place.mkdir(parents=True, exist_ok=True)
    lines = (source / saves.SUMS).read_text(encoding="utf-8").splitlines()
    names = []
    for line in lines:
        digest, _, name = line.partition("  ")
        if part and name in COMMON:
            continue
        try:
            _copy_file(source / name, place / name, digest)
        except BaseException:
            (place / name).unlink(missing_ok=True)
            raise
        names.append(name)
    saves.wrote(place, part, names)
    return saves.finish(root, step, parts, replace=False)


def _copy_file(source: Path, target: Path, digest: str) -> None:
    if target.exists() and saves.hash_of(target) == digest:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    read = hashlib.sha256()
    with source.open("rb") as incoming, target.open("wb") as outgoing:
        while chunk := incoming.read(_CHUNK):
            read.update(chunk)
            outgoing.write(chunk)
        outgoing.flush()
        os.fsync(outgoing.fileno())
    if read.hexdigest() != digest:
        raise ValueError(f"{source} differs from its hash; it is not copied")
    if saves.hash_of(target) != digest:
        raise ValueError(f"{target} differs from what was written there; look at the file system")


def once(local: Path, shared: Path, *, part: int, parts: int, keep: int) -> list[str]:
    """One round: the newest whole save goes on if it is not there yet, old ones go. Lines for the log."""
    found, skipped = saves.newest([local])
    said = [f"skipped {each.path}: {each.verdict.state}, {each.verdict.why}" for each in skipped]
    if found is not None and not (shared / found.name).exists():
        begun = time.monotonic()
        whole = copy(found, shared, part, parts)
        state = "whole" if whole else f"waits for the other parts of {parts}"
        said.append(f"copied {found} to {shared} in {time.monotonic() - begun:.1f} s: {state}")
    said += [f"removed {each}" for each in saves.prune(local, keep)]
    if part == 0:
        said += [f"removed {each}" for each in saves.prune(shared, keep)]
    return said


def main(words: Sequence[str]) -> int:
    """Rounds until SIGTERM, after which a last one takes the save that the run made when it was told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--local", type=Path, required=True)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--every-seconds", type=float, required=True)
    parser.add_argument("--keep", type=int, required=True)
    parser.add_argument("--part", type=int, default=int(os.environ.get("RANK", "0")))
    parser.add_argument("--parts", type=int, required=True)
    asked = parser.parse_args(words)
    stop = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop.set())
    failed, parent = False, os.getppid()
    while True:
        last = _wait(stop, asked.every_seconds, parent)
        try:
            said = once(asked.local, asked.shared, part=asked.part, parts=asked.parts, keep=asked.keep)
            failed = False
        except (OSError, ValueError) as error:
            said, failed = [f"not copied: {error}"], True
        for line in said:
            print(line, flush=True)
        if last:
            return 1 if failed else 0


def _wait(stop: threading.Event, seconds: float, parent: int) -> bool:
    """Whether it is to end: it was told to, or the trainer that started it is gone, and another has its own copier."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if stop.wait(min(1.0, left)) or os.getppid() != parent:
            return True
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
