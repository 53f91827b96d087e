"""Files on their way to a disk, and their hashes: what was written is read back from it, and compared."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import shutil
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

_CHUNK = 1 << 20
"""Small enough to stay in a core's cache between its read, its hash and its write."""

_RUN = 8
"""So many parts are on their way to the disk and back while the next are copied: more are fresh pages, and leave the
caches before they are compared; fewer wait for the disk more often."""

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


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


def written(path: Path, text: str) -> None:
    """Writes a file that is whole on the disk when this returns, as is its name."""
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    synced(path.parent)


def synced(path: Path) -> None:
    """Brings the names in a directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def removed(path: Path) -> None:
    """Takes a directory away in two steps: what is half removed has another name, and is nobody's dataset or save."""
    going = path.with_name(f".gone-{os.getpid()}-{path.name.lstrip('.')}")
    shutil.rmtree(going, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        path.rename(going)
    shutil.rmtree(going, ignore_errors=True)
