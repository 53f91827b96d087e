"""Node groups become nodes, or do not, as their account lets them."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rehearsal.tests.inside import workloads
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site, advertised

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


def renewed(site: Site, name: str) -> None:
    """Another version of the group's template, of the next larger type, and the update to it."""
    account = site.account
    body = account.eks.describe_nodegroup(clusterName=account.name, nodegroupName=name)["nodegroup"]
    template = body["launchTemplate"]["id"]
    data = account.ec2.describe_launch_template_versions(LaunchTemplateId=template, Versions=["1"])
    changed = {**data["LaunchTemplateVersions"][0]["LaunchTemplateData"], "InstanceType": "m7i.xlarge"}
    account.ec2.create_launch_template_version(LaunchTemplateId=template, LaunchTemplateData=changed)
    version = {"id": template, "version": "2"}
    account.eks.update_nodegroup_version(clusterName=account.name, nodegroupName=name, launchTemplate=version)


def strategy(site: Site, name: str, which: str) -> None:
    config = {"maxUnavailable": 1, "updateStrategy": which}
    site.account.eks.update_nodegroup_config(clusterName=site.account.name, nodegroupName=name, updateConfig=config)
    until(lambda: site.account.status(name) == "ACTIVE", 30, "the configuration is taken")


@pytest.mark.parametrize(("which", "most"), [("DEFAULT", 3), ("MINIMAL", 1)])
def test_an_update_runs_more_nodes_or_fewer_lf07(site: Site, group: Callable[..., str], which: str, most: int) -> None:
    """LF07: in one zone DEFAULT raises a group of one by two; MINIMAL never has more than it."""
    name = group(f"updated-{which.lower()}", 1)
    until(lambda: site.account.status(name) == "ACTIVE", 60, "one node")
    strategy(site, name, which)
    renewed(site, name)
    counts: list[int] = []

    def over() -> bool:
        counts.append(len(running(site, name)))
        return site.account.status(name) == "ACTIVE"

    until(over, 120, "the update is over")
    assert max(counts) == most
    assert len(running(site, name)) == 1


def test_an_update_without_quota_for_its_surge_fails_lf07(site: Site, group: Callable[..., str]) -> None:
    """LF07: DEFAULT needs vCPU for two more nodes at least; without them the update fails and the old node stays."""
    account = site.account
    name = group("cramped", 1)
    until(lambda: account.status(name) == "ACTIVE", 60, "one node")
    old = running(site, name)
    filters = [{"Name": "instance-state-name", "Values": ["running"]}]
    found = account.ec2.describe_instances(Filters=filters)["Reservations"]
    types = [instance["InstanceType"] for each in found for instance in each["Instances"]]
    held = sum({"m7i.large": 2, "m7i.xlarge": 4}.get(each, 0) for each in types)
    account.control("PUT", "quotas/us-west-2/ec2/L-1216C47A", {"value": held + 4})
    renewed(site, name)
    until(lambda: account.status(name) == "DEGRADED", 60, "the update fails")
    body = account.eks.describe_nodegroup(clusterName=account.name, nodegroupName=name)["nodegroup"]
    assert "VcpuLimitExceeded" in body["health"]["issues"][0]["message"]
    assert old <= running(site, name)
    account.control("PUT", "quotas/us-west-2/ec2/L-1216C47A", {})


def sicken(site: Site, node: str, condition: str, reason: str) -> None:
    """What the monitoring agent writes when it sees an error that has been there for some time."""
    since = (datetime.now(UTC) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = {"type": condition, "status": "False", "reason": reason, "lastTransitionTime": since}
    patch = {"status": {"conditions": [told]}}
    site.kube.patch("v1", "Node", node, None, patch, "status", "application/strategic-merge-patch+json")


def watched(site: Site, node: str) -> str:
    """What the agent says of the node's kernel."""
    found = site.kube.get("v1", "Node", node) or {"status": {}}
    said = [each["status"] for each in found["status"].get("conditions", []) if each["type"] == "KernelReady"]
    return str(next(iter(said), ""))


def test_sick_nodes_are_rebooted_or_replaced_lf13(site: Site, group: Callable[..., str]) -> None:
    """LF13: EKS replaces what fails in the kernel, unless the group says that a reboot mends it."""
    account = site.account
    name = group("repaired", 1)
    until(lambda: account.status(name) == "ACTIVE", 60, "one node")
    override = {
        "nodeMonitoringCondition": "KernelReady",
        "nodeUnhealthyReason": "Hung",
        "minRepairWaitTimeMins": 1,
        "repairAction": "Reboot",
    }
    config = {"enabled": True, "nodeRepairConfigOverrides": [override]}
    account.eks.update_nodegroup_config(clusterName=account.name, nodegroupName=name, nodeRepairConfig=config)
    until(lambda: account.status(name) == "ACTIVE", 30, "the configuration is taken")
    old = running(site, name)
    (node,) = ready(site, name)
    until(lambda: watched(site, node) == "True", 30, "the agent watches the node")

    def booted() -> str:
        found = site.kube.get("v1", "Node", node)
        return str(found["status"]["nodeInfo"]["bootID"]) if found else ""

    first = booted()
    sicken(site, node, "KernelReady", "Hung")
    until(lambda: booted() not in ("", first), 30, "it is rebooted")
    assert running(site, name) == old

    def restarted() -> bool:
        pods = [each for each in site.pods("kube-system", "aws-node") if each["spec"].get("nodeName") == node]
        statuses = [status for each in pods for status in each["status"].get("containerStatuses", [])]
        return any(status["restartCount"] == 1 and status["ready"] for status in statuses)

    until(restarted, 30, "its pods run again")
    until(lambda: watched(site, node) == "True", 30, "the agent says that all is well")
    sicken(site, node, "KernelReady", "ForkFailedOutOfPIDs")
    until(lambda: running(site, name) and not running(site, name) & old, 60, "another machine is there")
    until(lambda: len(ready(site, name)) == 1, 60, "and ready")


def test_a_job_makes_another_pod_of_one_that_somebody_deleted(site: Site, group: Callable[..., str]) -> None:
    """One that replaces failed pods only, as all with a podFailurePolicy do, waits until the kubelet says that one has
    ended, whoever deleted or preempted it.
    """
    group("jobs", 1)
    until(lambda: ready(site, "jobs"), 120, "the node is ready")
    main = workloads.container("example.org/sleeps:1", command=["sleep", "infinity"])
    place = {"nodeSelector": {"eks.amazonaws.com/nodegroup": "jobs"}}
    made = workloads.job("deleted", "default", {"containers": [main], **place}, retries=2)
    made["spec"]["podReplacementPolicy"] = "Failed"
    site.apply(made)

    def running() -> list[str]:
        return [
            each["metadata"]["uid"]
            for each in site.pods("default", "deleted-")
            if each["status"].get("phase") == "Running" and "deletionTimestamp" not in each["metadata"]
        ]

    (first,) = until(running, 60, "the pod runs")
    (pod,) = site.pods("default", "deleted-")
    site.kube.delete({"apiVersion": "v1", "kind": "Pod", **pod})
    (second,) = until(lambda: [each for each in running() if each != first], 60, "its successor runs")
    assert second != first
    until(lambda: len(site.pods("default", "deleted-")) == 1, 60, "the first one is gone")
    site.kube.delete(made)
