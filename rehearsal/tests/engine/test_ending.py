"""What a preview says of jobs that a change ends."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rehearsal.engine.ending import endings

JOB = "kubernetes:kubeflow.org/v1:PyTorchJob"
OLD = {"metadata": {"name": "sft", "namespace": "training"}, "spec": {"steps": 3}}


Taken = tuple[str, str, list[str]]


def log(directory: Path, *steps: Taken) -> Path:
    """The event log of a preview that takes these steps: operation, type, keys."""
    events = [
        {
            "resourcePreEvent": {
                "metadata": {
                    "op": op,
                    "urn": f"urn:pulumi:dev::p::{kind}::x",
                    "keys": keys,
                    "old": {"type": kind, "inputs": OLD},
                }
            }
        }
        for op, kind, keys in steps
    ]
    path = directory / "preview.events"
    path.write_text("\n".join(map(json.dumps, [*events, {"summaryEvent": {}}])))
    return path


def says(job: Mapping[str, Any]) -> str:
    """What is lost of the job above."""
    return f"{job['spec']['steps']} steps are lost"


def test_a_job_that_is_replaced_is_told_once_with_what_it_loses(tmp_path: Path) -> None:
    """The engine tells both halves of a replacement and the replacement itself."""
    steps: tuple[Taken, ...] = (
        ("create-replacement", JOB, []),
        ("replace", JOB, ["spec"]),
        ("delete-replaced", JOB, []),
    )
    assert endings(log(tmp_path, *steps), says) == [
        "PyTorchJob training/sft is deleted and created again (spec changes), so its pods stop: 3 steps are lost"
    ]


def test_a_job_that_goes_is_told_without_a_reason_where_the_program_knows_none(tmp_path: Path) -> None:
    found = endings(log(tmp_path, ("delete", JOB, [])), lambda _: None)
    assert found == ["PyTorchJob training/sft is deleted, so its pods stop"]


def test_nothing_else_ends_a_run(tmp_path: Path) -> None:
    """What is made, changed in place or is no job."""
    steps: tuple[Taken, ...] = (("create", JOB, []), ("update", JOB, []), ("delete", "kubernetes:batch/v1:Job", []))
    assert endings(log(tmp_path, *steps), says) == []
    assert endings(tmp_path / "none", says) == []
