"""Step 7: removes what can be made again from a registered model's data: copies, tokens and shards.

Records, lineage, saves and evaluation stay. Nothing goes before the model is registered, and nothing but directories of
steps.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from steps import RECORD, Made, Record, StepError, before, do, ended, kept, read

REMOVED = ("snapshot", "pack", "shard")
"""Steps whose files go; their records are kept beside."""


def main(words: Sequence[str]) -> Record:
    """Raises StepError for what is no directory of such a step."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--registered", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument(
        "directories",
        type=Path,
        nargs="+",
        help="output directories of the steps snapshot, pack and shard, to be removed",
    )
    asked = parser.parse_args(words)
    registered = before(asked.registered, "register")
    told = {"registered": registered.digest, "directories": [str(each) for each in asked.directories]}

    def make(place: Path) -> Made:
        found = {each: _record(each) for each in asked.directories if each.exists()}
        freed, names = 0, []
        for directory, record in found.items():
            freed += sum(each.stat().st_size for each in directory.rglob("*") if each.is_file())
            names.append(f"{record.step}.json")
            kept(place / names[-1], (directory / RECORD).read_text(encoding="utf-8"))
        for directory in found:
            going = directory.with_name(f".gone-{directory.name}")
            shutil.rmtree(going, ignore_errors=True)
            directory.rename(going)
            shutil.rmtree(going)
        return Made(names, {"freedBytes": freed})

    return do("clean", asked.into, told, make, goes_on=True)


def _record(directory: Path) -> Record:
    found = None if directory.is_symlink() else read(directory)
    if found is None or found.step not in REMOVED:
        raise StepError(f"{directory} is not an output of {', '.join(REMOVED)}; nothing was removed")
    return found


if __name__ == "__main__":
    sys.exit(ended(main, sys.argv[1:]))
