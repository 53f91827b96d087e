"""Step 4: starts what trains, on the shards alone, and takes the newest whole save of what it leaves.

The words after -- are started as they are, with {data}, {saves} and {eval} filled in: torchrun and the trainer here, or
what makes a run of the stack and waits for it. Begun again, it finds its saves and goes on at them.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from lineage import Lineage
from steps import Made, Record, StepError, before, do, ended, hash_of

SUMS, LINEAGE = "SHA256SUMS", "lineage.json"
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def main(words: Sequence[str]) -> Record:
    """Raises StepError with the last thing that was said, where training fails or leaves no whole save."""
    own, command = split(words)
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    for name in ("snapshot", "packed", "shards", "into"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("commit", "image", "experiment", "stack"):
        parser.add_argument(f"--{name}", required=True)
    asked = parser.parse_args(own)
    taken, packed = before(asked.snapshot, "snapshot"), before(asked.packed, "pack")
    sharded = before(asked.shards, "shard")
    made_of = Lineage(
        dataset_sha256=taken.facts["dataset_sha256"],
        commit=asked.commit,
        image=asked.image,
        experiment=asked.experiment,
        stack=asked.stack,
        tokenizer=packed.facts["tokenizer"],
        tokens=sharded.facts["tokens"],
    )
    told = {"shards": sharded.digest, "command": command, "lineage": made_of.tags()}

    def make(place: Path) -> Made:
        saves = place / "saves"
        saves.mkdir(exist_ok=True)
        started([each.format(data=asked.shards / "train", saves=saves) for each in command])
        save = newest(saves)
        made_of.write(place / LINEAGE)
        name = f"saves/{save.name}/{SUMS}"
        facts = {"save": f"saves/{save.name}", "checkpoint_sha256": hash_of(place / name)}
        return Made([name, LINEAGE], facts)

    return do("train", asked.into, told, make, goes_on=True)


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The step's own words, and those after --. Raises StepError where there are none."""
    own, _, command = "\0".join(words).partition("\0--\0")
    if not command:
        raise StepError("no command given; put one after --, such as torchrun train.py")
    return own.split("\0"), command.split("\0")


def started(command: Sequence[str]) -> list[str]:
    """The last lines of a command that ended well; all of them are in the log. Raises StepError for another."""
    said: deque[str] = deque(maxlen=1000)
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
        )
    except OSError as error:
        raise StepError(f"{command[0]} cannot be started: {error.strerror}; use a program that the image has") from None
    with process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            said.append(line.rstrip("\n"))
    if process.returncode:
        last = next((line for line in reversed(said) if line.strip()), "nothing")
        raise StepError(f"{command[0]} exited with {process.returncode}; its last output: {last[:500]}")
    return list(said)


def newest(saves: Path) -> Path:
    """The newest save whose files are those of its sums. Raises StepError where none is whole."""
    found = sorted((each for each in saves.iterdir() if re.fullmatch(r"step-\d+", each.name)), reverse=True)
    for save in found:
        if whole(save):
            return save
    had = f"{len(found)} saves of which none is whole" if found else "no save (a directory step-000000120)"
    raise StepError(f"training left {had} in {saves}; see its log, and run again")


def whole(save: Path) -> bool:
    """Whether every file hashes to its line of SHA256SUMS, as sha256sum writes it."""
    try:
        lines = (save / SUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return False
    found = [_LINE.fullmatch(line) for line in lines]
    return bool(found) and all(
        each and (save / each[2]).is_file() and hash_of(save / each[2]) == each[1] for each in found
    )


if __name__ == "__main__":
    sys.exit(ended(main, sys.argv[1:]))
