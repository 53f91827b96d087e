"""Step 5: starts what measures the save on the documents that were held out, and reads its metrics.

The words after -- are started with {save} and {data} filled in. A metric is a line, or a word of one, NAME=VALUE; the
last of a name counts.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from steps import Made, Record, StepError, before, do, ended, kept
from training import split, started, whole

FILE = "evaluation.txt"
_VALUE = re.compile(r"(?<!\S)([A-Za-z][A-Za-z0-9_.-]{0,62})=([+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|nan|inf))(?!\S)", re.I)


def main(words: Sequence[str]) -> Record:
    """Raises StepError where the metric is not told, or is no number."""
    own, command = split(words)
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--packed", type=Path, required=True)
    parser.add_argument("--trained", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--metric", default="loss", help="metric by which models are compared")
    asked = parser.parse_args(own)
    packed, trained = before(asked.packed, "pack"), before(asked.trained, "train")
    told = {"packed": packed.digest, "trained": trained.digest, "metric": asked.metric, "command": command}

    def make(place: Path) -> Made:
        save = asked.trained / str(trained.facts["save"])
        if not whole(save):
            raise StepError(f"{save} is not the checkpoint that training wrote; run training again")
        data = place / "held-out"
        data.mkdir()
        shutil.copy(asked.packed / "eval.bin", data / "eval.bin")
        metrics = told_by(started([each.format(save=save, data=data) for each in command]))
        shutil.rmtree(data)
        value = metrics.get(asked.metric)
        if value is None:
            known = ", ".join(sorted(metrics)) or "none"
            raise StepError(
                f"the evaluation printed no {asked.metric}=VALUE (it printed {known}); print it, or set --metric"
            )
        if not math.isfinite(value):
            raise StepError(f"{asked.metric} is {value}, not a finite number, so the model is not registered")
        kept(place / FILE, "".join(f"{name}={metrics[name]!r}\n" for name in sorted(metrics)))
        checkpoint = trained.facts["checkpoint_sha256"]
        return Made([FILE], {"metric": asked.metric, "value": value, "checkpoint_sha256": checkpoint})

    return do("evaluate", asked.into, told, make)


def told_by(lines: Iterable[str]) -> dict[str, float]:
    """Metrics by name."""
    return {name: float(value) for line in lines for name, value in _VALUE.findall(line)}


if __name__ == "__main__":
    sys.exit(ended(main, sys.argv[1:]))
