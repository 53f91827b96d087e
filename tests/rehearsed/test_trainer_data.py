"""LF14: the trainer reads its data, or says in its own words that there is none."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.program import Launch, Mount
from rehearsed import trainer

VOLUME = "csi:fsx:fs-1"
TOLD = {"DATASET_DIR": "/data"}


def started(tmp_path: Path, env: dict[str, str], *mounts: Mount) -> tuple[str, Any]:
    """What the process logs and how it ends, on a file system that holds another dataset and a model."""
    contents = Contents(tmp_path / "contents")
    contents.add(VOLUME, {"datasets/chats-1/part-0": 9, "models/llama-1/config.json": 2})
    world: Any = SimpleNamespace(contents=contents)
    said: list[str] = []
    pod = {"metadata": {"name": "p", "namespace": "training"}, "spec": {}}
    launch = Launch(world, pod, {}, "n", ["torchrun"], ["train.py"], env, mounts, tmp_path, print, 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Launch, "log", lambda _, text: said.append(text))
        ended = trainer.run(launch).exited(1e9)
    return "\n".join(said), ended


def test_a_run_whose_dataset_is_there_trains_lf14(tmp_path: Path) -> None:
    said, ended = started(tmp_path, TOLD, Mount("/data", VOLUME, "datasets/chats-1", read_only=True))
    assert (said, ended) == ("training: torchrun train.py", None)


@pytest.mark.parametrize("env", [TOLD, {}])
def test_a_run_whose_dataset_is_empty_ends_lf14(tmp_path: Path, env: dict[str, str]) -> None:
    """Told of the directory or not: it is the one that training scripts open."""
    said, ended = started(tmp_path, env, Mount("/data", VOLUME, "datasets/text-1", read_only=True))
    assert "got num_samples=0" in said
    assert ended.code == 1


def test_a_run_whose_dataset_is_not_mounted_ends_lf14(tmp_path: Path) -> None:
    said, ended = started(tmp_path, TOLD)
    assert "No such file or directory: '/data'" in said
    assert ended.code == 1


def test_a_run_without_a_dataset_needs_none(tmp_path: Path) -> None:
    assert started(tmp_path, {})[1] is None
