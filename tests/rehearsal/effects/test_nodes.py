"""Node groups become nodes, or do not, as their account lets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.rehearsal.effects import workloads
from tests.rehearsal.effects.account import until
from tests.rehearsal.effects.conftest import Site, advertised

pytestmark = pytest.mark.engine
STANDARD = "AL2023_x86_64_STANDARD"


@pytest.fixture
def group(site: Site) -> Iterator[Callable[..., str]]:
    """Makes a node group of m7i.large and takes it away after the test."""
    made: list[str] = []

    def make(name: str, size: int, **template: Any) -> str:
        account = site.account
        account.nodegroup(name, size, account.template(name, "m7i.large", **template), STANDARD)
        made.append(name)
        return name

    yield make
    eks, cluster = site.account.eks, site.account.name
    for name in made:
        if name in eks.list_nodegroups(clusterName=cluster)["nodegroups"]:
            eks.delete_nodegroup(clusterName=cluster, nodegroupName=name)
    until(lambda: not set(made) & set(eks.list_nodegroups(clusterName=cluster)["nodegroups"]), 60, "the groups go")


def ready(site: Site, name: str) -> list[str]:
    return [
        node["metadata"]["name"]
        for node in site.nodes(name)
        if any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
    ]


def running(site: Site, name: str) -> set[str]:
    """Ids of the group's running instances."""
    filters = [
        {"Name": "tag:eks:nodegroup-name", "Values": [name]},
        {"Name": "instance-state-name", "Values": ["running"]},
    ]
    found = site.account.ec2.describe_instances(Filters=filters)["Reservations"]
    return {instance["InstanceId"] for each in found for instance in each["Instances"]}


def resize(site: Site, name: str, size: int) -> None:
    scaling = {"minSize": 0, "maxSize": 5, "desiredSize": size}
    site.account.eks.update_nodegroup_config(clusterName=site.account.name, nodegroupName=name, scalingConfig=scaling)


def test_nodes_carry_what_eks_and_the_kubelet_write(site: Site) -> None:
    node = until(lambda: site.nodes("train"), 30, "the training nodes")[0]
    labels = node["metadata"]["labels"]
    assert labels["node.kubernetes.io/instance-type"] == "p5.4xlarge"
    assert labels["eks.amazonaws.com/capacityType"] == "ON_DEMAND"
    assert labels["topology.kubernetes.io/zone"] == "us-west-2a"
    assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"} in node["spec"]["taints"]
    assert node["spec"]["providerID"].rpartition("/")[2] in running(site, "train")


def test_addons_become_active(site: Site) -> None:
    names = ("vpc-cni", "coredns", "aws-fsx-csi-driver")
    until(lambda: {site.account.addon_status(name) for name in names} == {"ACTIVE"}, 40, "all are ACTIVE")


def test_a_csi_driver_registers_even_if_its_pod_is_faster_than_the_kubelets_csinode(site: Site) -> None:
    """Without its driver in the CSINode a node can mount nothing, for good."""
    name = until(lambda: ready(site, "system"), 60, "the system node")[0]
    entry = until(lambda: site.kube.get("storage.k8s.io/v1", "CSINode", name), 30, "its CSINode")
    until(lambda: drivers(site, name), 30, "the driver is registered")
    site.kube.delete(entry)
    old = until(lambda: plugin(site, name), 30, "the plugin runs")
    site.kube.delete(old)
    until(lambda: plugin(site, name) not in (None, old), 30, "a new plugin runs")
    meta = {"name": name, "ownerReferences": entry["metadata"]["ownerReferences"]}
    site.kube.create({**entry, "metadata": meta, "spec": {"drivers": []}})
    until(lambda: drivers(site, name) == ["fsx.csi.aws.com"], 30, "the driver is registered again")


def drivers(site: Site, node: str) -> list[str]:
    """The CSI drivers registered on a node."""
    entry = site.kube.get("storage.k8s.io/v1", "CSINode", node) or {"spec": {}}
    return [each["name"] for each in entry["spec"].get("drivers") or []]


def plugin(site: Site, node: str) -> dict[str, Any] | None:
    """The running pod of FSx's node plugin on a node, without its status."""
    for pod in site.pods("kube-system", "fsx-csi-node"):
        if pod["spec"].get("nodeName") == node and pod["status"].get("phase") == "Running":
            meta = {key: pod["metadata"][key] for key in ("name", "namespace")}
            return {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
    return None


def test_devices_come_from_hardware_and_interfaces(gpus: Site) -> None:
    assert len(advertised(gpus)) == 2
    labels = gpus.nodes("train")[0]["metadata"]["labels"]
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    until(lambda: policy_says(gpus) == ("ready", "Reconciled"), 60, "the ClusterPolicy is ready")


def policy_says(site: Site) -> tuple[str, str]:
    """State of the ClusterPolicy, and the reason of its condition Ready."""
    status = site.kube.list("nvidia.com/v1", "ClusterPolicy")[0].get("status", {})
    reasons = [each["reason"] for each in status.get("conditions", []) if each["type"] == "Ready"]
    return status.get("state", ""), next(iter(reasons), "")


def test_group_without_the_cluster_security_group_fails(site: Site, group: Callable[..., str]) -> None:
    account = site.account
    own = account.ec2.create_security_group(GroupName="own", Description="own", VpcId=account.vpc)["GroupId"]
    name = group("lonely", 1, groups=[own])
    until(lambda: account.status(name) == "CREATE_FAILED", 60, "the node group fails")
    body = account.eks.describe_nodegroup(clusterName=account.name, nodegroupName=name)["nodegroup"]
    assert body["health"]["issues"][0]["code"] == "NodeCreationFailure"
    assert not site.nodes(name)


def test_size_follows_and_a_lost_instance_is_replaced(site: Site, group: Callable[..., str]) -> None:
    name = group("elastic", 1)
    until(lambda: site.account.status(name) == "ACTIVE", 60, "one node")
    resize(site, name, 2)
    until(lambda: len(ready(site, name)) == 2, 60, "two nodes")
    lost = sorted(running(site, name))[0]
    site.account.ec2.terminate_instances(InstanceIds=[lost])
    until(lambda: len(running(site, name) - {lost}) == 2 and len(ready(site, name)) == 2, 60, "a new one came")
    assert lost not in str([node["spec"]["providerID"] for node in site.nodes(name)])
    until(lambda: site.account.status(name) == "ACTIVE", 30, "no update is running")
    resize(site, name, 0)
    until(lambda: not site.nodes(name) and not running(site, name), 60, "none is left")
    until(lambda: site.account.status(name) == "ACTIVE", 30, "an empty group is fine")


def test_new_template_version_rolls_the_nodes_and_drains_them(site: Site, group: Callable[..., str]) -> None:
    account = site.account
    name = group("rolling", 1)
    until(lambda: account.status(name) == "ACTIVE", 60, "one node")
    old = running(site, name)
    spec = {
        "containers": [workloads.container("example.org/app:1")],
        "nodeSelector": {"eks.amazonaws.com/nodegroup": name},
    }
    labels = {"app": "moves"}
    site.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "moves", "namespace": "default"},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
        }
    )
    until(lambda: site.available("default", "moves"), 30, "a pod runs on it")
    template = account.eks.describe_nodegroup(clusterName=account.name, nodegroupName=name)["nodegroup"][
        "launchTemplate"
    ]
    data = account.ec2.describe_launch_template_versions(LaunchTemplateId=template["id"], Versions=["1"])
    account.ec2.create_launch_template_version(
        LaunchTemplateId=template["id"],
        LaunchTemplateData={**data["LaunchTemplateVersions"][0]["LaunchTemplateData"], "InstanceType": "m7i.xlarge"},
    )
    account.eks.update_nodegroup_version(
        clusterName=account.name, nodegroupName=name, launchTemplate={"id": template["id"], "version": "2"}
    )
    until(lambda: account.status(name) == "ACTIVE", 90, "the update is over")
    assert not running(site, name) & old
    assert [n["metadata"]["labels"]["node.kubernetes.io/instance-type"] for n in site.nodes(name)] == ["m7i.xlarge"]
    until(lambda: site.available("default", "moves"), 30, "the pod moved")
    site.kube.delete(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "moves", "namespace": "default"}}
    )
