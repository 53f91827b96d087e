"""An experiment's winner becomes the run's arguments, and nothing else of the stack file changes (R09)."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.winner import NoWinnerError, arguments, main, winner, written
from tests.planner.stacks import ROOT

VALUES = {"learning-rate": "0.00031", "warmup-steps": "80"}
DEV = (ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8")
RUN = "llama-3-8b-sft"


def experiment(condition: str = "Succeeded", values: dict[str, str] | None = VALUES, name: str = "rates") -> Any:
    """As Katib leaves it (v1beta1, ExperimentStatus)."""
    best = {"parameterAssignments": [{"name": key, "value": each} for key, each in (values or {}).items()]}
    return {
        "metadata": {"name": name},
        "status": {
            "conditions": [
                {"type": "Running", "status": "False"},
                {"type": condition, "status": "True", "message": "max failed count has reached"},
            ],
            **({"currentOptimalTrial": best} if values else {}),
        },
    }


def test_values_come_last_and_replace_the_ones_that_were_there() -> None:
    script = ["/workspace/train.py", "--learning-rate", "0.1", "--warmup-steps=5", "--config", "/a.yaml", "--resume"]
    assert arguments(script, VALUES) == [
        *("/workspace/train.py", "--config", "/a.yaml", "--resume"),
        *("--learning-rate=0.00031", "--warmup-steps=80"),
    ]
    assert arguments(arguments(script, VALUES), VALUES) == arguments(script, VALUES)
    assert arguments(["--seed", "--steps=3"], {"seed": "7"}) == ["--steps=3", "--seed=7"]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (experiment("Running"), "rates has no winner: it goes on"),
        (experiment("Failed"), "rates has no winner: max failed count has reached"),
        (experiment(values=None), "without a trial that told its metric"),
        ({"metadata": {"name": "rates"}}, "it goes on"),
    ],
)
def test_what_has_no_winner_says_why(found: Any, said: str) -> None:
    with pytest.raises(NoWinnerError, match=said):
        winner(found)
    assert winner(experiment()) == VALUES


def script_of(text: str) -> list[str]:
    runs = yaml.safe_load(text)["config"]["gpucluster:training"]["runs"]
    (found,) = (each["script"] for each in runs if each["name"] == RUN)
    return list(found)


def test_only_the_runs_script_changes() -> None:
    """Comments, order and quotes of everything else stay; written twice is written once."""
    new = written(DEV, RUN, VALUES)
    assert script_of(new) == [*script_of(DEV), "--learning-rate=0.00031", "--warmup-steps=80"]
    changed = [(old, line) for old, line in zip(DEV.splitlines(), new.splitlines(), strict=True) if old != line]
    assert len(changed) == 1
    assert written(new, RUN, VALUES) == new


_BLOCK = """
      - name: llama-3-8b-sft  # the one
        script:
          - /train.py
          - '80'
        nodes: 2
"""
_FLOW = """
      - {name: llama-3-8b-sft, script: [/train.py, '80'], nodes: 2}
"""
_SECOND = """
      - name: other
        nodes: 1
      - nodes: 2
        name: llama-3-8b-sft
        script: [/train.py, '80']
"""


@pytest.mark.parametrize("run", [_BLOCK, _FLOW, _SECOND], ids=["a block", "a flow", "the second"])
def test_any_way_of_writing_a_script_is_kept_valid(run: str) -> None:
    """A word that YAML would take for a number keeps its quotes."""
    text = f"config:\n  gpucluster:training:\n    runs:{run}    # the end\n  gpucluster:budget: {{maxGpus: 8}}\n"
    new = written(text, RUN, VALUES)
    assert script_of(new) == ["/train.py", "80", "--learning-rate=0.00031", "--warmup-steps=80"]
    assert yaml.safe_load(new)["config"]["gpucluster:budget"] == {"maxGpus": 8}
    assert [each["nodes"] for each in yaml.safe_load(new)["config"]["gpucluster:training"]["runs"]][-1] == 2
    assert "# the end\n" in new


@pytest.mark.parametrize(
    "run", ["      - name: llama-3-8b-sft\n        nodes: 2\n", "      - {name: llama-3-8b-sft, nodes: 2}\n"]
)
def test_a_run_of_the_reference_trainer_gets_its_arguments(run: str) -> None:
    """It has no `script` unless it has some (framework: reference)."""
    new = written(f"config:\n  gpucluster:training:\n    runs:\n{run}", RUN, VALUES)
    assert script_of(new) == ["--learning-rate=0.00031", "--warmup-steps=80"]


def test_a_run_of_a_preset_is_not_in_the_file() -> None:
    with pytest.raises(NoWinnerError, match="writes no run nobody"):
        written(DEV, "nobody", VALUES)
    with pytest.raises(NoWinnerError, match="a preset has it"):
        written("config: {gpucluster:preset: mid}\n", RUN, VALUES)


def listed(condition: str = "Succeeded") -> str:
    """As kubectl lists what has the name, in any namespace."""
    return json.dumps({"kind": "List", "items": [experiment(condition)]})


def test_the_command_writes_the_file_and_shows_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(DEV)
    assert main(["--stack", "dev"], read=listed()) == 1
    assert "no experiment rates" in capsys.readouterr().err
    assert main(["--stack", "dev", "--to", RUN], read=listed("Failed")) == 1
    assert file.read_text() == DEV
    assert main(["--stack", "dev", "--to", RUN], read=listed()) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line[:1] for line in said] == ["-", "+", "@", "-", "+", "n"]
    assert said[4].endswith("--learning-rate=0.00031, --warmup-steps=80]")
    assert script_of(file.read_text())[-1] == "--warmup-steps=80"
    assert main(["--stack", "dev", "--to", RUN], read=listed()) == 0
    assert "has the winner already" in capsys.readouterr().out
    for nothing in ("", '{"kind": "List", "items": []}'):
        assert main(["--stack", "dev"], read=nothing) == 2
