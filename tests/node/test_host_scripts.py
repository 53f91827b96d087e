"""The scripts that prepare and examine hosts, looked at without a host: bash reads them, shellcheck finds nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HOST = Path(__file__).resolve().parents[2] / "node" / "host"
SCRIPTS = sorted(HOST.glob("*.sh"))
OTHERS = sorted(file for name in ("doctor", "etcd", "kubernetes") for file in (HOST.parent / name).glob("*.sh"))
CONCERNS = [script for script in SCRIPTS if script.stem != "lib"]


@pytest.mark.parametrize("script", CONCERNS, ids=lambda script: script.stem)
def test_a_concern_has_its_two_functions_and_runs_nothing_by_itself(script: Path) -> None:
    names = [f"{script.stem.replace('-', '_')}_{action}" for action in ("apply", "undo")]
    read = f"set -eu; PATH=/nowhere; . {HOST / 'lib.sh'}; PATH=/nowhere; . {script}; declare -F {' '.join(names)}"
    done = subprocess.run(["/bin/bash", "-c", read], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == names
    assert done.stderr == ""


def test_shellcheck_finds_nothing() -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed: apt-get install shellcheck")
    done = subprocess.run(
        ["shellcheck", *SCRIPTS, *OTHERS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_concerns_do_not_define_the_same_function_twice() -> None:
    """They stand in one text."""
    seen: dict[str, str] = {}
    for script in SCRIPTS:
        command = f". {script}; declare -F"
        done = subprocess.run(["/bin/bash", "-c", command], capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            name = line.split()[-1]
            assert name not in seen, f"{name} is in {seen[name]} and in {script.stem}"
            seen[name] = script.stem
