"""A node is taken out for maintenance and put back, as docs/lifecycle.md says (AB07); a gang makes way for another."""

from typing import Any

import pytest

from .rehearsed import Rehearsed, until

pytestmark = pytest.mark.engine

DRAIN = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=60s")


def gang(site: Rehearsed, run: str = "llama-3-8b-sft") -> list[dict[str, Any]]:
    """The pods of a run."""
    return site.kube.list("v1", "Pod", "training", label_selector=f"gpucluster/run={run}")


def phases(site: Rehearsed, run: str = "llama-3-8b-sft") -> list[str]:
    return sorted(pod["status"]["phase"] for pod in gang(site, run))


def test_a_drained_node_is_empty_its_gang_waits_and_goes_on(dev: Rehearsed) -> None:
    taken = gang(dev)[0]["spec"]["nodeName"]
    try:
        dev.kubectl("drain", taken, *DRAIN)
        until(lambda: phases(dev) == ["Pending", "Running"], "the gang to want its pod back")
        there = dev.kube.list("v1", "Pod", field_selector=f"spec.nodeName={taken}")
        owners = {owner["kind"] for pod in there for owner in pod["metadata"]["ownerReferences"]}
        assert owners == {"DaemonSet"}, "what serves the node itself stays"
        assert any("has 1 of 2 pods running" in each for each in dev.view().unready())
    finally:
        dev.kubectl("uncordon", taken)
    dev.settled()
    assert {pod["spec"]["nodeName"] for pod in gang(dev)} >= {taken}


def test_a_service_is_away_no_longer_than_its_node(dev: Rehearsed) -> None:
    """One replica on the only node of its pool: its budget lets it go, and it has nowhere else to be."""
    (pod,) = dev.kube.list("v1", "Pod", "inference", label_selector="app.kubernetes.io/instance=llama-3-8b")
    taken = pod["spec"]["nodeName"]
    try:
        dev.kubectl("drain", taken, *DRAIN)
        until(lambda: dev.view().unready(), "the service to be missed")
    finally:
        dev.kubectl("uncordon", taken)
    dev.settled()


def test_14_a_terminated_instance_is_replaced_and_its_gang_runs_again(dev: Rehearsed) -> None:
    """Nobody types anything: the node group brings another."""
    node = dev.kube.get("v1", "Node", gang(dev)[0]["spec"]["nodeName"])
    assert node is not None
    dev.aws("ec2").terminate_instances(InstanceIds=[node["spec"]["providerID"].rpartition("/")[2]])
    known = node["metadata"]["uid"]
    until(lambda: known not in [each["metadata"]["uid"] for each in dev.kube.list("v1", "Node")], "the node to go")
    dev.settled()
    assert phases(dev) == ["Running", "Running"]


def test_training_takes_the_nodes_of_an_experiment_m04(dev: Rehearsed) -> None:
    """The pool is full and its queue at its cap: the higher gang's pods come all the same, and the lower one's go."""
    assert phases(dev) == ["Running", "Running"]
    with dev.tree.changed() as tree:
        (run,) = tree.stack("dev").get("gpucluster:training.runs")
        urgent = {**run, "name": "urgent", "priority": "training"}
        tree.stack("dev").set("gpucluster:training.runs", [run, urgent])
        dev.up().require()
        until(lambda: phases(dev, "urgent") == ["Running", "Running"], "the gang of higher priority to run")
        until(lambda: phases(dev) == ["Pending", "Pending"], "the lower gang to wait again, whole")
    told = dev.kubectl("get", "events", "--namespace", "training")
    assert "urgent" in told
    assert "exceeded quota" not in told
    dev.up().require()
    dev.settled()


def test_neither_maintenance_nor_a_loss_is_a_change_of_the_stack(dev: Rehearsed) -> None:
    dev.assert_quiet()
