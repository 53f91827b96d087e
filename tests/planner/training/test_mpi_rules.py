"""Runs that MPI starts: what is refused by name (prod)."""

from typing import Any

import pytest

from planner.findings import Severity
from planner.types import AwsPlan
from tests.planner.stacks import experiment, planned
from tests.planner.training.test_follow_ups import FOLLOW_UP

RUN = {"launcher": "mpi", "metricsPort": None, "dataset": None}


def plan(**run: Any) -> AwsPlan:
    return planned("prod", {f"training.runs.0.{key}": value for key, value in {**RUN, **run}.items()})


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"framework": "fsdp2"}, "framework"),
        ({"elastic": {"minNodes": 6}}, "elastic"),
        ({"numaBinding": "node"}, "numaBinding"),
        ({"dataset": {"name": "web-text", "staging": "full"}}, "dataset.staging"),
        ({"metricsPort": 9464}, "metricsPort"),
        ({"followUps": [FOLLOW_UP]}, "followUps"),
    ],
)
def test_what_torchrun_alone_can_do_is_refused(changes: dict[str, Any], key: str) -> None:
    (finding,) = [each for each in plan(**changes).errors if each.rule == "mpi-cannot"]
    assert finding.path == f"gpucluster:training.runs[0].{key}"
    assert finding.remedy.endswith("or set launcher to torchrun")
    torchrun = plan(**changes, launcher="torchrun")
    assert not [each for each in torchrun.findings if each.rule.startswith("mpi-")]


def test_a_run_by_mpi_is_taken_and_said_not_to_be_rehearsed() -> None:
    found = plan()
    assert [each.rule for each in found.findings if each.rule == "mpi-cannot"] == []
    (said,) = [each for each in found.findings if each.rule == "mpi-not-rehearsed"]
    assert said.severity is Severity.WARNING
    unpinned = {each.subject for each in found.errors if each.rule == "image-not-pinned"}
    assert "mpioperator/mpi-operator:0.8.0" in unpinned


def test_trials_of_such_a_run_would_give_a_definition_two_owners() -> None:
    changes = {f"training.runs.0.{key}": value for key, value in RUN.items()}
    trials = {"training.experiments": [experiment("llama-3-70b-pretrain")]}
    (finding,) = [each for each in planned("prod", {**changes, **trials}).errors if each.rule == "mpi-two-owners"]
    assert finding.path == "gpucluster:training.experiments[0].run"
    assert "mpijobs.kubeflow.org would have two owners" in finding.sentence
