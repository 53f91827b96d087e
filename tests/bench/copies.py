"""How long a dataset takes to a node's disk, and a save to the file system, beside `cp` of the same files.

python -m tests.bench.copies
"""

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_NODE = Path(__file__).resolve().parents[2] / "node"
sys.path += [str(_NODE / "trainer"), str(_NODE / "staging")]
copying, pumping, saves, stage = map(importlib.import_module, ("copying", "pumping", "saves", "stage"))

FILES, MIB, STEP = 8, 64, 7
BUDGET = 1.1
"""Over `cp` and a check of what it wrote: a copy that nobody reads again may be another one, so the two are one job."""


def best(rounds: int) -> Mapping[str, float]:
    """The smallest seconds of so many rounds, one after the other in each: `cp` with `sync`, the same and hashes of
    what the disk has on all cores, staging, a round of the copy process, and hashes of what memory has: none of those
    that hash can take less.
    """
    with tempfile.TemporaryDirectory(prefix="gpucluster-bench-", dir=Path.home()) as scratch:
        root = Path(scratch)
        place, block = saves.begin(root / "local", STEP), os.urandom(1 << 20)
        for rank in range(FILES):
            (place / f"__{rank}_0.distcp").write_bytes(block * MIB)
        saves.wrote(place, 0, [each.name for each in place.iterdir()])
        source = saves.finish(root / "local", STEP, 1)
        ways: dict[str, Callable[[Path], object]] = {
            "cp": lambda target: _cp(source, target),
            "checked": lambda target: _checked(source, target),
            "staged": lambda target: stage.Staging(source, stage.Disks(target), "data").bring("pod"),
            "saved": lambda target: copying.once(source.parent, target, part=0, parts=1, keep=1),
            "hashed": lambda _: _hashed(source),
        }
        took = [{way: _timed(root / "target", bring) for way, bring in ways.items()} for _ in range(rounds)]
    return {way: min(each[way] for each in took) for way in ways}


def _cp(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-r", str(source), str(target / "copy")], check=True)
    subprocess.run(["sync", "-f", str(target)], check=True)


def _checked(source: Path, target: Path) -> None:
    """By the hash that staging has: sha256sum of Debian takes five times as long for the same."""
    _cp(source, target)
    for each in (target / "copy").iterdir():
        with each.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    _hashed(target / "copy")


def _hashed(place: Path) -> None:
    """As many files at once as there are cores, as staging and the copy process have several on their way."""
    with ThreadPoolExecutor(os.cpu_count()) as cores:
        list(cores.map(pumping.hash_of, place.iterdir()))


def _timed(target: Path, bring: Callable[[Path], object]) -> float:
    target.mkdir()
    os.sync()
    began = time.perf_counter()
    bring(target)
    took = time.perf_counter() - began
    shutil.rmtree(target)
    return took


if __name__ == "__main__":
    print(", ".join(f"{way} {seconds:.2f} s" for way, seconds in best(3).items()))
