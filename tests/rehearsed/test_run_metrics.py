"""A training process that is told of a port tells Prometheus of itself there, as docs/dashboards.md asks (C10, V02)."""

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from monitoring.run_metrics import RUN_METRICS
from rehearsal.cluster.pages import Request
from rehearsal.kubelet.exposition import text
from rehearsal.tests.inside.simulated import GPU, Node, one
from rehearsed import run_metrics, telling
from rehearsed.trainer import Trainer

SAVING = {"METRICS_PORT": "9464", "CHECKPOINT_EVERY_SECONDS": "600", "PET_NNODES": "8", "RANK": "0"}
SCRIPT = ["torchrun", "/workspace/train.py", "--config", "/workspace/llama-3-70b.yaml"]


def launch(directory: Path, env: dict[str, str], argv: list[str] = SCRIPT) -> Any:
    node = Node(directory)
    made = node.launch(node.pod("run-master-0", **{GPU: "8"}), spec={"name": "pytorch", "image": "i:1"})
    limits = {"resources": {"limits": {GPU: "8"}}}
    return replace(made, env=env, command=argv[:1], args=argv[1:], spec={**made.spec, **limits})


def page(directory: Path, env: dict[str, str]) -> str:
    (handler,) = run_metrics.ports(launch(directory, env)).values()
    return str(handler(Request("GET", "/metrics")).content)


def test_it_tells_all_that_is_asked_of_a_script(tmp_path: Path) -> None:
    """Names and types of both sides agree: the documentation is the only thing that they share."""
    told = run_metrics.told(run_metrics.Pace(tokens_per_s=1000, save_every_s=600), began=0.0, seconds=1250.0)
    assert {(each.name, each.kind) for each in told} == {(each.name, each.type) for each in RUN_METRICS}
    assert one(text(told), "training_step") == 125
    assert one(text(told), "training_tokens_total") == 1_250_000
    assert one(text(told), "training_checkpoint_timestamp_seconds") == 1200


def test_a_run_that_saves_nothing_tells_of_no_checkpoint(tmp_path: Path) -> None:
    shown = page(tmp_path, {name: value for name, value in SAVING.items() if not name.startswith("CHECKPOINT")})
    assert "training_checkpoint" not in shown
    assert "training_step" in shown


def test_time_goes_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(time, "time", lambda: 5_000_000.0)
    (handler,) = run_metrics.ports(launch(tmp_path, SAVING)).values()
    clock.now += 605
    shown = str(handler(Request("GET", "/metrics")).content)
    assert one(shown, "training_step") == 60
    assert one(shown, "training_checkpoint_timestamp_seconds") == 5_000_600


def test_speed_is_that_of_all_gpus_of_the_gang(tmp_path: Path) -> None:
    """64 H100 of 989 TFLOP/s on 70e9 parameters: 0.45 x 64 x 989e12 / (6 x 70e9)."""
    assert run_metrics.speed(70e9, "NVIDIA-H100-80GB-HBM3", 64) == pytest.approx(67_817, rel=1e-3)
    shown = page(tmp_path, SAVING)
    assert one(shown, "training_step_seconds") == telling.STEP_SECONDS


@pytest.mark.parametrize(
    ("env", "argv"),
    [
        ({}, SCRIPT),
        ({**SAVING, "RANK": "3"}, SCRIPT),
        (SAVING, ["torchrun", "/workspace/train.py"]),
    ],
    ids=["no port", "another rank", "a model of nobody knows what size"],
)
def test_others_tell_nothing(tmp_path: Path, env: dict[str, str], argv: list[str]) -> None:
    assert run_metrics.ports(launch(tmp_path, env, argv)) == {}


def test_of_workers_without_a_master_the_first_one_tells(tmp_path: Path) -> None:
    """All of them are asked, as torchrun gives rank 0 to any; a page of nothing is an answer, no target is down."""
    made = launch(tmp_path, {name: value for name, value in SAVING.items() if name != "RANK"})

    def shown(index: str) -> str:
        labels = {run_metrics.INDEX: index}
        pod = {**made.pod, "metadata": {**made.pod["metadata"], "labels": labels}}
        (handler,) = run_metrics.ports(replace(made, pod=pod)).values()
        return str(handler(Request("GET", "/metrics")).content)

    assert "training_step" in shown("0")
    assert shown("5") == ""


def test_prometheus_reaches_it_until_it_stops(tmp_path: Path) -> None:
    made = launch(tmp_path, SAVING)
    trainer = Trainer(made)
    assert made.world.backends.find(made.namespace, made.pod_name, 9464) is not None
    assert trainer.listens(23456, 0.0)
    trainer.stop()
    assert made.world.backends.find(made.namespace, made.pod_name, 9464) is None
    made.world.backends.close()
