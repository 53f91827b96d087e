"""The virtual environment of a program, as Pulumi.yaml's runtime options name it.

Source: pulumi/pulumi, sdk/python/toolchain (pip.go, uv.go): `virtualenv` is relative to the project's root or absolute;
without it `uv` has `.venv`, and `pip` the Python on PATH. The official host makes a missing environment and installs
into it; a rehearsal, which is offline, runs the program with its own interpreter then.
"""

import importlib.metadata
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def directory(root: Path, options: Mapping[str, Any]) -> Path | None:
    """The program's virtual environment; None if it has none of its own, or it is not there."""
    named = options.get("virtualenv") or (".venv" if options.get("toolchain") == "uv" else None)
    found = root / named if isinstance(named, str) else None
    return found if found is not None and (found / "bin" / "python").is_file() else None


def version(distribution: str, environment: Path | None) -> str | None:
    """The version of a Python distribution in a virtual environment (None: in this process's); None if it lacks it."""
    where = list(map(str, environment.glob("lib/python3*/site-packages"))) if environment else sys.path
    found = next(iter(importlib.metadata.distributions(name=distribution, path=where)), None)
    return found.version if found else None
