"""`make plan`: what it prints, how it ends."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.__main__ import main
from settings.errors import written
from tests.planner.stacks import ROOT, sections
from tests.typed import handed

CORPUS = ROOT / "tests" / "settings" / "corpus" / "bad"


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stack files are found in the directory one stands in."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--stack", "dev"],
        ["--stack", "metal"],
        ["--preset", "h100-8n"],
        ["--stack", "dev", "--set", "pools[0].count=3"],
        ["--stack", "dev", "--set", "pools[0].count=3", "--set", "lifecycle.protect=false"],
        ["--stack", "dev", "--explain", "gang-fits-pool"],
        ["--stack", "metal", "--explain", "instance-unknown"],
        ["--preset", "full", "--against", "mid"],
        ["--stack", "metal", "--against", "prod"],
    ],
    ids=" ".join,
)
def test_what_stands_ends_with_0(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Text for people, and one JSON document for programs."""
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert shown.out.strip()
    assert shown.err == ""
    assert main([*arguments, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--stack", "prod", "--set", "pools[1].count=6"], "gang-fits-pool"),
        (["--stack", "prod", "--set", "pools[1].count=6", "--explain", "gang-fits-pool"], "refuses for prod"),
        (["--stack", "dev", "--set", "pools[1].count=x"], "gpucluster:pools[1].count: must be a whole number, is 'x'"),
        (["--stack", "dev", "--set", "pools=[]"], "gpucluster:pools"),
    ],
    ids=str,
)
def test_what_is_refused_ends_with_1(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The findings, or what is wrong with the settings."""
    assert main(arguments) == 1
    shown = capsys.readouterr()
    assert said in shown.out + shown.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--stack", "prd"], "there is no Pulumi.prd.yaml in this directory; did you mean prod?"),
        (["--preset", "h100-8"], "there is no preset 'h100-8'; did you mean h100-8n"),
        (["--stack", "dev", "--explain", "gang-fits"], "there is no rule 'gang-fits'; did you mean gang-fits-pool?"),
        (
            ["--stack", "dev", "--set", "pools[1].cuont=3"],
            "gpucluster:pools[1].cuont: is not a key; did you mean",
        ),
        (["--stack", "dev", "--set", "fabric.kind=roce"], "gpucluster:fabric: belongs to platform.kind metal"),
        (["--stack", "dev", "--set", "pools[9].count=3"], "gpucluster:pools: has the entries [0] system"),
        (["--stack", "dev", "--set", "count"], "'count' is not PATH=VALUE"),
    ],
    ids=str,
)
def test_what_there_is_not_ends_with_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence with the nearest that there is, and nothing on the output."""
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("arguments", [[], ["--stack", "dev", "--preset", "x"], ["--stack", "dev", "--format", "xml"]])
def test_a_wrong_command_shows_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """As of every command, status 2."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "usage: python -m planner" in capsys.readouterr().err


def test_a_change_is_compared_with_the_stack_file(capsys: pytest.CaptureFixture[str]) -> None:
    """The changed plan whole, and what is different about it."""
    assert main(["--stack", "prod", "--format", "json", "--set", "pools[1].count=6 training.runs[0].nodes=6"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["difference"]["assignments"] == ["gpucluster:pools[1].count=6", "gpucluster:training.runs[0].nodes=6"]
    assert {"path": "totals.gpus", "before": 72, "after": 56} in shown["difference"]["numbers"]
    assert shown["plan"]["totals"]["gpus"] == 56
    assert shown["difference"]["new"] == []


def test_a_preset_can_be_changed_and_a_stack_take_another(capsys: pytest.CaptureFixture[str]) -> None:
    """Paths lead into what the preset says, though the file does not say it."""
    assert main(["--preset", "h100-8n", "--format", "json", "--set", "pools[1].count=8"]) in (0, 1)
    numbers = {each["path"]: each for each in json.loads(capsys.readouterr().out)["difference"]["numbers"]}
    assert numbers["totals.nodes"]["after"] == numbers["totals.nodes"]["before"] + 1
    assert main(["--stack", "dev", "--format", "json", "--set", "preset=lab-cloud"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["plan"]["pools"]["training"]["hardware"] == "p5.4xlarge"


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_bad_file_ends_in_sentences(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 1, words, and never a traceback."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Pulumi.x.yaml").write_bytes(path.read_bytes())
    assert main(["--stack", "x"]) == 1
    shown = capsys.readouterr()
    assert (shown.out + shown.err).strip()


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"[1, 2]", b"config: {gpucluster:pools: &a [*a]}"])
def test_a_file_that_is_no_stack_file(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one that is not even text, or holds itself."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Pulumi.x.yaml").write_bytes(content)
    assert main(["--stack", "x"]) == 1
    assert capsys.readouterr().err.strip()
    (tmp_path / "Pulumi.y.yaml").mkdir()
    assert main(["--stack", "y"]) == 2
    assert capsys.readouterr().err == "Pulumi.y.yaml: Is a directory\n"


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values, and of lists as a whole."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from leaves(below, (*path, key))
        return
    yield path
    if isinstance(value, list):
        for index, below in enumerate(value):
            yield from leaves(below, (*path, index))


PLACES = [(stack, written(path)) for stack in ("dev", "prod", "metal") for path in leaves(sections(stack))]
VALUES = ["0", "-1", "1", "7", "4096", "1000000000", "0.001", ".inf", ".nan", "''", "x", "[]", "{}", "null", "true"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(PLACES), value=st.sampled_from(VALUES), form=st.sampled_from(["text", "json"]))
def test_any_value_at_any_path_is_answered(place: tuple[str, str], value: str, form: str) -> None:
    """A plan, a refusal or a sentence about the command, and never a traceback."""
    stack, path = place
    assert main(["--stack", stack, "--format", form, "--set", f"{path}={value}"]) in (0, 1, 2)


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "planner", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **env}
    )


def test_colours_are_for_terminals_that_want_them() -> None:
    """A pipe gets none; a terminal gets them unless NO_COLOR is set."""
    assert "\x1b" not in run("--stack", "dev").stdout
    assert "\x1b[" in run("--stack", "dev", FORCE_COLOR="1").stdout
    assert "\x1b[3" not in run("--stack", "dev", FORCE_COLOR="1", NO_COLOR="1").stdout


def test_a_reader_may_stop_reading() -> None:
    """`make plan | head` ends without a word of Python."""
    for form in ("text", "json"):
        command = f"{sys.executable} -m planner --stack prod --format {form} | true"
        ended = subprocess.run(
            ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.stderr == ""


def test_make_passes_everything_on() -> None:
    """STACK, FORMAT, SET, EXPLAIN and PRESET reach the command as they were written."""
    (words,) = handed("make plan STACK=prod SET='pools[1].count=9 budget.maxHourlyUsd=600' FORMAT=json")
    assert words == shlex.split(
        "-m planner --stack prod --format json --set 'pools[1].count=9 budget.maxHourlyUsd=600'"
    )
    assert handed("make plan PRESET=mid TABLE=cables") == [["-m", "planner", "--preset", "mid", "--table", "cables"]]


def test_a_table_is_a_list_of_values(capsys: pytest.CaptureFixture[str]) -> None:
    """Newcomer's row C7: TABLE alone lists the table, and another format than csv is refused."""
    assert main(["--stack", "metal", "--table", "cables"]) == 0
    assert capsys.readouterr().out.count("\n") > 100
    assert main(["--stack", "metal", "--table", "cables", "--format", "text"]) == 2
    assert "a table is listed as csv" in capsys.readouterr().err


def test_two_stacks_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    """AB04, I11: the larger tier has twice the GPUs; what is compared stands above its numbers."""
    assert main(["--preset", "full", "--against", "mid", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["difference"]
    changes = {change["path"]: (change["before"], change["after"]) for change in told["numbers"]}
    assert (told["between"], told["assignments"]) == (["preset mid", "preset full"], [])
    assert changes["totals.gpus"] == (32, 64)
    assert main(["--preset", "full", "--against", "mid"]) == 0
    shown = capsys.readouterr().out
    assert "preset full against preset mid" in shown
    assert "+32" in shown


def test_a_changed_stack_against_another(capsys: pytest.CaptureFixture[str]) -> None:
    """A07: growth against where another stack stands."""
    arguments = ["--stack", "prod", "--set", "pools[1].count=9", "--against", "prod", "--format", "json"]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)["difference"]
    assert told["assignments"] == ["gpucluster:pools[1].count=9"]
    assert ("totals.gpus", 72, 80) in [(each["path"], each["before"], each["after"]) for each in told["numbers"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--against", "h200-32"], "there is no stack and no preset 'h200-32'; did you mean h200-32n?"),
        (["--against", "dev", "--format", "csv"], "format csv lists one plan: compare with dev as text, json or html"),
    ],
    ids=str,
)
def test_comparisons_that_cannot_be(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """AB04: a name that is not there, and a format that shows one plan."""
    assert main(["--stack", "prod", *arguments]) == 2
    assert said in capsys.readouterr().err
