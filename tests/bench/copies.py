"""How long a dataset takes to a node's disk, and a save to the file system, beside `cp` of the same files.

python -m tests.bench.copies
"""

import importlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

_NODE = Path(__file__).resolve().parents[2] / "node"
sys.path += [str(_NODE / "trainer"), str(_NODE / "staging")]
copying, pumping, saves, stage = map(importlib.import_module, ("copying", "pumping", "saves", "stage"))

FILES, MIB, STEP = 8, 64, 7
BUDGET = 1.1
"""Over `cp` and a check of what it wrote: a copy that nobody reads again may be another one, so the two are one job."""


@dataclass(frozen=True)
class Took:
    """Seconds of the wall's clock, and of processors, whoever else uses them."""

    wall: float
    cpu: float


def best(rounds: int) -> Mapping[str, Took]:
    """The smallest of so many rounds, one after the other in each: `cp` with `sync`, the same and hashes of
    what the disk has on all cores, staging, a round of the copy process, and its two halves: hashes of what memory has,
    and copies that are compared but not hashed. Neither staging nor the copy process can take less than these.
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
            "unhashed": lambda target: _unhashed(source, target),
        }
        took = [{way: _timed(root / "target", bring) for way, bring in ways.items()} for _ in range(rounds)]
    return {way: Took(min(each[way].wall for each in took), min(each[way].cpu for each in took)) for way in ways}


def processor(took: Mapping[str, Took]) -> str:
    """What a copy's CPU goes to, and how fast this processor hashes."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    rate = FILES * MIB / 1024 / took["hashed"].cpu
    return (
        f"of {took['saved'].cpu:.1f} s of CPU that a copy takes {took['hashed'].cpu:.1f} s are SHA-256, at {rate:.2f} "
        f"GiB/s a core {'with' if 'sha_ni' in flags else 'without'} instructions for it; read back and compared, but "
        f"not hashed, it takes {took['unhashed'].cpu:.1f} s and is there after {took['unhashed'].wall:.2f} s; cp takes "
        f"{took['cp'].cpu:.1f} s"
    )


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


class _Nothing:
    """In the place of a hash."""

    def update(self, part: bytes) -> None: ...

    def hexdigest(self) -> str:
        return ""


def _unhashed(source: Path, target: Path) -> None:
    """By as many copiers as the copy process has."""
    with patch.object(pumping.hashlib, "sha256", _Nothing), ThreadPoolExecutor(copying.COPIERS) as copiers:
        assert all(
            whole for _, whole in copiers.map(lambda each: pumping.pumped(each, target / each.name), source.iterdir())
        )


def _timed(target: Path, bring: Callable[[Path], object]) -> Took:
    target.mkdir()
    os.sync()
    began, used = time.perf_counter(), _cpu()
    bring(target)
    took = Took(time.perf_counter() - began, _cpu() - used)
    shutil.rmtree(target)
    return took


def _cpu() -> float:
    """Of this process and of those that it waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


if __name__ == "__main__":
    found = best(3)
    print(", ".join(f"{way} {each.wall:.2f} s" for way, each in found.items()))
    print(processor(found))
