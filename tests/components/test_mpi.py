"""Runs that MPI starts, and the operator that takes them (kubeflow/mpi-operator v0.8.0)."""

from typing import Any

import pytest

from components.training.job import TrainingJob
from tests.components.samples import SAMPLES, SHAPE, built, job_args
from tests.graph import schema_kubernetes


def spec(**changes: Any) -> dict[str, Any]:
    graph = built(lambda opts: TrainingJob("sample", job_args(launcher="mpi", **changes), opts))
    return dict(graph.one("sample-job").inputs["spec"])


def container(role: str, **changes: Any) -> dict[str, Any]:
    (found,) = spec(**changes)["mpiReplicaSpecs"][role]["template"]["spec"]["containers"]
    return dict(found)


def test_the_gang_is_the_launcher_and_a_worker_on_each_node() -> None:
    """A launcher that waits for its workers would never start: the gang that counts it is never whole without it."""
    found = spec(nodes=8)
    assert {name: each["replicas"] for name, each in found["mpiReplicaSpecs"].items()} == {"Launcher": 1, "Worker": 8}
    assert found["launcherCreationPolicy"] == "AtStartup"
    assert found["runPolicy"]["schedulingPolicy"] == {
        "minAvailable": 9,
        "queue": "research",
        "priorityClass": "training",
    }
    schedulers = {each["template"]["spec"]["schedulerName"] for each in found["mpiReplicaSpecs"].values()}
    assert schedulers == {"volcano"}


def test_each_gpu_has_a_slot_and_a_rank() -> None:
    shape = SHAPE
    found = spec(nodes=4)
    assert found["slotsPerWorker"] == shape.gpus
    words = container("Launcher", nodes=4)["args"]
    assert words[words.index("-np") + 1] == str(4 * shape.gpus)
    assert words[-3:] == ["/train.py", "--config", "/c.yaml"]
    assert "nvidia.com/gpu" not in container("Launcher")["resources"]["limits"]
    assert container("Worker")["resources"]["limits"]["nvidia.com/gpu"] == str(shape.gpus)


def test_ranks_see_the_environment_that_sshd_does_not_hand_on() -> None:
    launcher = container("Launcher", env={"CHECKPOINT_URI": "s3://b/c"})
    words = launcher["args"]
    handed = {words[index + 1] for index, word in enumerate(words) if word == "-x"}
    assert handed == {each["name"] for each in launcher["env"]}
    assert {"CHECKPOINT_URI", "NCCL_DEBUG", "FI_PROVIDER"} <= handed
    assert {"name": "CHECKPOINT_URI", "value": "s3://b/c"} in launcher["env"]


def test_a_worker_serves_ssh_and_may_no_more_than_that() -> None:
    found = container("Worker")
    assert (found["command"], found.get("args")) == (["/usr/sbin/sshd", "-De"], None)
    assert set(found["securityContext"]["capabilities"]["add"]) == {
        "CHOWN",
        "DAC_OVERRIDE",
        "IPC_LOCK",
        "SETGID",
        "SETUID",
        "SYS_CHROOT",
    }
    assert found["securityContext"]["allowPrivilegeEscalation"] is False


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


def test_the_operator_serves_one_namespace_and_makes_gangs() -> None:
    graph = built(SAMPLES["mpi-operator"])
    (container,) = graph.one("sample-deployment").inputs["spec"]["template"]["spec"]["containers"]
    assert {"--gang-scheduling=volcano", "--namespace=training", "--lock-namespace=kubeflow"} <= set(container["args"])
    rules = [rule for each in graph.of_type("ClusterRole") for rule in each.inputs["rules"]]
    assert rules
    assert not [rule for rule in rules if "secrets" in rule["resources"] or "pods" in rule["resources"]]
