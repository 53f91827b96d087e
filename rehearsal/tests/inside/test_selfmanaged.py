"""What an instance that no node group has says of itself in its user data."""

import pytest

from rehearsal.cloud.seen.aws import Aws
from rehearsal.eks.api.releases import published
from rehearsal.eks.selfmanaged import _ami_type
from rehearsal.kubelet import nodeobject
from rehearsal.kubelet.registering import labels, taints
from rehearsal.tests.inside.facts import host

CONFIG = {
    "cluster": {"name": "lab"},
    "kubelet": {
        "config": {
            "registerWithTaints": [
                {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
                {"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
            ]
        },
        "flags": ['--node-labels="karpenter.sh/nodepool=serving,gpucluster/pool=serving"', "--max-pods=20"],
    },
}


def test_labels_and_taints_are_those_of_the_kubelets_flags() -> None:
    assert dict(labels(CONFIG)) == {"karpenter.sh/nodepool": "serving", "gpucluster/pool": "serving"}
    assert list(taints(CONFIG)) == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "karpenter.sh/unregistered", "value": "", "effect": "NO_EXECUTE"},
    ]
    assert dict(labels({})) == {}
    assert list(taints({})) == []


def test_an_image_of_eks_tells_its_variant_and_any_other_is_somebodys_own() -> None:
    by_name = {name: each for each, name in published().items()}
    assert _ami_type(by_name["amazon-eks-node-al2023-x86_64-nvidia-1.36-v20260728"]) == "AL2023_x86_64_NVIDIA"
    assert _ami_type(by_name["amazon-eks-node-al2023-arm64-standard-1.36-v20260728"]) == "AL2023_ARM_64_STANDARD"
    assert _ami_type("ami-0123456789abcdef0") == "CUSTOM"


def test_a_node_of_no_group_carries_no_label_of_one() -> None:
    found = nodeobject.labels(host(nodegroup=""), {"labels": {"a": "b"}}, "us-west-2")
    assert [key for key in found if key.startswith("eks.amazonaws.com/")] == []
    assert found["a"] == "b"
    assert nodeobject.labels(host(nodegroup="gpu"), {}, "us-west-2")["eks.amazonaws.com/nodegroup"] == "gpu"


def test_instances_of_node_groups_are_not_among_those_that_join_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    owned = {"kubernetes.io/cluster/c": "owned"}
    live = {
        "i-own": owned,
        "i-group": owned | {"eks:nodegroup-name": "g"},
        "i-other": {"kubernetes.io/cluster/d": "owned"},
    }
    monkeypatch.setattr(Aws, "live_instances", lambda _: live)
    aws = object.__new__(Aws)
    assert aws.tagged_instances(owned) == {"i-own", "i-group"}
    assert aws.tagged_instances(owned, without="eks:nodegroup-name") == {"i-own"}
