"""The import contract of DESIGN: who may know whom (.importlinter)."""

import os
import subprocess
import sys
from pathlib import Path

from tests.graph.stackfiles import ROOT


def test_every_import_is_allowed() -> None:
    """In a process of its own: import-linter configures logging and disables the loggers that exist."""
    command = [os.fspath(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": os.fspath(ROOT)}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
