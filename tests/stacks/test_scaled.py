"""Pools whose nodes Karpenter makes: what is registered for them, and in which order it goes."""

import base64
import json
from copy import deepcopy
from functools import cache
from typing import Any

from catalogue.images import pinned
from catalogue.versions import KARPENTER_CRDS, KUBECTL_IMAGE, WAIT_IMAGE
from planner.nodes import CONTROLLER_REQUEST
from policy import RULES
from policy.rule import violations
from rehearsal.eks import instances
from tests.graph.harness import Recorded
from tests.graph.stackfiles import graph_of, run_program, stack_config

SCALED = {
    "instanceType": "g6.2xlarge",
    "capacity": "spot",
    "count": 0,
    "rootVolumeGib": 155,
    "karpenter": {"maxCount": 4, "capacities": ["spot", "on-demand"], "instanceTypes": ["g6.4xlarge"]},
}


def scaled(**sections: dict[str, Any]) -> dict[str, Any]:
    """The dev stack, whose services run where Karpenter makes nodes."""
    found = deepcopy(stack_config("dev"))
    found["gpucluster:pools"][2] |= SCALED
    found["gpucluster:budget"] |= {"maxHourlyUsd": 1000, "maxGpus": 64}
    return found | {f"gpucluster:{name}": section for name, section in sections.items()}


@cache
def deployed() -> Recorded:
    """It, and people may open shells on nodes."""
    return run_program(scaled(security={"sessionManager": True}), stack="dev")


def spec(name: str) -> dict[str, Any]:
    found: dict[str, Any] = deployed().one(name).inputs["spec"]
    return found


def test_the_graph_breaks_no_rule() -> None:
    assert [str(each) for each in violations(deployed(), RULES)] == []


def test_a_node_pool_says_what_may_be_started_and_how_many_gpus_together() -> None:
    pool = spec("pool-inference-nodes")
    asked = {each["key"]: each["values"] for each in pool["template"]["spec"]["requirements"]}
    assert asked["node.kubernetes.io/instance-type"] == ["g6.2xlarge", "g6.4xlarge"]
    assert asked["karpenter.sh/capacity-type"] == ["spot", "on-demand"]
    assert asked["kubernetes.io/arch"] == ["amd64"]
    assert pool["limits"] == {"nvidia.com/gpu": "4"}
    assert pool["disruption"]["consolidationPolicy"] == "WhenEmpty"
    assert pool["disruption"]["consolidateAfter"] == "300s"
    assert pool["template"]["spec"]["expireAfter"] == "720h"


def test_its_nodes_get_layers_of_images_side_by_side_where_the_pool_says_so() -> None:
    """Karpenter merges its own NodeConfig with that of the class."""
    asked = scaled()
    asked["gpucluster:pools"][2] |= {"parallelPulls": True}
    told = run_program(asked, stack="dev").one("pool-inference-class").inputs["spec"]["userData"]
    assert instances.node_config(base64.b64encode(told.encode()).decode()) == {"featureGates": {"FastImagePull": True}}
    assert "userData" not in spec("pool-inference-class")


def test_its_nodes_are_what_the_pools_nodes_are() -> None:
    """By these labels and taints services find them, and the GPU Operator does."""
    template = spec("pool-inference-nodes")["template"]
    assert template["metadata"]["labels"] == {
        "gpucluster/pool": "inference",
        "gpucluster/role": "inference",
        # What services select by, and no node has before it is there.
        "nvidia.com/gpu.product": "NVIDIA-L4",
    }
    assert [(each["key"], each["value"]) for each in template["spec"]["taints"]] == [
        ("nvidia.com/gpu", "present"),
        ("gpucluster/pool", "inference"),
    ]
    made = spec("pool-inference-class")
    assert made["amiSelectorTerms"] == [{"alias": "al2023@v20260728"}]
    assert made["instanceStorePolicy"] == "RAID0"
    assert made["metadataOptions"]["httpTokens"] == "required"
    assert made["blockDeviceMappings"][0]["ebs"]["encrypted"] is True
    assert made["tags"]["gpucluster:stack"] == "dev"
    assert "role" not in made


def test_its_nodes_start_where_and_as_those_of_node_groups_do() -> None:
    """In the same subnets and security group, with the same taints and tags, on disks of the pool's size."""
    graph, made = deployed(), spec("pool-inference-class")
    group, template = graph.one("pool-training-nodes").inputs, graph.one("pool-training-template").inputs
    nodes, efa = template["networkInterfaces"][0]["securityGroups"]
    assert efa == graph.one("efa-group").id
    assert made["securityGroupSelectorTerms"] == [{"id": nodes}]
    assert made["subnetSelectorTerms"] == [{"id": each} for each in group["subnetIds"]]
    assert [each["ebs"]["volumeSize"] for each in made["blockDeviceMappings"]] == ["155Gi"]
    assert made["tags"] == template["tagSpecifications"][0]["tags"] | {"Name": "pool-inference-node"}
    taints = spec("pool-inference-nodes")["template"]["spec"]["taints"]
    assert {each["effect"] for each in taints} == {"NoSchedule"}


def test_its_nodes_may_what_those_of_node_groups_may() -> None:
    """A shell among it, and their names in a cluster are given by the same right."""
    rights: dict[str, set[str]] = {}
    for each in deployed().of_type("RolePolicyAttachment"):
        rights.setdefault(each.name.partition("-policy-")[0], set()).add(each.inputs["policyArn"])
    assert rights["karpenter-node-role"] == rights["node-role"]
    assert "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore" in rights["node-role"]
    entry = deployed().one("karpenter-account-nodes").inputs
    assert entry["clusterName"] == deployed().one("cluster-control-plane").inputs["name"]
    assert entry["principalArn"].endswith(":role/gpucluster-dev-karpenter-nodes")


def test_no_node_group_and_no_check_of_gpus_waits_for_its_nodes() -> None:
    graph = deployed()
    assert {each.inputs["nodeGroupName"] for each in graph.of_type("NodeGroup")} == {"system", "training"}
    names = {each.name for each in graph.resources.values()}
    assert "gpu-checks-training" in names
    assert "gpu-checks-inference" not in names


def test_kinds_come_first_then_the_controller_then_what_it_reads() -> None:
    """A destroy goes the other way: the last node goes while the controller runs."""
    graph = deployed()

    def after(name: str) -> set[str]:
        return {urn.rpartition("::")[2] for urn in graph.one(name).depends_on}

    assert "service-addons-coredns" in after("karpenter-crds-apply-first")
    assert "karpenter-crds-apply" in after("karpenter-release")
    assert "karpenter-release" in after("pool-inference-class")
    assert "pool-inference-class" in after("pool-inference-nodes")
    server = next(each for each in graph.of_type("Deployment") if each.inputs["metadata"]["name"] == "llama-3-8b")
    assert any(urn.endswith("::pool-inference-nodes") for urn in server.depends_on)


def test_the_chart_comes_from_its_registry_and_hears_of_interruptions() -> None:
    release = deployed().one("karpenter-release").inputs
    assert release["chart"] == "oci://public.ecr.aws/karpenter/karpenter"
    assert "repositoryOpts" not in release
    assert release["version"] == "1.14.1"
    settings = release["values"]["settings"]
    assert settings["interruptionQueue"] == deployed().one("karpenter-account-queue").inputs["name"]
    assert release["values"]["serviceAccount"]["name"] == "karpenter"
    rules = [each for each in deployed().of_type("EventRule") if each.name.startswith("karpenter")]
    kinds = {json.loads(each.inputs["eventPattern"])["detail-type"][0] for each in rules}
    assert "EC2 Spot Instance Interruption Warning" in kinds
    assert len(kinds) == 4


def test_the_controller_may_start_and_end_what_is_its_clusters_alone() -> None:
    """Whatever changes something is bound to tags of the cluster, or to one thing."""
    policy = json.loads(deployed().one("karpenter-account-identity-policy").inputs["policy"])
    held = 'kubernetes.io/cluster/gpucluster-dev"'
    for each in policy["Statement"]:
        actions = [each["Action"]] if isinstance(each["Action"], str) else each["Action"]
        condition = json.dumps(each.get("Condition", {}))
        if {"ec2:TerminateInstances", "ec2:DeleteLaunchTemplate", "ec2:CreateTags"} & {*actions}:
            assert held in condition, each["Sid"]
        if "iam:PassRole" in actions:
            assert each["Resource"].endswith(":role/gpucluster-dev-karpenter-nodes")
            assert "ec2.amazonaws.com" in condition
        if each["Resource"] == "*":
            assert all(action.startswith(("ec2:Describe", "pricing:Get")) for action in actions), each["Sid"]
    assert "iam:CreateInstanceProfile" not in json.dumps(policy)


def test_its_nodes_join_by_a_role_of_their_own() -> None:
    graph = deployed()
    entry = graph.one("karpenter-account-nodes").inputs
    assert entry["type"] == "EC2_LINUX"
    assert graph.one("karpenter-account-profile").inputs["role"] == "gpucluster-dev-karpenter-nodes"
    assert spec("pool-inference-class")["instanceProfile"] == graph.one("karpenter-account-profile").inputs["name"]


def test_a_stack_without_such_a_pool_has_nothing_of_it() -> None:
    graph = graph_of("dev")
    assert [each.name for each in graph.resources.values() if "karpenter" in each.name] == []


def test_the_controller_is_told_its_cluster_and_has_what_was_planned_for_it() -> None:
    """The plan counts with its requests; two system nodes in one zone hold both of its pods."""
    cpu, memory = CONTROLLER_REQUEST
    amounts = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    values = deployed().one("karpenter-release").inputs["values"]
    assert values["settings"].items() >= {"clusterName": "gpucluster-dev", "eksControlPlane": True}.items()
    assert values["controller"]["resources"] == {"requests": amounts, "limits": {"memory": amounts["memory"]}}
    (spread,) = values["topologySpreadConstraints"]
    assert spread["whenUnsatisfiable"] == "ScheduleAnyway"


def test_its_kinds_are_fetched_at_the_charts_version_and_known_by_their_digests() -> None:
    pod = deployed().one("karpenter-crds-apply-first").inputs["spec"]["template"]["spec"]
    assert {each["image"] for each in pod["initContainers"]} == {pinned(WAIT_IMAGE)}
    assert {each["image"] for each in pod["containers"]} == {pinned(KUBECTL_IMAGE)}
    place = "https://raw.githubusercontent.com/aws/karpenter-provider-aws/v1.14.1/pkg/apis/crds"
    fetched = [each["args"] for each in pod["initContainers"]]
    assert [(url, digest) for _, url, _, digest in fetched] == [
        (f"{place}/{name}.yaml", digest) for name, digest in KARPENTER_CRDS.items()
    ]
    waited = json.dumps(deployed().one("karpenter-crds-apply").inputs["spec"])
    assert all(f"crd/{'.'.join(reversed(name.split('_')))}" in waited for name in KARPENTER_CRDS)
