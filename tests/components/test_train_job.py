"""A run as Kubeflow Trainer v2 takes it, beside the same run as a PyTorchJob."""

from typing import Any

import pytest

from components.training.job import TrainingJob
from tests.components.samples import built
from tests.components.samples.training import job_args
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
    """KJ13: which API takes a run is no difference in what a rank sees."""
    first = graph(api="v1").one("sample-job").inputs["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    pod, trainer = node(), job()["trainer"]
    (container,) = pod["containers"]
    whole = {**container, **{key: trainer[key] for key in ("image", "command", "args", "env")}}
    whole["resources"] = trainer["resourcesPerNode"]
    (wanted,) = first["containers"]
    assert {**whole, "name": "pytorch"} == wanted
    others = {key: value for key, value in pod.items() if key not in ("containers", "restartPolicy")}
    assert others == {key: value for key, value in first.items() if key != "containers"}


def test_a_gang_within_a_tier_says_so_to_volcano() -> None:
    found = runtime(nodes=8, tier=1)["podGroupPolicy"]
    assert found == {"volcano": {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}}
    assert not [each for made in graph(tier=1).resources.values() for each in schema_kubernetes.problems(made)]
    with pytest.raises(ValueError, match="only pod groups of api v2 have a tier"):
        graph(api="v1", tier=1)


@pytest.mark.parametrize("kind", ["TrainJob", "TrainingRuntime"])
def test_the_definitions_take_both_and_no_unknown_field(kind: str) -> None:
    if schema_kubernetes.crd_file(kind) is None:
        pytest.skip("the vendors' definitions are not at hand: set GPUCLUSTER_UPSTREAM")
    (found,) = graph().of_type(kind)
    assert schema_kubernetes.problems(found) == []
    found.inputs["spec"]["annotations"] = {"scheduling.volcano.sh/queue-name": "research"}
    assert any("annotations" in each for each in schema_kubernetes.problems(found))
