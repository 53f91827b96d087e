"""What a rehearsed cluster has to show: nodes that passed, and the newest save in each of its places."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rehearsal.kubelet.contents import Contents
from rehearsal.particulars import Cluster, Shown
from rehearsed import showing

URI = "s3://saves/checkpoints/sft"
VOLUME = {"csi:fsx:fs-1": {"checkpoints/sft/step-0/SHA256SUMS": 1, "checkpoints/sft/step-12/SHA256SUMS": 1}}
HALF = {"csi:fsx:fs-1": {"checkpoints/sft/step-9/shard-0.pt": 1}, "s3:https://store/other": {}}
STORED = {"s3:https://store/saves": {"checkpoints/sft/step-0/SHA256SUMS": 1, "checkpoints/sft/step-7/shard-0.pt": 1}}


def node(state: str | None) -> dict[str, Any]:
    return {"metadata": {"labels": {showing.GATE: state} if state else {}}}


def job(status: str = "True", path: str | None = "checkpoints/sft") -> dict[str, Any]:
    """A run as the API has it; without a path one that saves nothing."""
    saves = {"env": [{"name": "CHECKPOINT_DIR", "value": "/checkpoints"}]} if path else {}
    mounts = [{"mountPath": "/data"}, {"mountPath": "/checkpoints", "subPath": path}]
    container = {"name": "pytorch", "volumeMounts": mounts, **saves}
    master = {"template": {"spec": {"containers": [container]}}}
    conditions = [{"type": "Created", "status": "True"}, {"type": "Running", "status": status}]
    return {
        "metadata": {"name": "sft"},
        "spec": {"pytorchReplicaSpecs": {"Master": master}},
        "status": {"conditions": conditions},
    }


class Api:
    """The API of a cluster with three nodes and these runs, whose copies to the object store end so."""

    def __init__(
        self,
        *jobs: Mapping[str, Any],
        ends: str = "Complete",
        schedule: bool = True,
        states: tuple[str | None, ...] = ("pass", "warn", None),
    ) -> None:
        self._jobs, self._ends, self._schedule, self._states = jobs, ends, schedule, states
        self.made: list[Mapping[str, Any]] = []

    def list(self, _: str, kind: str, *_where: str, label_selector: str = "") -> list[Mapping[str, Any]]:
        if kind == "ConfigMap":
            return [{"metadata": {"name": name}} for name in ("gate-big-verdicts", "gate-big-plan")]
        if kind == "Node":
            assert label_selector == "gpucluster/pool=big"
            return [node(each) for each in self._states]
        return list(self._jobs)

    def get(self, _: str, kind: str, name: str, namespace: str) -> Mapping[str, Any] | None:
        assert namespace == "training"
        if kind == "Job":
            assert name == self.made[0]["metadata"]["name"]
            return {"status": {"conditions": [{"type": self._ends, "status": "True", "message": "no rights"}]}}
        container = {"env": [{"name": "CHECKPOINT_DIR"}, {"name": "CHECKPOINT_URI", "value": URI}]}
        spec = {"jobTemplate": {"spec": {"template": {"spec": {"containers": [container]}}}}}
        return {"metadata": {"name": name, "uid": "u1"}, "spec": spec} if self._schedule else None

    def create(self, made: Mapping[str, Any]) -> None:
        self.made.append(made)


def shown(api: Any, tmp_path: Path, *volumes: Mapping[str, Mapping[str, int]], now: bool = False) -> list[Shown]:
    contents = Contents(tmp_path / "volumes.json")
    for each in volumes:
        for volume, files in each.items():
            contents.add(volume, dict(files))
    nobody: Any = None
    return list(showing.shows(Cluster(api, tmp_path / "volumes.json", nobody, "us-east-2"), now=now))


def test_a_gate_is_told_by_its_nodes(tmp_path: Path) -> None:
    assert shown(Api(), tmp_path) == [Shown("gate of pool big: 1 of 3 nodes pass, 1 not measured, 1 warn")]
    sick = Api(states=("pass", "fail", "pass"))
    assert shown(sick, tmp_path) == [Shown("gate of pool big: 2 of 3 nodes pass, 1 fail", wrong=True)]


def test_the_newest_whole_save_is_told_in_each_place(tmp_path: Path) -> None:
    _, saved = shown(Api(job()), tmp_path, VOLUME, STORED)
    assert saved == Shown(f"newest checkpoint of run sft: step-12 on the file system, step-0 at {URI}")
    _, saved = shown(Api(job(), schedule=False), tmp_path, VOLUME)
    assert saved == Shown("newest checkpoint of run sft: step-12 on the file system")


@pytest.mark.parametrize("now", [False, True])
def test_what_is_missing_is_wrong_where_it_was_to_come_at_once(tmp_path: Path, now: bool) -> None:
    api = Api(job())
    store = {"s3:https://store/saves": {"another": 1}}
    _, saved = shown(api, tmp_path, HALF, store, now=now)
    assert saved == Shown(f"newest checkpoint of run sft: none yet on the file system, none yet at {URI}", wrong=now)
    assert len(api.made) == now


def test_a_copy_that_fails_says_why(tmp_path: Path) -> None:
    """And it goes with its schedule, as one that kubectl makes."""
    api = Api(job(), ends="Failed")
    _, saved = shown(api, tmp_path, VOLUME, {"s3:https://store/saves": {"another": 1}}, now=True)
    assert saved.wrong
    assert saved.sentence.endswith(f"none yet at {URI} (its copy failed: no rights)")
    (made,) = api.made
    assert made["metadata"]["ownerReferences"] == [
        {"apiVersion": "batch/v1", "kind": "CronJob", "name": "backup-sft", "uid": "u1"}
    ]


@pytest.mark.parametrize("run", [job("False"), job(path=None)], ids=["waits", "saves nothing"])
def test_runs_that_wait_or_save_nothing_are_left_out(tmp_path: Path, run: dict[str, Any]) -> None:
    assert len(shown(Api(run), tmp_path, VOLUME, now=True)) == 1
