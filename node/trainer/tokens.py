"""Batches by step and rank alone, so that a run that resumes reads on where it was, and no rank reads another's."""

from __future__ import annotations

import bisect
from itertools import accumulate
from pathlib import Path

import torch
from torch import Tensor

_BYTES = 4


class MadeUp:
    """Tokens that follow a rule with some noise, for runs without data: a model that learns gets below their noise."""

    def __init__(self, vocab: int, seed: int) -> None:
        self._vocab, self._seed = vocab, seed

    def batch(self, index: int, sequences: int, length: int) -> Tensor:
        """[sequences, length + 1], the same for the same index."""
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + index)
        first = torch.randint(self._vocab, (sequences, 1), generator=generator)
        pace = torch.randint(1, 8, (sequences, 1), generator=generator)
        noise = torch.rand((sequences, length + 1), generator=generator) < 0.05
        ruled = (first + pace * torch.arange(length + 1)) % self._vocab
        return torch.where(noise, torch.randint(self._vocab, ruled.shape, generator=generator), ruled)


class Files:
    """Tokens of 32 bits in files below a directory, one after the other, read where they lie."""

    def __init__(self, directory: Path, vocab: int) -> None:
        paths = sorted(directory.rglob("*.bin"))
        if not paths:
            raise FileNotFoundError(
                f"no *.bin files in {directory}: copy the dataset there, or set --data-dir to its directory"
            )
        sizes = [each.stat().st_size // _BYTES for each in paths]
        self._files = [
            torch.from_file(str(path), shared=False, size=size, dtype=torch.int32)
            for path, size in zip(paths, sizes, strict=True)
        ]
        self._ends = list(accumulate(sizes))
        self._vocab = vocab

    def batch(self, index: int, sequences: int, length: int) -> Tensor:
        """[sequences, length + 1]; the data begin again when they are through."""
        total = self._ends[-1] // (length + 1)
        if not total:
            raise ValueError(
                f"the files have {self._ends[-1]} tokens, fewer than one sequence of {length + 1}; add data"
            )
        rows = [self._row((index * sequences + each) % total, length) for each in range(sequences)]
        found = torch.stack(rows).long()
        if int(found.max()) >= self._vocab:
            raise ValueError(
                f"a token is {int(found.max())}, and the model has {self._vocab}: another tokenizer made them"
            )
        return found

    def _row(self, row: int, length: int) -> Tensor:
        parts, at, missing = [], row * (length + 1), length + 1
        while missing:
            file = bisect.bisect_right(self._ends, at)
            start = at - (self._ends[file - 1] if file else 0)
            part = self._files[file][start : start + missing]
            parts.append(part)
            at, missing = at + len(part), missing - len(part)
        return torch.cat(parts)
