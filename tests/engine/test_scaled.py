"""A stack whose services run where Karpenter makes nodes: up, a replica more, quiet, and nothing left by a destroy."""

from collections.abc import Iterator
from typing import Any

import pytest

from .rehearsed import Rehearsed, rehearsed, until
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

POOL = {
    "name": "inference",
    "role": "inference",
    "instanceType": "g6.2xlarge",
    "capacity": "spot",
    "count": 0,
    "karpenter": {"maxCount": 2, "capacities": ["spot", "on-demand"], "emptySeconds": 30},
}


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """The dev stack with such a pool."""
    directory = tmp_path_factory.mktemp("scaled")
    tree = Tree.copy(directory / "tree")
    tree.stack("dev").set("gpucluster:pools[2]", POOL)
    tree.stack("dev").set("gpucluster:serving.services[0].maxModelLen", 4096)
    with rehearsed("dev", tree, directory / "state") as site:
        site.up().require()
        yield site


def instances(site: Rehearsed) -> list[dict[str, Any]]:
    """Those that Karpenter made and that live."""
    filters = [
        {"Name": "tag:karpenter.sh/nodepool", "Values": ["inference"]},
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
    ]
    found = site.aws("ec2").describe_instances(Filters=filters)["Reservations"]
    return [each for reservation in found for each in reservation["Instances"]]


def test_the_service_runs_on_a_node_that_it_asked_for(scaled: Rehearsed) -> None:
    (made,) = instances(scaled)
    assert (made["InstanceType"], made["InstanceLifecycle"]) == ("g6.2xlarge", "spot")
    tags = {each["Key"]: each["Value"] for each in made["Tags"]}
    assert tags["gpucluster:stack"] == "dev"
    served = scaled.kube.get("apps/v1", "Deployment", "llama-3-8b", "inference") or {}
    assert served["status"]["availableReplicas"] == 1


def test_nothing_changes_by_itself(scaled: Rehearsed) -> None:
    scaled.assert_quiet()


def test_a_destroy_leaves_no_instance(scaled: Rehearsed) -> None:
    scaled.destroy().require()
    until(lambda: not instances(scaled), "the last node to go")
