"""Brings a dataset, or a node's part of it, from the shared file system to the node's own disks.

A dataset lies in a directory named by what it is (its name and the hash of its source), which appears whole or not at
all: files are copied aside, read back from the disk and compared, and the directory gets its name at the end. Whoever
comes second waits for the first and finds it there; what a killed one copied is not copied again. Where several
datasets share the disks, room is made by taking away whole ones that no pod holds.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from disks import SUMS, Disks, StagingError
from pumping import hash_of, pumped, removed, sums, synced, written

DONE = ".done"
COPIERS = min(16, max(4, (os.cpu_count() or 4) // 2))
"""Files copied at once: a hash keeps a core busy, and network file systems like several readers. Each takes 16 MiB."""


@dataclass(frozen=True)
class Share:
    """Which files of the dataset this node takes: of `parts` nodes it is number `part`."""

    part: int = 0
    parts: int = 1

    def of(self, names: Sequence[str]) -> list[str]:
        """Its files. Raises StagingError where there are fewer files than nodes."""
        if len(names) < self.parts:
            raise StagingError(
                f"{len(names)} files cannot be shared by {self.parts} nodes: write the dataset in more files, or stage "
                "all of it on each node (staging: full)"
            )
        return list(names[self.part :: self.parts])


@dataclass
class Staging:
    """One dataset on its way: `source` is its directory on the shared file system, `name` the one it gets here."""

    source: Path
    disks: Disks
    name: str
    share: Share = field(default_factory=Share)
    _journal: threading.Lock = field(default_factory=threading.Lock)

    @property
    def target(self) -> Path:
        return self.disks.root / self.name

    @property
    def aside(self) -> Path:
        return self.disks.root / f".partial-{self.name}"

    def bring(self, pod: str) -> str:
        """Brings it, and notes that `pod` reads it; what was done, in a sentence. Raises StagingError."""
        with self.disks.locked(self.name):
            known = sums(self.source / SUMS)
            files = self.share.of(listed(self.source))
            said = self._there(files)
            if said is None:
                said = self._copy_all(files, known)
            self.disks.hold(self.name, pod)
        return said

    def _there(self, files: Sequence[str]) -> str | None:
        """What to say of a dataset that is whole here; None where it is not, and then it is taken away."""
        if not self.target.exists():
            return None
        found = sums(self.target / SUMS)
        if sorted(found) == sorted(files) and all(_hash_or_none(self.target / each) == found[each] for each in files):
            return f"{self.name} was there: {len(files)} files, all as they were hashed"
        removed(self.target)
        return None

    def _copy_all(self, files: Sequence[str], known: Mapping[str, str]) -> str:
        self.aside.mkdir(parents=True, exist_ok=True)
        begun = sums(self.aside / DONE)
        sizes = {each: (self.source / each).stat().st_size for each in files}
        kept = [each for each in files if _hash_or_none(self.aside / each) == begun.get(each, "") != ""]
        kept = [each for each in kept if known.get(each, begun[each]) == begun[each]]
        wanted = [each for each in files if each not in set(kept)]
        for each in wanted:
            (self.aside / each).unlink(missing_ok=True)
        self.disks.make_room(sum(sizes[each] for each in wanted), self.name)
        found = {each: begun[each] for each in kept}
        with ThreadPoolExecutor(COPIERS) as copiers:
            found.update(zip(wanted, copiers.map(lambda each: self._copy(each, known.get(each)), wanted), strict=True))
        written(self.aside / SUMS, "".join(f"{found[each]}  {each}\n" for each in sorted(files)))
        (self.aside / DONE).unlink(missing_ok=True)
        self.aside.rename(self.target)
        synced(self.disks.root)
        size = sum(sizes.values())
        return f"{self.name} is here: {len(files)} files, {size / 1e9:.2f} GB, {len(kept)} of them from an earlier try"

    def _copy(self, file: str, known: str | None) -> str:
        """The hash of a file that is on the disk as it is at its source. A copy that differs is made once more."""
        place = self.aside / file
        place.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(2):
            read, whole = self._copied(file, place)
            if known is not None and read != known:
                raise StagingError(
                    f"{file} of {self.source} is corrupt: its hash is {read}, and {SUMS} has {known}; copy "
                    "the dataset to the shared file system again"
                )
            if whole:
                # A line that does not outlive its node costs one more copy: what it says is hashed before it counts.
                with self._journal, (self.aside / DONE).open("a", encoding="utf-8") as journal:
                    journal.write(f"{read}  {file}\n")
                return read
        raise StagingError(f"{file} differs on the node's disk after two copies: the disk is faulty: drain the node")

    def _copied(self, file: str, place: Path) -> tuple[str, bool]:
        """Copies; the hash of what was read, and whether the disk gives it back. A disk that is full is said."""
        try:
            return pumped(self.source / file, place)
        except OSError as error:
            place.unlink(missing_ok=True)
            if error.errno != errno.ENOSPC:
                raise
            free = self.disks.free() / 1e9
            raise StagingError(
                f"the node's disks are full at {file}: {free:.1f} GB are left, because other pods use them"
            ) from error


def listed(source: Path) -> list[str]:
    """Files below a directory, by their paths there, sorted; SHA256SUMS is about them. Raises StagingError."""
    there = (each for each in source.rglob("*") if each.is_file()) if source.is_dir() else ()
    files = sorted(name for each in there if (name := str(each.relative_to(source))) != SUMS)
    if not files:
        raise StagingError(f"no files in {source}: the dataset has not been copied to the shared file system")
    return files


def _hash_or_none(path: Path) -> str | None:
    return hash_of(path) if path.is_file() else None


def main(words: Sequence[str]) -> int:
    """Brings the dataset and says so; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True, help="directory on the node's local disks")
    parser.add_argument(
        "--name", required=True, help="name of the dataset's directory there; another source needs another name"
    )
    parser.add_argument("--pod", required=True, help="UID of the pod that reads it")
    parser.add_argument("--pods", type=Path, help="directory in which the kubelet has one for each pod")
    parser.add_argument("--part", type=int, default=0, help="number of the pod among those of its role")
    parser.add_argument("--first", type=int, default=0, help="number of the first pod of that role")
    parser.add_argument("--parts", type=int, default=1)
    asked = parser.parse_args(list(words))
    staging = Staging(
        asked.source, Disks(asked.root, asked.pods), asked.name, Share(asked.first + asked.part, asked.parts)
    )
    try:
        print(staging.bring(asked.pod), flush=True)
    except (StagingError, OSError) as error:
        print(f"{asked.name} could not be copied to this node: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
