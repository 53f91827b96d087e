"""The import contract of DESIGN: who may know whom (.importlinter)."""

import os
import re
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


def test_one_place_asks_which_platform_a_plan_is_for() -> None:
    """The files of the other platform only narrow what that place hands them."""
    asking = re.compile(r"isinstance\([^)]*\b(?:Aws|Metal)(?:Plan|Settings)\b")
    files = [path for room in ("components", "stacks") for path in (ROOT / room).rglob("*.py")]
    found = {path.name for path in files if asking.search(path.read_text())}
    assert found == {"deploy.py", "metal.py", "metal_lacking.py"}
