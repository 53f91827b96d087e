"""Pythons of other programs that tests speak with: Kubeflow Pipelines' own library, and MLflow with a PostgreSQL.

They want other versions of packages than this program, so each has an environment of its own in the cache, made once
for a locked list and a Python.
"""

import functools
import hashlib
import sys
from pathlib import Path
from typing import Literal

from rehearsal import places
from rehearsal.toolchain.go import install, locked


@functools.cache
def python(partner: Literal["kfp", "mlflow"]) -> Path:
    """The interpreter; made if it is missing, which takes MLflow a minute. Raises BuildError where pip fails."""
    requirements = Path(__file__).with_name(f"{partner}.txt")
    mark = hashlib.sha256(requirements.read_bytes() + repr(sys.version_info).encode()).hexdigest()[:12]
    target = places.cache() / "partners" / f"{partner}-{mark}"
    done = target / "installed"
    with locked(target.with_suffix(".lock")):
        if not done.exists():
            print(f"installing {partner} and what it needs into {target}", flush=True)
            install(target, partner, requirements)
            done.touch()
    return target / "bin" / "python"
