"""Brings a dataset, or a node's part of it, from the shared file system to the node's own disks.

A dataset lies in a directory named by what it is (its name and the hash of its source), which appears whole or not at
all: files are copied aside, read back from the disk and compared, and the directory gets its name at the end. Whoever
comes second waits for the first and finds it there; what a killed one copied is not copied again. Where several
datasets share the disks, room is made by taking away whole ones that no pod holds.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import hashlib
import io
import os
import re
import shutil
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

SUMS, DONE = "SHA256SUMS", ".done"
COPIERS = min(16, max(4, (os.cpu_count() or 4) // 2))
"""Files copied at once: a hash keeps a core busy, and network file systems like several readers. Each takes 64 MiB."""

_CHUNK = 1 << 20
"""Small enough to stay in a core's cache between its read, its hash and its write."""

_RUN = 32
"""So many parts are on their way to the disk and back while the next are copied."""

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


class StagingError(Exception):
    """It cannot be brought; the text says why, and what to do."""


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
class Disks:
    """The directory `root` on the node's own disks. `pods` is where the kubelet has a directory for each pod that is
    there (its own root directory, /pods); without it what any pod ever held is held for ever.
    """

    root: Path
    pods: Path | None = None

    @contextlib.contextmanager
    def locked(self, name: str, *, wait: bool = True) -> Iterator[bool]:
        """Nobody else changes this dataset meanwhile; False where somebody does, and it was not to `wait`. A lock ends
        with its process, however that ends.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / f".lock-{name}").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            yield True

    def hold(self, name: str, pod: str) -> None:
        """Notes, under the dataset's lock, that a pod reads it."""
        place = self.root / ".holds" / name
        place.mkdir(parents=True, exist_ok=True)
        (place / pod).touch()

    def held(self, name: str) -> list[str]:
        """The pods that read it; notes of pods that are gone go, too."""
        place, found = self.root / ".holds" / name, []
        for each in sorted(place.iterdir()) if place.is_dir() else ():
            if self.pods is not None and not (self.pods / each.name).exists():
                each.unlink(missing_ok=True)
            else:
                found.append(each.name)
        return found

    def whole(self) -> list[str]:
        """Datasets that are there, the one that came first at the front."""
        there = [each for each in self.root.iterdir() if each.is_dir() and not each.name.startswith(".")]
        return [each.name for each in sorted(there, key=lambda each: (each.stat().st_mtime, each.name))]

    def free(self) -> int:
        """Bytes that are left."""
        found = os.statvfs(self.root)
        return found.f_bavail * found.f_frsize

    def make_room(self, size: int, keep: str) -> list[str]:
        """Takes whole datasets away that nobody holds until `size` bytes are free; their names. Raises StagingError."""
        gone: list[str] = []
        for left in self.root.glob(".gone-*"):
            shutil.rmtree(left, ignore_errors=True)
        for name in self.whole():
            if self.free() >= size:
                break
            if name != keep:
                with self.locked(name, wait=False) as mine:
                    if mine and not self.held(name):
                        self.remove(self.root / name)
                        gone.append(name)
        if self.free() < size:
            kept = ", ".join(f"{each} (held by {len(self.held(each))} pods)" for each in self.whole() if each != keep)
            raise StagingError(
                f"{keep} needs {size / 1e9:.1f} GB on the node's disks, and {self.free() / 1e9:.1f} GB are free"
                + (f" beside {kept}" if kept else "")
                + ": stage a shard of it, or none (dataset.staging)"
            )
        return gone

    def remove(self, path: Path) -> None:
        """In two steps: what is half removed has another name, and is nobody's dataset."""
        going = self.root / f".gone-{os.getpid()}-{path.name.lstrip('.')}"
        shutil.rmtree(going, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            path.rename(going)
        shutil.rmtree(going, ignore_errors=True)


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
        self.disks.remove(self.target)
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
        _write(self.aside / SUMS, "".join(f"{found[each]}  {each}\n" for each in sorted(files)))
        (self.aside / DONE).unlink(missing_ok=True)
        self.aside.rename(self.target)
        _sync(self.disks.root)
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
                    f"{file} of {self.source} is corrupt: it hashes to {read}, and {SUMS} there says {known}; bring "
                    "the dataset to the shared file system again"
                )
            if whole:
                with self._journal, (self.aside / DONE).open("a", encoding="utf-8") as journal:
                    journal.write(f"{read}  {file}\n")
                    journal.flush()
                    os.fsync(journal.fileno())
                return read
        raise StagingError(f"{file} differs on the node's disks after two copies: take the node out, its disk is sick")

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
                f"the node's disks are full at {file}: {free:.1f} GB are left, which somebody else took"
            ) from error


def listed(source: Path) -> list[str]:
    """Files below a directory, by their paths there, sorted; SHA256SUMS is about them. Raises StagingError."""
    there = (each for each in source.rglob("*") if each.is_file()) if source.is_dir() else ()
    files = sorted(name for each in there if (name := str(each.relative_to(source))) != SUMS)
    if not files:
        raise StagingError(f"no file lies below {source}: the dataset has not been brought to the shared file system")
    return files


def sums(path: Path) -> dict[str, str]:
    """Hashes by file, of the lines that are whole; nothing where there is no such file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except FileNotFoundError:
        return {}
    whole = (_LINE.fullmatch(line.rstrip("\n")) for line in lines if line.endswith("\n"))
    return {found[2]: found[1] for found in whole if found}


def pumped(source: Path, place: Path) -> tuple[str, bool]:
    """Copies a file to the disk; the hash of what was read, and whether the disk gives back what was written to it.

    Each part is hashed while it is written, and each run of parts is written out, forgotten by the node and read again
    while the next is copied: hashlib and the kernel do without Python's lock. What is read again is compared, which
    takes a tenth of what another hash would. Memory is taken once: fresh pages cost as much as a copy.
    """
    digest, offset, whole = hashlib.sha256(), 0, True
    runs = deque([bytearray(_CHUNK) for _ in range(_RUN)] for _ in range(2))
    checks: deque[Future[bool]] = deque()
    with (
        source.open("rb", buffering=0) as there,
        place.open("w+b", buffering=0) as copy,
        ThreadPoolExecutor(1) as hasher,
        ThreadPoolExecutor(1) as checker,
    ):
        while sizes := _copied_run(there, copy, runs[0], digest, hasher):
            checks.append(checker.submit(came_back, copy.fileno(), offset, runs[0], sizes))
            offset += sum(sizes)
            runs.rotate()
            if len(checks) > 1:
                whole &= checks.popleft().result()
        whole &= all(each.result() for each in checks)
        os.fsync(copy.fileno())
    return digest.hexdigest(), whole


def _copied_run(
    there: io.FileIO, copy: io.FileIO, parts: Sequence[bytearray], digest: hashlib._Hash, hasher: ThreadPoolExecutor
) -> list[int]:
    """Copies the next parts of a file, which stay in these buffers; their sizes, none at its end."""
    sizes: list[int] = []
    hashed: Future[None] | None = None
    for part in parts:
        size = there.readinto(part)
        if not size:
            break
        sizes.append(size)
        left = memoryview(part)[:size]
        hashed = hasher.submit(digest.update, left)
        while left:
            left = left[copy.write(left) :]
    if hashed is not None:
        hashed.result()
    return sizes


def came_back(descriptor: int, offset: int, parts: Sequence[bytearray], sizes: Sequence[int]) -> bool:
    """Whether the disk, not the node's memory, holds so many bytes of these parts from there on."""
    os.fdatasync(descriptor)
    os.posix_fadvise(descriptor, offset, sum(sizes), os.POSIX_FADV_DONTNEED)
    again = bytearray(_CHUNK)
    for part, size in zip(parts, sizes, strict=False):
        if os.preadv(descriptor, [memoryview(again)[:size]], offset) != size:
            return False
        if again != part if size == _CHUNK else again[:size] != part[:size]:
            return False
        offset += size
    return True


def hash_of(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    digest, buffer = hashlib.sha256(), bytearray(_CHUNK)
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            digest.update(memoryview(buffer)[:size])
    return digest.hexdigest()


def _hash_or_none(path: Path) -> str | None:
    return hash_of(path) if path.is_file() else None


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def main(words: Sequence[str]) -> int:
    """Brings the dataset and says so; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True, help="on the node's own disks")
    parser.add_argument("--name", required=True, help="of its directory there: another source is another name")
    parser.add_argument("--pod", required=True, help="UID of the pod that reads it")
    parser.add_argument("--pods", type=Path, help="where the kubelet has a directory for each pod")
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
        print(f"{asked.name} was not brought to this node: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
