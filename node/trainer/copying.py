"""Copies whole saves from a node's own disk to the file system all nodes share, checks them, and keeps the last ones.

A node holds only its ranks' files of a save, so each node copies a part, and the save is whole when all parts are.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import saves
import sealing
from pumping import hash_of, pumped, sums

COMMON = ("meta.json", ".metadata")
"""Files that every node has the same of: those of the first part are copied."""

COPIERS = 4
"""Files copied at once: a node's ranks wrote one each, and a hash keeps a core busy."""


class CorruptError(ValueError):
    """A file of a save is not what was saved."""


def copy(source: Path, root: Path, part: int, parts: int) -> Path | None:
    """Copies a whole save into `root`; the save there once all parts are, else None.

    Each file is hashed while it is read, and its copy read back from the disk: a bit that flipped on either side ends
    the copy with CorruptError or ValueError, before anything has the name of a save. Raises OSError where the disk is
    full; then nothing is left.
    """
    if saves.step_of(source) is None:
        raise ValueError(f"{source} is not a checkpoint")
    target = root / source.name
    if saves.check(target, hashes=False).state == "whole":
        return target
    place = saves.aside(root, source.name)
    place.mkdir(parents=True, exist_ok=True)
    known = sums(source / saves.SUMS)
    others = {*COMMON, *sealing.of_first(place)} if part else ()
    own = {name: digest for name, digest in known.items() if name not in others}
    with ThreadPoolExecutor(COPIERS) as copiers:
        list(copiers.map(lambda name: _copy_file(source / name, place / name, own[name]), own))
    saves.wrote(place, part, own, own)
    return saves.finish(root, source.name, parts, replace=False)


def _copy_file(source: Path, target: Path, digest: str) -> None:
    if target.exists() and hash_of(target) == digest:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        read, whole = pumped(source, target)
        if read != digest:
            raise CorruptError(f"{source.name} does not match its SHA256SUMS")
        if not whole:
            raise ValueError(f"{target} reads back different from what was written; check the file system")
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def once(local: Path, shared: Path, *, part: int, parts: int, keep: int) -> list[str]:
    """One round: the newest whole save goes on if it is not there yet, old ones go. Lines for the log.

    The hashes of a save are looked at while it is copied, and of one that is there already not again.
    """
    said = []
    for each in saves.saves_in(local):
        verdict = saves.check(each, hashes=False)
        if verdict.state == "whole":
            try:
                said += _brought(each, shared, part, parts)
                break
            except CorruptError as error:
                verdict = saves.Verdict("corrupt", str(error))
        said.append(f"skipped {each}: {verdict.state}, {verdict.why}")
    said += [f"removed {each}" for each in saves.prune(local, keep)]
    if part == 0:
        said += [f"removed {each}" for each in saves.prune(shared, keep)]
    return said


def _brought(save: Path, shared: Path, part: int, parts: int) -> list[str]:
    """Copies a save that is not there; what was done."""
    if (shared / save.name).exists():
        return []
    begun = time.monotonic()
    whole = copy(save, shared, part, parts)
    state = "whole" if whole else f"waits for the other parts of {parts}"
    return [f"copied {save} to {shared} in {time.monotonic() - begun:.1f} s: {state}"]


def main(words: Sequence[str]) -> int:
    """Rounds until SIGTERM, after which a last one takes the save that the run made when it was told to stop.

    With --quiet-seconds the saves are another framework's, which are sealed first; without --local they are sealed
    where they lie, by the first part alone.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--local", type=Path)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--every-seconds", type=float, required=True)
    parser.add_argument("--keep", type=int, required=True)
    parser.add_argument("--part", type=int, default=int(os.environ.get("RANK", "0")))
    parser.add_argument("--first", type=int, default=0, help="number of the first part of this pod's role")
    parser.add_argument("--parts", type=int, required=True)
    parser.add_argument("--quiet-seconds", type=float, help="how long nothing changes in a save before it is sealed")
    asked = parser.parse_args(words)
    part, local = asked.first + asked.part, asked.local or asked.shared
    sealer = sealing.Sealer(local, asked.shared, part, asked.quiet_seconds) if asked.quiet_seconds is not None else None
    stop = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop.set())
    failed, parent = False, os.getppid()
    pace = asked.every_seconds if sealer is None else min(asked.every_seconds, asked.quiet_seconds)
    copied_at = time.monotonic()
    while True:
        last = _wait(stop, pace, parent)
        # The first part keeps the pace of copies; the others follow it.
        due = sealer is None or last or part > 0 or time.monotonic() - copied_at >= asked.every_seconds
        try:
            said = sealer.look(last=last) if sealer else []
            if asked.local and due:
                copied_at = time.monotonic()
                said += once(local, asked.shared, part=part, parts=asked.parts, keep=asked.keep)
            elif not asked.local and part == 0:
                said += [f"removed {each}" for each in saves.prune(asked.shared, asked.keep)]
            failed = False
        except (OSError, ValueError) as error:
            said, failed = [f"not copied: {error}"], True
        for line in said:
            print(line, flush=True)
        if last and not (sealer and sealer.waits()):
            return 1 if failed else 0
        if last:
            time.sleep(1)


def _wait(stop: threading.Event, seconds: float, parent: int) -> bool:
    """Whether it is to end: it was told to, or the trainer that started it is gone, and another has its own copier."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if stop.wait(min(1.0, left)) or os.getppid() != parent:
            return True
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
