"""What a played run of the reference trainer tells MLflow's own server, and how it ends there."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal.places import free_port
from rehearsal.tests.inside.account import until
from rehearsed import telling
from rehearsed.registry import ROOT
from tests.node.mlflow_servers import asked, runs, served, steps


def test_a_played_run_tells_its_loss_and_goes_on_where_it_was(tmp_path: Path) -> None:
    saves = tmp_path / "saves"
    saves.mkdir()
    with served(tmp_path, free_port()) as address:
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "node" / "trainer"),
            "MLFLOW_TRACKING_URI": address,
            "MLFLOW_EXPERIMENT_NAME": "sft",
            "MLFLOW_RUN_CONTEXT": "{}",
            "CHECKPOINT_DIR": str(saves),
        }
        words = [sys.executable, "-P", str(Path(telling.__file__)), "torchrun", "train.py", "--learning-rate=0.1"]
        asked(address, "experiments/create", {"name": "sft"})
        for _ in range(2):
            with subprocess.Popen(words, env=env) as process:
                until(lambda: [each for each in runs(address, "sft") if running(each)], 120, "the run to be told")
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 0
            (found,) = runs(address, "sft")
            assert found["info"]["status"] == "KILLED"
        assert steps(address, found, "loss")[1] == pytest.approx(telling.loss(1))
        assert [each["value"] for each in found["data"]["params"] if each["key"] == "learning-rate"] == ["0.1"]


def running(run: dict[str, dict[str, object]]) -> bool:
    return run["info"]["status"] == "RUNNING" and bool(run["data"].get("metrics"))
