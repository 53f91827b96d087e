"""Every pod that the program writes passes Pod Security `restricted`, or stands here with the reason (Y15)."""

from collections.abc import Iterator, Mapping

import pytest

from policy.documents import ROLE, rights, trusted
from policy.pods import Pod, pods
from policy.security import ENFORCE, against_baseline, against_restricted
from tests.graph.stackfiles import graph_of

AS_ROOT = "no runAsNonRoot: true in"
COPIES = "directories of the shared file system belong to root, as the kubelet makes them for subPath"
SERVERS = "the vendor's image runs as root and keeps its caches below /root"
FRAMEWORKS = "images of frameworks run as root, and so do the scripts that people put into them"
RDMA = "the kernel pins no memory for cards beyond RLIMIT_MEMLOCK without it (LF10; drivers/infiniband/core/umem.c)"

EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    "dataset-": {AS_ROOT: COPIES},
    "weights-": {AS_ROOT: COPIES},
    "backup-": {AS_ROOT: COPIES},
    "service-": {AS_ROOT: SERVERS},
    "gate-": {AS_ROOT: FRAMEWORKS, "the capabilities IPC_LOCK in": RDMA, "capabilities that are not dropped in": RDMA},
    "run-": {AS_ROOT: FRAMEWORKS, "the capabilities IPC_LOCK in": RDMA, "capabilities that are not dropped in": RDMA},
}
"""What of `restricted` the pods do not keep whose owner's name begins so, and why."""


def broken(pod: Pod) -> Iterator[tuple[str, str | None]]:
    """What the level refuses of a pod, each with its reason."""
    known = next((reasons for begin, reasons in EXCEPTIONS.items() if pod.owner.startswith(begin)), {})
    for sentence in (*against_baseline(pod), *against_restricted(pod)):
        yield sentence, next((why for what, why in known.items() if sentence.startswith(what)), None)


def written(stack: str) -> list[Pod]:
    return list(pods(graph_of(stack)))


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_every_pod_is_restricted_or_has_a_reason(stack: str) -> None:
    found = written(stack)
    assert len(found) > 10
    assert [(pod.owner, what) for pod in found for what, why in broken(pod) if why is None] == []


def test_no_reason_outlives_what_it_is_for() -> None:
    """An exception that nothing needs would hide the next mistake."""
    used = {(pod.owner, what) for stack in ("dev", "prod") for pod in written(stack) for what, _ in broken(pod)}
    for begin, reasons in EXCEPTIONS.items():
        for what in reasons:
            assert any(owner.startswith(begin) and said.startswith(what) for owner, said in used), (begin, what)


def test_every_container_gains_nothing_and_asks_for_the_runtimes_seccomp_profile() -> None:
    for pod in written("prod"):
        for container in pod.containers:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"]["drop"] == ["ALL"]
            assert context["seccompProfile"] == {"type": "RuntimeDefault"}


@pytest.mark.parametrize("stack", ["dev", "prod", "metal"])
def test_pods_of_charts_are_held_by_their_namespace_but_where_the_threat_model_says_why_y15(stack: str) -> None:
    """They have their makers' security contexts; S06's policy holds those of `training`."""
    spaces = (each.inputs["metadata"] for each in graph_of(stack).of_type("Namespace"))
    levels = {each["name"]: each["labels"][ENFORCE] for each in spaces}
    loose = {"training", "gpu-operator", "monitoring", *(["network-operator"] if stack == "metal" else [])}
    assert {name: level for name, level in levels.items() if level != "baseline"} == dict.fromkeys(loose, "privileged")


INTERFACES = ("ec2:AssignPrivateIpAddresses", "ec2:AttachNetworkInterface", "ec2:ModifyNetworkInterfaceAttribute")
OF_NODES = {"AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy"}
"""AWS' policies without a right on interfaces: images are pulled, and the instance looks at what it is."""


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_only_the_cni_changes_interfaces_and_no_node_may_s06(stack: str) -> None:
    """A pod on its node's network takes the node's role: with AWS' policy of the CNI it would rewire any instance."""
    graph = graph_of(stack)
    held = {each.name: (trusted(each) or {}, rights(graph, each)) for each in graph.of_type(ROLE)}
    nodes = {name: has for name, (trust, has) in held.items() if "ec2.amazonaws.com" in trust}
    assert {name: (set(has.policies), has.statements, has.partly) for name, has in nodes.items()} == {
        "node-role-role": (OF_NODES, (), False)
    }
    assert not [name for name, (_, has) in held.items() for each in INTERFACES if has.allow(each, "arn:aws:ec2:::any")]
    assert [name for name, (_, has) in held.items() if "AmazonEKS_CNI_Policy" in has.policies] == [
        "node-addons-vpc-cni-identity-role"
    ]
    cni = graph.one("node-addons-vpc-cni-identity-association").inputs
    assert (cni["namespace"], cni["serviceAccount"]) == ("kube-system", "aws-node")
