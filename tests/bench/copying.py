"""How long a save takes from a node's disk to another directory of it, beside `cp` of the same files with `sync`.

python -m tests.bench.copying
"""

import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

_NODE = Path(__file__).resolve().parents[2] / "node"
sys.path += [str(_NODE / "trainer"), str(_NODE / "staging")]
copying, saves = importlib.import_module("copying"), importlib.import_module("saves")

FILES, MIB, STEP = 4, 64, 7
BUDGET = 6.0
"""What is written is read again from the same disk, whose time the two share; a file system of a cluster has both."""


def best(rounds: int) -> tuple[float, float]:
    """Seconds of `cp` with `sync`, and of a round of the copy process: the smallest of so many alternating rounds."""
    with tempfile.TemporaryDirectory(prefix="gpucluster-bench-", dir=Path.home()) as scratch:
        root = Path(scratch)
        local = root / "local"
        place = saves.begin(local, STEP)
        block = os.urandom(1 << 20)
        for rank in range(FILES):
            (place / f"__{rank}_0.distcp").write_bytes(block * MIB)
        saves.wrote(place, 0, [each.name for each in place.iterdir()])
        save = saves.finish(local, STEP, 1)
        took = [_both(root, save, at) for at in range(rounds)]
    return min(each[0] for each in took), min(each[1] for each in took)


def _both(root: Path, save: Path, at: int) -> tuple[float, float]:
    """The two, one after the other."""
    local, shared = save.parent, root / f"copy-{at}"
    return (
        _timed(lambda: _cp(save, root / f"cp-{at}")),
        _timed(lambda: copying.once(local, shared, part=0, parts=1, keep=1)),
    )


def _cp(save: Path, target: Path) -> None:
    subprocess.run(["cp", "-r", str(save), str(target)], check=True)
    subprocess.run(["sync", "-f", str(target)], check=True)


def _timed(bring: Callable[[], object]) -> float:
    os.sync()
    began = time.perf_counter()
    bring()
    return time.perf_counter() - began


if __name__ == "__main__":
    took = best(3)
    print(f"cp {took[0]:.2f} s, copy of a save {took[1]:.2f} s, ratio {took[1] / took[0]:.2f}")
