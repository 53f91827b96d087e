"""make hands words on as they were typed (newcomer's row B4): they are data, and no text of make's or a shell's."""

import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from rehearsal.metal import lacking
from tests.rehearsed.fabric import running as fabric
from tests.slurm import installation
from tests.typed import handed

ROOT = Path(__file__).resolve().parents[1]
HOSTILE = (
    "budget.maxHourlyUsd=$300",
    "pools[1].server='DGX B200' fabric.switch=Q3400-RA",
    'lifecycle.owner="A; touch /tmp/never"',
    "lifecycle.owner=`id` $(id) $$ && false",
    "lifecycle.owner=a\\b, c|d > e # f",
)


@pytest.mark.parametrize("words", HOSTILE)
def test_what_is_set_reaches_the_planner_unchanged(words: str) -> None:
    (seen,) = handed(f"make plan STACK=prod SET={shlex.quote(words)}")
    assert seen == ["-m", "planner", "--stack", "prod", "--set", words]


def test_each_variable_is_data() -> None:
    """STACK, OUT, FORMAT, AGAINST, EXPLAIN, SITE and the words about nodes and services."""
    odd = 'it\'s $1; "x"'
    quoted = shlex.quote(odd)
    (plan,) = handed(f"make plan STACK={quoted} OUT={quoted} FORMAT={quoted} AGAINST={quoted} EXPLAIN={quoted}")
    assert plan[2:] == ["--stack", odd, "--format", odd, "--out", odd, "--against", odd, "--explain", odd]
    (load,) = handed(f"make load SERVICE={quoted} RPS=5 SECONDS=7 SITE={quoted}")
    assert load[2:] == ["load", "--stack", "dev", "--site", odd, odd, "--rps", "5", "--seconds", "7"]
    (fail,) = handed(f"make fail NODE={quoted} WHAT=oom TARGET={quoted}")
    assert fail[2:] == ["fail", "--stack", "dev", odd, "oom", "--target", odd]


def test_the_environment_says_the_same_as_the_command_line() -> None:
    (seen,) = handed("SET='budget.maxHourlyUsd=$300' make plan")
    assert seen[-1] == "budget.maxHourlyUsd=$300"


def test_words_for_kubectl_are_divided_as_a_shell_divides_them_and_nothing_else() -> None:
    (seen,) = handed("""make kubectl ARGS="get pods -l 'app in (a, b)' -o jsonpath={.x}; echo \\$HOME" """)
    assert seen[-9:] == ["--", "get", "pods", "-l", "app in (a, b)", "-o", "jsonpath={.x};", "echo", "$HOME"]


@pytest.mark.parametrize("asked", ["VERBOSE=1", "ARGS=--verbose"])
def test_the_long_lists_of_up_can_be_asked_for(asked: str) -> None:
    """C5: make keeps -v for itself."""
    _, begun = handed(f"make up {asked}")
    assert begun[2:] == ["up", "--stack", "dev", "--verbose"]


def test_words_that_cannot_be_divided_are_told() -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        handed("""make kubectl ARGS="get 'pods" """)
    assert "ARGS cannot be split into words" in failed.value.stderr


@pytest.mark.parametrize("target", ["up", "preview", "rehearse"])
def test_the_policies_are_asked_before_anything_is_started(target: str) -> None:
    """AB10: of the stack that was named; a program that breaks one is neither applied, previewed nor rehearsed."""
    asked, begun = handed(f"make {target} STACK=prod")
    assert asked == ["-m", "tests.graph", "prod"]
    assert begun[:2] == ["-m", "rehearsal"]


@pytest.mark.parametrize("target", ["up", "preview", "rehearse"])
def test_a_broken_policy_ends_it(target: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        handed(f"make {target} STACK=prod", refusing="tests.graph")
    assert "rehearsal" not in failed.value.stdout


def test_the_packages_are_those_that_tests_of_hosts_fabrics_and_slurm_ask_for() -> None:
    """Without them they are skipped: CI installs them first."""
    shown = subprocess.run(
        ["make", "--dry-run", "packages"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    listed = (ROOT / "rehearsal" / "apt.txt").read_text().split("\n", 1)[1].split()
    assert "rehearsal/apt.txt" in shown
    asked = {
        *lacking.NEEDED.values(),
        *lacking.OF_USERS.values(),
        *fabric.NEEDED.values(),
        *installation.NEEDED.values(),
    }
    assert asked <= {*listed, *shown.split()}
    for name in ("ci", "release"):
        jobs = yaml.safe_load((ROOT / ".github/workflows" / f"{name}.yml").read_text())["jobs"]
        for steps in ([each.get("run") for each in job["steps"]] for job in jobs.values()):
            if {"make engine", "make test-scale", "make presets"} & set(steps):
                assert steps[-2] == "make packages"
