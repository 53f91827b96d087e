"""Runs that MPI starts, and the operator that takes them (kubeflow/mpi-operator v0.8.0)."""

from typing import Any

import pytest

from components.training.job import TrainingJob
from tests.components.samples import built
from tests.components.samples.training import job_args
from tests.graph import schema_kubernetes


def spec(**changes: Any) -> dict[str, Any]:
    graph = built(lambda opts: TrainingJob("sample", job_args(launcher="mpi", **changes), opts))
    return dict(graph.one("sample-job").inputs["spec"])


def container(role: str, **changes: Any) -> dict[str, Any]:
    (found,) = spec(**changes)["mpiReplicaSpecs"][role]["template"]["spec"]["containers"]
    return dict(found)


def test_ranks_see_the_environment_that_sshd_does_not_hand_on() -> None:
    launcher = container("Launcher", env={"CHECKPOINT_URI": "s3://b/c"})
    words = launcher["args"]
    handed = {words[index + 1] for index, word in enumerate(words) if word == "-x"}
    assert handed == {each["name"] for each in launcher["env"]}
    assert {"CHECKPOINT_URI", "NCCL_DEBUG", "FI_PROVIDER"} <= handed
    assert {"name": "CHECKPOINT_URI", "value": "s3://b/c"} in launcher["env"]


def test_workers_are_never_the_first_rank_which_tells_of_the_run() -> None:
    assert "ports" not in container("Worker", metrics_port=9400)


def test_a_job_ends_at_its_deadline() -> None:
    assert spec(deadline_seconds=60, restarts=2)["runPolicy"]["activeDeadlineSeconds"] == 60
    assert spec(restarts=2)["runPolicy"]["backoffLimit"] == 2


def test_the_job_is_one_that_the_definition_takes() -> None:
    if schema_kubernetes.upstream() is None:
        pytest.skip("the vendors' definitions are not at hand: set GPUCLUSTER_UPSTREAM")
    graph = built(lambda opts: TrainingJob("sample", job_args(launcher="mpi"), opts))
    (job,) = graph.of_type("MPIJob")
    assert schema_kubernetes.problems(job) == []
    job.inputs["spec"]["slots"] = 8
    assert any("slots" in each for each in schema_kubernetes.problems(job))
