"""Step 1: copies documents (*.jsonl) as they are now, and hashes them, so that a model can be traced to its data."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from steps import Made, Record, StepError, do, ended, hash_of

_CHUNK = 1 << 22


def main(words: Sequence[str]) -> Record:
    """Raises StepError where there is nothing to copy, or it changes meanwhile."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--source", type=Path, required=True, help="directory of documents (*.jsonl), also in subdirectories"
    )
    parser.add_argument("--into", type=Path, required=True)
    asked = parser.parse_args(words)
    return do("snapshot", asked.into, {"source": str(asked.source)}, lambda place: _make(asked.source, place))


def _make(source: Path, place: Path) -> Made:
    paths = sorted(each for each in source.rglob("*.jsonl") if each.is_file() and not each.is_symlink())
    if not paths:
        raise StepError(f"no *.jsonl files in {source}; copy the documents there, or set another --source")
    names, sums = [], []
    for path in paths:
        name = f"files/{path.relative_to(source)}"
        digest = _copy(path, place / name)
        names.append(name)
        sums.append(f"{digest}  {name}\n")
    whole = hashlib.sha256("".join(sums).encode()).hexdigest()
    size = sum((place / name).stat().st_size for name in names)
    return Made(names, {"dataset_sha256": whole, "files": len(names), "bytes": size})


def _copy(source: Path, target: Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    first, digest = source.stat(), hashlib.sha256()
    with source.open("rb") as incoming, target.open("wb") as outgoing:
        while chunk := incoming.read(_CHUNK):
            digest.update(chunk)
            outgoing.write(chunk)
    last = source.stat()
    if (first.st_size, first.st_mtime_ns) != (last.st_size, last.st_mtime_ns):
        raise StepError(f"{source} changed while it was copied; run again when nothing writes to it")
    if hash_of(target) != digest.hexdigest():
        raise StepError(f"{target} reads back different from what was written; check the file system")
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(ended(main, sys.argv[1:]))
