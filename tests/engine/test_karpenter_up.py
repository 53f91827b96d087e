"""A whole stack whose services run where Karpenter makes the nodes: up, a node for a pod that waits, quiet, down.

Karpenter itself runs, from its own chart, as in `rehearsal/tests/inside/test_karpenter.py`.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.command import removal

from .rehearsed import Rehearsed, operations, rehearsed, until
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

POOL, SERVICE, SPACE = "inference", "llama-3-8b", "inference"
SCALED = {
    "instanceType": "g6.2xlarge",
    "capacity": "spot",
    "count": 0,
    "karpenter": {
        "maxCount": 4,
        "capacities": ["spot", "on-demand"],
        "instanceTypes": ["g6.4xlarge"],
        "emptySeconds": 30,
    },
}


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """The dev stack without its run, with the pool of its servers left to Karpenter; the last test here ends it."""
    directory = tmp_path_factory.mktemp("karpenter")
    tree = Tree.copy(directory / "tree")
    stack = tree.stack("dev")
    system, _, pool = stack.get("gpucluster:pools")
    stack.set("gpucluster:pools", [system, {**pool, **SCALED}]).set("gpucluster:budget.maxHourlyUsd", 40)
    stack.set("gpucluster:training", {})
    with rehearsed("karpenter", tree, directory / "state") as site:
        site.up().require()
        site.settled()
        yield site


def instances(site: Rehearsed) -> list[dict[str, Any]]:
    """Those that Karpenter started and that live."""
    filters = [
        {"Name": "tag-key", "Values": ["karpenter.sh/nodepool"]},
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
    ]
    found = site.aws("ec2").describe_instances(Filters=filters)["Reservations"]
    return [each for reservation in found for each in reservation["Instances"]]


def test_the_service_is_ready_on_a_node_that_karpenter_started(scaled: Rehearsed) -> None:
    (made,) = instances(scaled)
    tags = {each["Key"]: each["Value"] for each in made["Tags"]}
    assert tags["gpucluster:stack"] == "dev"
    assert (made["InstanceType"], made["InstanceLifecycle"]) == ("g6.2xlarge", "spot")
    (node,) = scaled.kube.list("v1", "Node", label_selector=f"karpenter.sh/nodepool={POOL}")
    assert node["metadata"]["name"] == made["PrivateDnsName"]
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"
    pods = scaled.kube.list("v1", "Pod", SPACE, label_selector=f"app.kubernetes.io/instance={SERVICE}")
    assert {each["spec"]["nodeName"] for each in pods} == {made["PrivateDnsName"]}
    served = scaled.kube.get("apps/v1", "Deployment", SERVICE, SPACE) or {}
    assert served["status"]["readyReplicas"] == 1


def test_a_second_up_changes_nothing_and_keeps_the_node(scaled: Rehearsed) -> None:
    before = {each["InstanceId"] for each in instances(scaled)}
    scaled.assert_quiet()
    assert operations(scaled.up()) == []
    assert {each["InstanceId"] for each in instances(scaled)} == before


def test_without_the_service_the_node_goes_and_with_it_another_one_comes(scaled: Rehearsed) -> None:
    stack = scaled.tree.stack("dev")
    services = stack.get("gpucluster:serving.services")
    stack.set("gpucluster:serving.services", [])
    scaled.up().require()
    until(lambda: not instances(scaled), "no instance without pods", 240)
    scaled.assert_quiet()
    stack.set("gpucluster:serving.services", services)
    scaled.up().require()
    scaled.settled()
    assert len(instances(scaled)) == 1


def test_down_leaves_no_instance_and_nothing_else(scaled: Rehearsed) -> None:
    """The service's pods go first, then the pool with its last node, then Karpenter."""
    assert instances(scaled)
    removal.destroy(scaled.session)
    assert instances(scaled) == []
    removal.prove_empty(scaled.session)
