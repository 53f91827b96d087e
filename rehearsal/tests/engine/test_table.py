"""The closing table shows what the APIs say, and what does not run is told in sentences."""

from collections import Counter
from dataclasses import replace
from typing import Any

from rich.console import Console

from rehearsal.engine.events import Urn
from rehearsal.engine.recover import Finding, Recovery, Verdict
from rehearsal.engine.table import Phase, closing, recovery_table
from rehearsal.engine.view import ClusterView, Gang, Node, Service, gang, node, services


def text(renderable: Any) -> str:
    console = Console(width=140, force_terminal=False)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get()


def api_node(name: str, ready: str = "True", **allocatable: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "labels": {"node.kubernetes.io/instance-type": "p5.4xlarge", "topology.kubernetes.io/zone": "us-east-1a"},
        },
        "status": {"conditions": [{"type": "Ready", "status": ready}], "allocatable": allocatable},
    }


def test_a_nodes_extended_resources_and_readiness() -> None:
    item = api_node("n1", **{"nvidia.com/gpu": "1", "vpc.amazonaws.com/efa": "1"})
    assert node(item) == Node("n1", "p5.4xlarge", "us-east-1a", True, 1, 1)
    assert node({"metadata": {"name": "bare"}}) == Node("bare", "-", "-", False, 0, 0)


def test_a_pod_group_that_volcano_has_not_seen_yet() -> None:
    item = {"metadata": {"namespace": "training", "name": "g"}, "spec": {"minMember": 2}}
    assert gang(item) == Gang("training", "g", 2, 0, "")


def deployment(name: str, namespace: str = "inference", **status: int) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"metadata": {"labels": {"app": name, "v": "1"}}}},
        "status": status,
    }


def test_endpoints_count_only_ready_addresses_of_services_that_select_the_pods() -> None:
    ports: list[dict[str, Any]] = [
        {"metadata": {"name": "vllm", "namespace": "inference"}, "spec": {"selector": {"app": "vllm"}}},
        {"metadata": {"name": "headless", "namespace": "inference"}, "spec": {}},
        {"metadata": {"name": "vllm", "namespace": "elsewhere"}, "spec": {"selector": {"app": "vllm"}}},
    ]
    labels = {"kubernetes.io/service-name": "vllm"}
    slices: list[dict[str, Any]] = [
        {
            "metadata": {"name": "vllm-x", "namespace": "inference", "labels": labels},
            "endpoints": [
                {"addresses": ["10.0.0.1"], "conditions": {"ready": True}},
                {"addresses": ["10.0.0.2"], "conditions": {"ready": False}},
            ],
        },
        {
            "metadata": {"name": "vllm-y", "namespace": "elsewhere", "labels": labels},
            "endpoints": [{"addresses": ["10.0.0.3"]}],
        },
    ]
    found = services([deployment("vllm", readyReplicas=1), deployment("coredns", "kube-system")], ports, slices)
    assert found == [Service("inference", "vllm", 1, 1, 1)]


def test_an_autoscaler_asks_for_its_minimum_before_it_came_to_it() -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "vllm"}
    autoscaler = {"metadata": {"namespace": "inference"}, "spec": {"scaleTargetRef": target, "minReplicas": 2}}
    (found,) = services([deployment("vllm", readyReplicas=1)], [], [], [autoscaler])
    assert (found.ready, found.desired) == (1, 2)


VIEW = ClusterView(
    "gpucluster-dev",
    [Node("n1", "p5.4xlarge", "us-east-1a", True, 1, 1), Node("n2", "g6e.xlarge", "us-east-1b", False, 0, 0)],
    [Gang("training", "pretrain", 2, 1, "Pending")],
    [Service("inference", "vllm", 0, 1, 0)],
)


def test_what_does_not_run_is_told_in_sentences() -> None:
    assert VIEW.unready() == [
        "node n2 is not Ready",
        "gang training/pretrain has 1 of 2 pods running (Pending)",
        "deployment inference/vllm has 0 of 1 replicas ready",
    ]
    fine = ClusterView("c", [VIEW.nodes[0]], [Gang("t", "g", 2, 2, "Running")], [Service("i", "v", 2, 1, 2)])
    assert fine.unready() == []


def test_the_closing_table_holds_every_part() -> None:
    by_type = {"aws:ec2/vpc:Vpc": Counter(create=1), "kubernetes:apps/v1:Deployment": Counter(create=2, same=1)}
    shown = text(closing(by_type, [VIEW], [Phase("update", 61.25, 3 * 2**30)], whole=True))
    rows = [" ".join(line.replace("│", " ").replace("┃", " ").split()) for line in shown.splitlines()]
    for row in (
        "aws:ec2:Vpc 1",
        "apps/v1:Deployment 2 1",
        "all 3 1",
        "n1 p5.4xlarge us-east-1a yes 1 1",
        "n2 g6e.xlarge us-east-1b no",
        "training/pretrain 2 1 Pending",
        "inference/vllm 0/1 0",
        "update 61.2 3,072 MiB",
    ):
        assert row in rows, (row, rows)


def test_what_there_is_comes_without_a_list_of_types() -> None:
    """C5: types and simulated images are listed by -v; the rest ends with how many were made and what it took."""
    by_type = {"aws:ec2/vpc:Vpc": Counter(create=1), "kubernetes:apps/v1:Deployment": Counter(create=2, same=1)}
    seen, phases = replace(VIEW, unplayed=("team/a", "team/b")), [Phase("preview", 8.0, 0), Phase("up", 61.25, 0)]
    shown = text(closing(by_type, [seen], phases))
    assert "aws:ec2:Vpc" not in shown
    assert "team/a" not in shown
    assert "2 images are simulated only" in shown
    assert "team/a" in text(closing(by_type, [seen], phases, whole=True))
    assert "simulated only" not in text(closing(by_type, [VIEW], phases))
    assert "training/pretrain" in shown
    assert shown.rstrip().endswith("resources: create 3, same 1 of 2 types; 69 s in all")


def test_the_recovery_table_names_ids() -> None:
    urn = Urn("urn:pulumi:dev::p::aws:ec2/vpc:Vpc::main")
    shown = text(recovery_table(Recovery((Finding(urn, "creating", Verdict.IMPORT, "found", "vpc-1"),))))
    assert "aws:ec2:Vpc main" in shown
    assert "taken into the state" in shown
    assert "found: vpc-1" in shown
    assert "nothing was interrupted" in text(recovery_table(Recovery(())))
