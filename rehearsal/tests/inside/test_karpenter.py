"""Karpenter's own controller, with the account of the rehearsal: nodes come for pods that wait, and go without them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from rehearsal.cloud.account import ACCOUNT
from rehearsal.images.table import known
from rehearsal.kubelet.images import Images
from rehearsal.tests.inside.account import REGION, until
from rehearsal.tests.inside.conftest import GPU_OPERATOR, Site
from rehearsal.toolchain.manifests import manifest

pytestmark = [pytest.mark.engine, pytest.mark.scale]

POOL, TYPES = "serving", ["g6.2xlarge", "g6.4xlarge"]
MOST_GPUS = 2
VALUES = {
    "serviceAccount": {"name": "karpenter"},
    "settings": {"clusterName": "scaled", "interruptionQueue": "interruptions", "eksControlPlane": True},
    "replicas": 1,
    "topologySpreadConstraints": [],
    "controller": {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}},
}
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly")


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster with a system node, the GPU operator, Karpenter and one node pool."""
    made = Site(tmp_path_factory.mktemp("scaled"), "scaled", images())
    try:
        account = made.account
        for addon in ("vpc-cni", "kube-proxy", "eks-pod-identity-agent", "coredns"):
            account.addon(addon)
        account.nodegroup("system", 1, account.template("system", "m7i.2xlarge"), "AL2023_x86_64_STANDARD")
        _admit(made)
        made.install("gpu-operator", "gpu-operator", GPU_OPERATOR)
        for name in ("karpenter.k8s.aws_ec2nodeclasses", "karpenter.sh_nodeclaims", "karpenter.sh_nodepools"):
            text = manifest("karpenter", f"pkg/apis/crds/{name}.yaml").read_text()
            made.apply(*(each for each in yaml.safe_load_all(text) if each))
        text = manifest("karpenter", "pkg/apis/crds/karpenter.sh_nodeoverlays.yaml").read_text()
        made.apply(*(each for each in yaml.safe_load_all(text) if each))
        made.install("karpenter", "kube-system", VALUES)
        made.apply(_node_class(made), _node_pool(), _server(0))
        until(
            lambda: _ready(made, "karpenter.k8s.aws/v1", "EC2NodeClass"), 240, "Karpenter found image, subnet, rights"
        )
        until(lambda: _ready(made, "karpenter.sh/v1", "NodePool"), 60, "the node pool is ready")
        yield made
    finally:
        made.stop()


def images() -> Images:
    return known(())


def _admit(site: Site) -> None:
    """What a program makes in the account for Karpenter: its role, its nodes' profile and entry, the queue."""
    account = site.account
    account.associate(account.role_of_pods("controller"), ("kube-system", "karpenter"))
    nodes = account.role("scaled-nodes", "ec2.amazonaws.com", NODE_POLICIES)
    account.iam.create_instance_profile(InstanceProfileName="scaled-nodes")
    account.iam.add_role_to_instance_profile(InstanceProfileName="scaled-nodes", RoleName="scaled-nodes")
    account.eks.create_access_entry(clusterName="scaled", principalArn=nodes, type="EC2_LINUX")
    account.own.client("sqs", REGION).create_queue(QueueName="interruptions")


def _node_class(site: Site) -> dict[str, Any]:
    spec = {
        "amiSelectorTerms": [{"alias": "al2023@v20260728"}],
        "instanceProfile": "scaled-nodes",
        "subnetSelectorTerms": [{"id": site.account.private}],
        "securityGroupSelectorTerms": [{"id": site.account.cluster_group}],
        "instanceStorePolicy": "RAID0",
        "tags": {"gpucluster:stack": "scaled"},
    }
    return {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": POOL}, "spec": spec}


def _node_pool(*capacities: str) -> dict[str, Any]:
    requirements = [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": TYPES},
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [*(capacities or ("spot",))]},
    ]
    spec = {
        "template": {
            "metadata": {"labels": {"pool": POOL}},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": POOL},
                "requirements": requirements,
                "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
                "expireAfter": "720h",
            },
        },
        "limits": {"nvidia.com/gpu": str(MOST_GPUS)},
        "disruption": {
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": "5s",
            "budgets": [{"nodes": "100%"}],
        },
    }
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": POOL}, "spec": spec}


def _server(replicas: int) -> dict[str, Any]:
    """A server whose pods take a GPU each."""
    container = {"name": "server", "image": "vendor/server:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    pod = {
        "nodeSelector": {"pool": POOL},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "server"}},
        "template": {"metadata": {"labels": {"app": "server"}}, "spec": pod},
    }
    meta = {"name": "server", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def _ready(site: Site, api: str, kind: str) -> bool:
    found = site.kube.get(api, kind, POOL) or {}
    conditions = (found.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _running(site: Site) -> list[dict[str, Any]]:
    return [pod for pod in site.pods("default", "server") if (pod.get("status") or {}).get("phase") == "Running"]


def _instances(site: Site) -> list[dict[str, Any]]:
    """Those that Karpenter made and that live."""
    filters = [
        {"Name": "tag-key", "Values": ["karpenter.sh/nodepool"]},
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
    ]
    found = site.account.ec2.describe_instances(Filters=filters)["Reservations"]
    return [each for reservation in found for each in reservation["Instances"]]


def test_a_pod_that_waits_gets_a_node_and_the_last_offer_that_can_be_had(scaled: Site) -> None:
    """EC2 has one of the smaller type: the second node is of the larger one. A third would be beyond the limit."""
    scaled.account.control("PUT", f"capacity/{REGION}/g6.2xlarge", {"count": 1})
    scaled.apply(_server(1))
    until(lambda: len(_running(scaled)) == 1, 120, "the first pod runs")
    (first,) = _instances(scaled)
    assert (first["InstanceType"], first["InstanceLifecycle"]) == ("g6.2xlarge", "spot")
    tags = {each["Key"]: each["Value"] for each in first["Tags"]}
    assert tags["gpucluster:stack"] == "scaled"
    assert tags["kubernetes.io/cluster/scaled"] == "owned"
    node = scaled.kube.get("v1", "Node", first["PrivateDnsName"])
    assert node is not None
    assert node["metadata"]["labels"]["karpenter.sh/nodepool"] == POOL
    assert node["metadata"]["labels"]["karpenter.sh/capacity-type"] == "spot"
    taints = [each["key"] for each in node["spec"]["taints"]]
    assert [each for each in taints if not each.startswith("node.kubernetes.io/")] == ["nvidia.com/gpu"]
    assert node["status"]["capacity"]["nvidia.com/gpu"] == "1"

    scaled.apply(_server(3))
    until(lambda: len(_running(scaled)) == 2, 120, "the second pod runs")
    assert sorted(each["InstanceType"] for each in _instances(scaled)) == TYPES
    (waiting,) = (pod for pod in scaled.pods("default", "server") if not pod["spec"].get("nodeName"))
    name = waiting["metadata"]["name"]
    said = until(
        lambda: [text for _, text in scaled.events("default", name) if "exceed limits" in text],
        60,
        "Karpenter says why",
    )
    assert f"NodePool={POOL}" in said[0]


def test_a_spot_notice_drains_the_node_before_it_goes(scaled: Site) -> None:
    scaled.account.control("PUT", f"capacity/{REGION}/g6.2xlarge", {})
    scaled.apply(_server(1))
    until(lambda: len(_instances(scaled)) == 1 and len(_running(scaled)) == 1, 120, "one node is left")
    (doomed,) = _instances(scaled)
    events, queue = scaled.account.own.client("events", REGION), f"arn:aws:sqs:{REGION}:{ACCOUNT}:interruptions"
    pattern = {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]}
    events.put_rule(Name="interruptions", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="interruptions", Targets=[{"Id": "queue", "Arn": queue}])
    scaled.account.control("PUT", f"spot-notices/{REGION}/{doomed['InstanceId']}", {})
    until(
        lambda: doomed["InstanceId"] not in {each["InstanceId"] for each in _instances(scaled)},
        120,
        "the node has gone",
    )
    until(lambda: len(_running(scaled)) == 1 and len(_instances(scaled)) == 1, 120, "its pod runs on another one")


def test_where_ec2_has_no_spot_instance_the_node_comes_on_demand(scaled: Site) -> None:
    """Spot is asked for first while it is to be had (pkg/providers/instance, getCapacityType); what EC2 refuses is an
    offer less, and the next round takes what is left: on demand.
    """
    scaled.apply(_server(0))
    until(lambda: not _instances(scaled), 120, "no instance without pods")
    for each in TYPES:
        scaled.account.control("PUT", f"capacity/{REGION}/{each}", {"count": 0, "market": "spot"})
    scaled.apply(_node_pool("spot", "on-demand"), _server(1))
    until(lambda: len(_running(scaled)) == 1, 240, "the pod runs")
    (found,) = _instances(scaled)
    assert found.get("InstanceLifecycle") is None
    node = scaled.kube.get("v1", "Node", found["PrivateDnsName"]) or {}
    assert node["metadata"]["labels"]["karpenter.sh/capacity-type"] == "on-demand"
    for each in TYPES:
        scaled.account.control("PUT", f"capacity/{REGION}/{each}", {"market": "spot"})


def test_what_is_empty_goes_and_nothing_stays_behind_a_pool_that_is_removed(scaled: Site) -> None:
    scaled.apply(_server(0))
    until(lambda: not _instances(scaled), 120, "no instance without pods")
    until(lambda: not scaled.kube.list("karpenter.sh/v1", "NodeClaim"), 30, "no claim")
    scaled.apply(_server(1))
    until(lambda: _running(scaled), 120, "a pod runs again")
    scaled.kube.delete(_node_pool())
    scaled.kube.delete(_node_class(scaled))
    until(lambda: scaled.kube.get("karpenter.k8s.aws/v1", "EC2NodeClass", POOL) is None, 180, "Karpenter let it go")
    assert _instances(scaled) == []
