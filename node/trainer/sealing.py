"""Seals what other frameworks saved: a save that its framework calls complete gets its hashes, and is a save like any.

How a framework says so: Megatron-LM and NeMo's Megatron-Bridge write the number of their newest iteration to a file
after a barrier of all ranks, or, saved in the background, when all have written (megatron/training/checkpointing.py,
iter_finalize_fn; megatron/bridge/training/checkpointing.py, train_state_finalize_fn); PyTorch's distributed checkpoints
get their index from rank 0, last and by a rename, when all ranks have told it what they wrote
(torch/distributed/checkpoint/filesystem.py, finish; state_dict_saver.py, finish_checkpoint); DeepSpeed names its newest
save in a file that rank 0 writes when it is done itself, before it waits for others (deepspeed/runtime/engine.py,
save_checkpoint). So a save is sealed when nothing in it changed for a while as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import saves

ITERATION, LATEST, INDEX = "latest_checkpointed_iteration.txt", "latest", ".metadata"
FIRST = ".part-0"
"""In a copy on its way: the first part says that it is done, and so that the save was complete on all nodes."""


class Sealer:
    """Of one node: saves appear in `local` and go on to `shared`, which may be the same directory.

    Only the node of rank 0 (`part` 0) has its framework's word; the others take its copy in `shared` for it. What they
    have of a save is sealed then: every node of a run that saves to its own disks has a directory of that name.
    """

    def __init__(
        self, local: Path, shared: Path, part: int, quiet_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._local, self._shared, self._part = local, shared, part
        self._quiet_s, self._clock = quiet_s, clock
        self._seen: dict[Path, tuple[list[tuple[str, int, int]], float]] = {}
        if part == 0 and local != shared:
            # What an earlier process of the run left on its way would be taken for a save of this one.
            saves.forget_asides(shared)

    def look(self, *, last: bool = False) -> list[str]:
        """Seals what can be; lines for the log. The `last` look comes when the run's processes are gone."""
        said = []
        for path in list(self._complete() if self._part == 0 else self._copied()):
            if self._is_quiet(path) or (last and (self._part or (path / INDEX).exists())):
                said.append(f"sealed {path}" if saves.seal(path) else f"{path} changes while it is hashed")
                self._seen.pop(path, None)
        self._name_latest()
        return said

    def waits(self) -> bool:
        """Whether this node's newest save is for the first node to call complete; the pod's end bounds the wait."""
        newest = saves.saves_in(self._local)[:1] if self._part and self._local != self._shared else []
        return any(not saves.is_sealed(each) for each in newest)

    def _complete(self) -> Iterator[Path]:
        """Saves without hashes that their framework calls complete."""
        newest = _newest(self._local)
        for path in _unsealed(self._local):
            step = saves.step_of(path) or 0
            if (path / INDEX).exists() if newest is None else step <= newest:
                yield path

    def _copied(self) -> Iterator[Path]:
        """Saves without hashes that the first node has copied. Without disks of its own a node has nothing to do."""
        if self._local != self._shared:
            yield from (
                each for each in _unsealed(self._local) if (saves.aside(self._shared, each.name) / FIRST).exists()
            )

    def _is_quiet(self, path: Path) -> bool:
        """By this process' own clock: those of file servers differ."""
        found, now = saves.listed(path), self._clock()
        before, since = self._seen.get(path, ([], now))
        self._seen[path] = (found, since if found == before else now)
        return found == before and now - since >= self._quiet_s

    def _name_latest(self) -> None:
        """DeepSpeed begins at the save that a file beside it names: in `shared` that is the newest whole one."""
        if self._part or self._local == self._shared or not (self._local / LATEST).exists():
            return
        newest, _ = saves.newest(self._shared, hashes=False)
        beside = self._shared / LATEST
        if newest is not None and (not beside.exists() or beside.read_text(encoding="utf-8") != newest.name):
            saves.write(beside, newest.name, self._shared)


def of_first(place: Path) -> set[str]:
    """Names of files that the first part of a copy brings: where every node has one of that name, it is that one's."""
    try:
        lines = (place / FIRST).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return set()
    return {line.partition("  ")[2] for line in lines}


def _unsealed(root: Path) -> list[Path]:
    """Saves without hashes, or with other files than were hashed: a run that went back saves a step again."""
    return [each for each in saves.saves_in(root) if not saves.is_sealed(each)]


def _newest(root: Path) -> int | None:
    """The step of the newest save by a file of the framework's; None where it keeps none."""
    for name in (ITERATION, LATEST):
        try:
            word = (root / name).read_text(encoding="utf-8").strip()
        except (FileNotFoundError, IsADirectoryError):
            continue
        return int(word) if word.isdigit() else saves.step_of(Path(word)) or 0
    return None
