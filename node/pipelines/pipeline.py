"""The pre-training pipeline on one machine: the seven steps in their order, each as a process of its own.

It is what a pipeline in a cluster runs, without the cluster. Run again it begins at the step that was broken off.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

STEPS = ("snapshot", "pack", "shard", "training", "evaluation", "registration", "cleaning")
_HERE = Path(__file__).parent


def parser() -> argparse.ArgumentParser:
    """What the pipeline is asked."""
    made = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    made.add_argument("--work", type=Path, required=True, help="work directory of this pipeline run")
    made.add_argument("--source", type=Path, required=True, help="directory of documents (*.jsonl)")
    made.add_argument("--tokenizer", default="bytes")
    made.add_argument("--sequence-length", type=int, required=True)
    made.add_argument("--vocab", type=int, required=True)
    made.add_argument("--hold-out", type=int, default=20)
    made.add_argument("--shards", type=int, default=1)
    for name in ("commit", "image", "experiment", "stack", "tracker", "model", "kept-at"):
        made.add_argument(f"--{name}", required=True)
    made.add_argument("--train", required=True, help="a command, with {data} and {saves} in it")
    made.add_argument("--evaluate", required=True, help="a command, with {save} and {data} in it")
    made.add_argument("--metric", default="loss")
    made.add_argument("--best", choices=["lowest", "highest"], default="lowest")
    return made


def words(asked: argparse.Namespace) -> dict[str, list[str]]:
    """The words of each step, by its file."""
    work = {step: str(asked.work / step) for step in STEPS}
    made_of = [f"--{name}={getattr(asked, name)}" for name in ("commit", "image", "experiment", "stack")]
    before = [f"--snapshot={work['snapshot']}", f"--packed={work['pack']}", f"--shards={work['shard']}"]
    told = {
        "snapshot": [f"--source={asked.source}"],
        "pack": [
            f"--snapshot={work['snapshot']}",
            f"--tokenizer={asked.tokenizer}",
            f"--sequence-length={asked.sequence_length}",
            f"--vocab={asked.vocab}",
            f"--hold-out={asked.hold_out}",
        ],
        "shard": [f"--packed={work['pack']}", f"--shards={asked.shards}"],
        "training": [*before, *made_of],
        "evaluation": [f"--packed={work['pack']}", f"--trained={work['training']}", f"--metric={asked.metric}"],
        "registration": [
            f"--trained={work['training']}",
            f"--evaluated={work['evaluation']}",
            f"--tracker={asked.tracker}",
            f"--model={asked.model}",
            f"--source={asked.kept_at}",
            f"--best={asked.best}",
        ],
        "cleaning": [f"--registered={work['registration']}"],
    }
    last = {
        "training": ["--", *shlex.split(asked.train)],
        "evaluation": ["--", *shlex.split(asked.evaluate)],
        "cleaning": [work[step] for step in ("snapshot", "pack", "shard")],
    }
    return {step: [*told[step], f"--into={work[step]}", *last.get(step, [])] for step in STEPS}


def main(said: Sequence[str]) -> int:
    """The status of the first step that fails, which has said why; 0 when all are done."""
    asked = parser().parse_args(said)
    if (asked.work / "cleaning" / "STEP.json").is_file():
        print(f"pipeline: {asked.work} is done; use another --work for another run", flush=True)
        return 0
    asked.work.mkdir(parents=True, exist_ok=True)
    for step, told in words(asked).items():
        code = subprocess.run([sys.executable, str(_HERE / f"{step}.py"), *told], check=False).returncode
        if code:
            print(f"pipeline: {step} exited with {code}; run again to continue there", file=sys.stderr, flush=True)
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
