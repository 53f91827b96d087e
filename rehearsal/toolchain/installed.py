"""Use the Pulumi that is installed already, if its version will do."""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from rehearsal.toolchain.go import Report

OLDEST, BELOW = (3, 250), (4, 0)


def pulumi(root: Path, report: Report) -> Path | None:
    """A copy in the cache of the `pulumi` on PATH; None if there is none or its version is not in 3.250 up to 4.

    It is a copy because the engine looks for language hosts beside its own executable, symbolic links resolved: beside
    the original lies the official Python host, which asks the network for plugins.
    """
    on_path = shutil.which("pulumi")
    if on_path is None:
        return None
    original = Path(on_path).resolve()
    version = version_of(original)
    if version is None or not OLDEST <= version[:2] < BELOW:
        return None
    status = original.stat()
    mark = hashlib.sha256(f"{original} {status.st_size} {status.st_mtime_ns}".encode()).hexdigest()[:12]
    copy = root / f"pulumi-installed-{'.'.join(map(str, version))}-{mark}" / "bin" / "pulumi"
    if not copy.exists():
        report(f"using the installed {original} ({'.'.join(map(str, version))})")
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = copy.with_name(f".pulumi-{os.getpid()}")
        shutil.copy2(original, partial)
        partial.rename(copy)
    return copy


def version_of(binary: Path) -> tuple[int, int, int] | None:
    """The version a `pulumi` prints (`v3.259.0`); None if it does not run or prints something else."""
    env = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        run = subprocess.run([binary, "version"], capture_output=True, text=True, timeout=60, check=True, env=env)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)(-\S+)?", run.stdout.strip())
    return (int(found[1]), int(found[2]), int(found[3])) if found else None
