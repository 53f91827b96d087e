"""How long a dataset takes to a node's disks, beside `cp` of the same files to the same disk.

python -m tests.bench.staging
"""

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "node" / "staging"))
stage = importlib.import_module("stage")

FILES, MIB = 8, 64
BUDGET = 1.1 if (os.cpu_count() or 1) >= FILES else 3.5
"""A hash takes a core for 1 to 2 GB/s: with a core for each file it hides behind the disk, with fewer it does not."""


def best(rounds: int) -> tuple[float, float]:
    """Seconds of `cp` with `sync`, and of staging: the smallest of so many alternating rounds."""
    with tempfile.TemporaryDirectory(prefix="gpucluster-bench-", dir=Path.home()) as scratch:
        root = Path(scratch)
        source = root / "source"
        source.mkdir()
        block = os.urandom(1 << 20)
        for index in range(FILES):
            with (source / f"{index}.bin").open("wb") as file:
                for _ in range(MIB):
                    file.write(block)
        pairs = [(_timed(root, _copied(source)), _timed(root, _staged(source))) for _ in range(rounds)]
    return min(each[0] for each in pairs), min(each[1] for each in pairs)


def _timed(root: Path, bring: Callable[[Path], None]) -> float:
    target = root / "target"
    target.mkdir()
    os.sync()
    began = time.perf_counter()
    bring(target)
    took = time.perf_counter() - began
    shutil.rmtree(target)
    return took


def _copied(source: Path) -> Callable[[Path], None]:
    def bring(target: Path) -> None:
        subprocess.run(["cp", "-r", str(source), str(target)], check=True)
        subprocess.run(["sync", "-f", str(target)], check=True)

    return bring


def _staged(source: Path) -> Callable[[Path], None]:
    def bring(target: Path) -> None:
        stage.Staging(source, stage.Disks(target), "data").bring("pod")

    return bring


if __name__ == "__main__":
    took = best(5)
    print(f"cp {took[0]:.2f} s, staging {took[1]:.2f} s, ratio {took[1] / took[0]:.2f}")
