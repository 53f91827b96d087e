"""What a pipeline starts in tests: a trainer and an evaluation that are small enough for Python alone.

`train DATA SAVES` counts pairs of tokens, a shard a step, saves each step whole and goes on at the newest save; a file
`fail-at-N` beside the saves ends it before step N. `evaluate SAVE DATA` prints the cross entropy in nats a token.
"""

import array
import hashlib
import itertools
import json
import math
import sys
from pathlib import Path

VOCAB = 257


def tokens(path: Path) -> "array.array[int]":
    found = array.array("i")
    found.frombytes(path.read_bytes())
    return found


def train(data: Path, saves: Path) -> int:
    done = sorted(each for each in saves.iterdir() if each.name.startswith("step-"))
    counts = json.loads((done[-1] / "model.json").read_text()) if done else {}
    print(f"goes on at step {len(done)}")
    for step, shard in enumerate(sorted(data.glob("*.bin")), 1):
        if step <= len(done):
            continue
        if (saves.parent / f"fail-at-{step}").exists():
            print(f"CUDA error: device-side assert in step {step}")
            return 1
        row = tokens(shard)
        for one, two in itertools.pairwise(row):
            key = f"{one} {two}"
            counts[key] = counts.get(key, 0) + 1
        place = saves / f"step-{step:09d}"
        place.mkdir()
        text = json.dumps(counts)
        (place / "model.json").write_text(text)
        (place / "SHA256SUMS").write_text(f"{hashlib.sha256(text.encode()).hexdigest()}  model.json\n")
    return 0


def evaluate(save: Path, data: Path, worse: float) -> int:
    counts = {tuple(map(int, key.split())): each for key, each in json.loads((save / "model.json").read_text()).items()}
    ones: dict[int, int] = {}
    for (one, _), each in counts.items():
        ones[one] = ones.get(one, 0) + each
    total, seen = 0.0, 0
    for file in data.glob("*.bin"):
        row = tokens(file)
        for one, two in itertools.pairwise(row):
            total -= math.log((counts.get((one, two), 0) + 0.1) / (ones.get(one, 0) + 0.1 * VOCAB))
            seen += 1
    print(f"evaluated {seen} pairs: loss={total / seen + worse:.6f} perplexity={math.exp(total / seen):.3f}")
    return 0


if __name__ == "__main__":
    what, one, two, *rest = sys.argv[1:]
    if what == "train":
        sys.exit(train(Path(one), Path(two)))
    sys.exit(evaluate(Path(one), Path(two), float(rest[0]) if rest else 0.0))
