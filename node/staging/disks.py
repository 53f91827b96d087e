"""The disks of a node on which datasets lie: who holds one, and how room is made for another."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pumping import removed

SUMS = "SHA256SUMS"
"""The last file of a dataset that is whole, and its marker: what has none is nobody's to take away."""


class StagingError(Exception):
    """It cannot be brought; the text says why, and what to do."""


@dataclass
class Disks:
    """The directory `root` on the node's own disks. `pods` is where the kubelet has a directory for each pod that is
    there (its own root directory, /pods); without it what any pod ever held is held without end.
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
        there = [each for each in self.root.iterdir() if each.name[0] != "." and (each / SUMS).is_file()]
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
                        removed(self.root / name)
                        gone.append(name)
        if self.free() < size:
            kept = ", ".join(f"{each} (held by {len(self.held(each))} pods)" for each in self.whole() if each != keep)
            raise StagingError(
                f"{keep} needs {size / 1e9:.1f} GB on the node's disks, and {self.free() / 1e9:.1f} GB are free"
                + (f" beside {kept}" if kept else "")
                + ": stage a shard of it, or none (dataset.staging)"
            )
        return gone
