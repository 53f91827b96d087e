"""Step 3: the sequences as shards, one for each node or a multiple of them, each with its hash beside the others'."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from steps import Made, Record, StepError, before, do, ended, hash_of

SUMS = "SHA256SUMS"
_TOKEN, _CHUNK = 4, 1 << 22


def main(words: Sequence[str]) -> Record:
    """Raises StepError for more shards than there are sequences."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--packed", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--shards", type=int, required=True)
    asked = parser.parse_args(words)
    packed = before(asked.packed, "pack")
    told = {"packed": packed.digest, "shards": asked.shards}
    return do("shard", asked.into, told, lambda place: _make(asked.packed, packed, asked.shards, place))


def _make(source: Path, packed: Record, shards: int, place: Path) -> Made:
    rows, row = int(packed.facts["trainRows"]), int(packed.facts["row"])
    if not 1 <= shards <= rows:
        raise StepError(f"--shards is {shards}, and there are {rows} sequences; type 1 to {rows}")
    names = []
    (place / "train").mkdir()
    with (source / "train.bin").open("rb") as incoming:
        for index in range(shards):
            count = rows * (index + 1) // shards - rows * index // shards
            names.append(f"train/shard-{index:05d}.bin")
            _cut(incoming, place / names[-1], count * row * _TOKEN)
    lines = "".join(f"{hash_of(place / name)}  {name}\n" for name in names)
    (place / SUMS).write_text(lines, encoding="utf-8")
    return Made([*names, SUMS], {"shards": shards, "rows": rows, "tokens": rows * (row - 1)})


def _cut(incoming: BinaryIO, target: Path, size: int) -> None:
    with target.open("wb") as outgoing:
        while size and (chunk := incoming.read(min(size, _CHUNK))):
            outgoing.write(chunk)
            size -= len(chunk)
    if size:
        raise StepError(f"{incoming.name} is shorter than its record says; run pack again")


if __name__ == "__main__":
    sys.exit(ended(main, sys.argv[1:]))
