"""The scripts that prepare and examine hosts, looked at without a host: bash reads them, shellcheck finds nothing."""

from __future__ import annotations

import re
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


ENDS = re.compile(
    r"\b(?:reboot|poweroff|halt|shutdown|kexec)\b(?!-)|\btelinit\b|\binit [06]\b|sysrq-trigger|"
    r"\bkubeadm reset\b|\bipmitool\b.*\bpower\b"
)
QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?<![$\w{])#.*$")
"""What a script says, in quotes or behind `#`, is no command of it."""


def commands(text: str) -> list[str]:
    return [line for line in (QUOTED.sub("", each) for each in text.splitlines()) if line.strip()]


@pytest.mark.parametrize("script", [*SCRIPTS, *OTHERS], ids=lambda script: f"{script.parent.name}-{script.stem}")
def test_no_script_ends_its_machine_and_a_node_is_reset_behind_its_serial_alone(script: Path) -> None:
    found = [line.strip() for line in commands(script.read_text()) if ENDS.search(line)]
    if script.stem == "lib":
        body = script.read_text().partition("\nleave_cluster() {")[2].partition("\n}")[0]
        assert body.index("GPUCLUSTER_ALLOW_RESET") < body.index("kubeadm reset --force")
        found = [line for line in found if not line.startswith("kubeadm reset --force ||")]
    assert found == []


@pytest.mark.parametrize("line", ["systemctl reboot", "  shutdown -r now", "echo b >/proc/sysrq-trigger", "init 6"])
def test_a_command_that_ends_a_machine_is_seen(line: str) -> None:
    assert [each for each in commands(f"{line}\n# reboot\nfail 'asks for a reboot'\n") if ENDS.search(each)] == [line]
