"""What a run loses when its job is deleted, by the environment that its stack gives it (A6)."""

from typing import Any

import pytest

from rehearsed.losses import loses


def job(**env: str) -> dict[str, Any]:
    """A PyTorchJob whose worker has this environment."""
    container = {"name": "pytorch", "env": [{"name": name, "value": value} for name, value in env.items()]}
    return {"spec": {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [container]}}}}}}


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({}, "all that it computed is lost, as it has no checkpoint"),
        ({"CHECKPOINT_EVERY_SECONDS": "1800"}, "since its newest checkpoint is lost, at most 30 min"),
        # Saves on a node's own disks go with its pods.
        ({"CHECKPOINT_EVERY_SECONDS": "60", "CHECKPOINT_FILE_SYSTEM_SECONDS": "1800"}, "at most 30 min"),
        ({"CHECKPOINT_EVERY_SECONDS": "[unknown]"}, "what it computed since its newest checkpoint is lost"),
    ],
)
def test_a_run_loses_what_it_did_not_save(env: dict[str, str], words: str) -> None:
    assert words in str(loses(job(**env)))


def test_of_another_job_nothing_is_known() -> None:
    assert loses({"spec": {"template": {}}}) is None
