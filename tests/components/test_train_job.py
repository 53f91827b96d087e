"""A run as Kubeflow Trainer v2 takes it, beside the same run as a PyTorchJob."""

from typing import Any

import pytest

from components.training.job import TrainingJob
from tests.components.samples import built, job_args
from tests.graph import schema_kubernetes
from tests.graph.harness import Recorded


def graph(api: str = "v2", **changes: Any) -> Recorded:
    return built(lambda opts: TrainingJob("sample", job_args(api=api, **changes), opts))


def job(**changes: Any) -> dict[str, Any]:
    return dict(graph(**changes).one("sample-job").inputs["spec"])


def runtime(**changes: Any) -> dict[str, Any]:
    return dict(graph(**changes).one("sample-runtime").inputs["spec"])


def node(**changes: Any) -> dict[str, Any]:
    """The whole pod: what the runtime says with what the job says of its container."""
    (replicated,) = runtime(**changes)["template"]["spec"]["replicatedJobs"]
    return dict(replicated["template"]["spec"]["template"]["spec"])


def test_both_renderings_are_the_same_pod() -> None:
    """Which API takes a run is no difference in what a rank sees."""
    first = graph(api="v1").one("sample-job").inputs["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    pod, trainer = node(), job()["trainer"]
    (container,) = pod["containers"]
    whole = {**container, **{key: trainer[key] for key in ("image", "command", "args", "env")}}
    whole["resources"] = trainer["resourcesPerNode"]
    (wanted,) = first["containers"]
    assert {**whole, "name": "pytorch"} == wanted
    others = {key: value for key, value in pod.items() if key not in ("containers", "restartPolicy")}
    assert others == {key: value for key, value in first.items() if key != "containers"}


def test_all_nodes_are_a_gang_of_the_queue() -> None:
    """Volcano's plugin names no scheduler; without one the pods would come one by one."""
    found = runtime(nodes=8)
    assert found["mlPolicy"] == {"numNodes": 8, "torch": {}}
    assert found["podGroupPolicy"] == {"volcano": {}}
    assert found["template"]["metadata"]["annotations"] == {"scheduling.volcano.sh/queue-name": "research"}
    assert node()["schedulerName"] == "volcano"
    assert job(nodes=8)["trainer"]["numNodes"] == 8


def test_a_gang_within_a_tier_says_so_to_volcano() -> None:
    found = runtime(nodes=8, tier=1)["podGroupPolicy"]
    assert found == {"volcano": {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}}
    assert not [each for made in graph(tier=1).resources.values() for each in schema_kubernetes.problems(made)]
    with pytest.raises(ValueError, match="only pod groups of api v2 have a tier"):
        graph(api="v1", tier=1)


def test_one_pod_that_fails_begins_the_gang_anew() -> None:
    found = runtime(restarts=5)["template"]["spec"]
    (replicated,) = found["replicatedJobs"]
    assert (found["failurePolicy"], replicated["template"]["spec"]["backoffLimit"]) == ({"maxRestarts": 5}, 0)
    assert replicated["template"]["metadata"]["labels"] == {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    assert node()["restartPolicy"] == "Never"


def test_the_trainers_container_leaves_its_environment_to_the_job() -> None:
    """Patches of its environment are forbidden, and reserved names are the controller's."""
    (container,) = node()["containers"]
    assert container["name"] == "node"
    assert not {"env", "command", "args", "image", "resources"} & set(container)
    assert not [each["name"] for each in job()["trainer"]["env"] if each["name"].startswith("PET_")]


def test_a_job_names_its_runtime_and_comes_after_it() -> None:
    found = graph(deadline_seconds=60)
    made = found.one("sample-job")
    assert made.inputs["spec"]["runtimeRef"] == {
        "apiGroup": "trainer.kubeflow.org",
        "kind": "TrainingRuntime",
        "name": found.one("sample-runtime").inputs["metadata"]["name"],
    }
    assert found.one("sample-runtime").urn in made.depends_on
    assert made.inputs["spec"]["activeDeadlineSeconds"] == 60


@pytest.mark.parametrize("kind", ["TrainJob", "TrainingRuntime"])
def test_the_definitions_take_both_and_no_unknown_field(kind: str) -> None:
    if schema_kubernetes.crd_file(kind) is None:
        pytest.skip("the vendors' definitions are not at hand: set GPUCLUSTER_UPSTREAM")
    (found,) = graph().of_type(kind)
    assert schema_kubernetes.problems(found) == []
    found.inputs["spec"]["annotations"] = {"scheduling.volcano.sh/queue-name": "research"}
    assert any("annotations" in each for each in schema_kubernetes.problems(found))
