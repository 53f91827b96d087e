"""The vendors' files in the directory GPUCLUSTER_UPSTREAM, where there is one."""

import os
from pathlib import Path


def directory() -> Path | None:
    """The vendors' files; None if there are none on this machine."""
    named = os.environ.get("GPUCLUSTER_UPSTREAM")
    return Path(named) if named and Path(named).is_dir() else None
