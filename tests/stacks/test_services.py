"""What runs before the first workload, on every platform (A08, K01, K02, J06, M01, NW03)."""

import json
import re
from dataclasses import asdict

import pytest

from policy import kubernetes
from policy.rule import rules_of, violations
from tests.stacks.fake_platform import fake_graph
from tests.stacks.platforms import Deployed, deployed, every_platform

VENDOR = re.compile(r"aws|amazon|\beks\b|\bebs\b|fsx|\bs3\b|\befa\b|al2023|arn:|lustre", re.IGNORECASE)
PUBLIC_IMAGES = "public.ecr.aws/docker/library/"
"""Docker's own images, from a registry that asks nobody for a name."""


def test_nothing_of_a_vendor_reaches_another_platform() -> None:
    """Requests, names and outputs: what the fake platform did not bring in itself would be somebody else's.

    But for the rules of Prometheus, which name the metrics of every exporter: where there is none, they find nothing.
    """
    graph = deployed("fake").graph
    asked = [each for each in graph.resources.values() if not each.token.endswith(":PrometheusRule")]
    registered = json.dumps([asdict(each) for each in asked], default=sorted)
    found = VENDOR.findall((registered + json.dumps(graph.outputs)).replace(PUBLIC_IMAGES, ""))
    assert found == []
    assert graph.invokes == []


def test_the_fake_platform_keeps_the_rules_about_kubernetes() -> None:
    """But for the one that looks for pods' nodes among the node groups of EKS."""
    rules = rules_of(kubernetes)
    assert [str(each) for each in violations(deployed("fake").graph, rules)] == []


@every_platform
def test_what_has_pods_comes_after_nodes_network_and_name_service(stack: str) -> None:
    found = deployed(stack)
    ready = found.graph.one(found.ready).urn
    charts = {each.name for each in found.graph.of_type("Release") if ready in each.depends_on}
    assert {"volcano-release", "prometheus-operator-crds-release"} <= charts
    later = {each.name for each in found.graph.of_type("Release")} - charts
    assert {"gpu-operator-release"} <= later <= {"gpu-operator-release", "monitoring-stack-chart-release"}
    monitors = found.graph.one("prometheus-operator-crds-release").urn
    at_first = later - {"gpu-operator-release"} | {"gpu-operator-crds-apply"}
    assert all(monitors in found.graph.one(each).depends_on for each in at_first)


@every_platform
def test_namespaces_go_before_what_removes_the_volumes_of_their_claims(stack: str) -> None:
    """And before what waits until these are removed, which needs nodes and names for that as the driver does."""
    found = deployed(stack)
    graph = found.graph
    held = graph.one("volumes-end-deployment")
    assert {graph.one(each).urn for each in (found.ready, found.remover)} <= set(held.depends_on)
    assert held.timeouts["delete"] == "15m"
    pod = held.inputs["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > 15 * 60
    ours = [each for each in graph.of_type("Namespace") if each.name.startswith("namespaces-")]
    assert {"monitoring", "kubeflow", "training"} <= {each.inputs["metadata"]["name"] for each in ours}
    assert all(held.urn in each.depends_on for each in ours)


@every_platform
def test_the_platform_says_who_owns_driver_and_toolkit_k01_kj33(stack: str) -> None:
    found = deployed(stack)
    values = found.graph.one("gpu-operator-release").inputs["values"]
    assert {key: values[key] for key in found.operator_values} == found.operator_values


@every_platform
def test_daemons_tolerate_whatever_keeps_others_away_k02(stack: str) -> None:
    found = deployed(stack)
    values = found.graph.one("gpu-operator-release").inputs["values"]
    tolerated = {(each["key"], each["effect"]) for each in values["daemonsets"]["tolerations"]}
    pools = [pool.name for pool in found.plan.pools.values() if pool.gpus_per_node]
    assert {(taint.key, taint.effect) for pool in pools for taint in found.taints(pool)} <= tolerated


def test_objects_of_the_devices_come_after_their_charts() -> None:
    graph = deployed("fake").graph
    policy = graph.one("kube-platform-example-rails")
    assert (policy.kind, policy.inputs["spec"]) == ("FabricPolicy", {"resource": "example.com/rdma"})
    assert policy.inputs["metadata"] == {"name": "example-rails"}
    assert graph.one("example-cards-release").urn in policy.depends_on
    assert graph.one("example-cards-release").inputs["namespace"] == "example-network"


def devices(found: Deployed, role: str) -> int:
    """What pods can ask for on the pools of a role; slices count as GPUs."""
    pools = [pool for pool in found.plan.pools.values() if pool.role == role]
    return sum(pool.count * pool.devices_per_node for pool in pools)


@every_platform
def test_no_quota_counts_gangs_that_could_preempt_a08_m04(stack: str) -> None:
    """Quotas are of one priority class each, and stop those that do not belong on a side, and inference beyond its."""
    found = deployed(stack)
    quotas = {}
    for each in found.graph.of_type("ResourceQuota"):
        (scope,) = each.inputs["spec"]["scopeSelector"]["matchExpressions"]
        assert (scope["scopeName"], scope["operator"]) == ("PriorityClass", "In")
        (priority,) = scope["values"]
        quotas[each.inputs["metadata"]["namespace"], priority] = each.inputs["spec"]["hard"]
    gpu = "requests.nvidia.com/gpu"
    assert quotas == {
        ("training", "inference"): {gpu: "0"},
        ("inference", "inference"): {gpu: str(devices(found, "inference"))},
        ("inference", "training"): {gpu: "0"},
        ("inference", "experiments"): {gpu: "0"},
    }


@every_platform
def test_queues_end_where_the_training_pools_do_a08(stack: str) -> None:
    found = deployed(stack)
    most = devices(found, "training")
    caps = [int(each.inputs["spec"]["capability"]["nvidia.com/gpu"]) for each in found.graph.of_type("Queue")]
    assert caps == [min(most, queue.gpus or most) for queue in found.plan.queues]


@every_platform
def test_training_is_as_privileged_as_the_fabric_asks_nw03_j06(stack: str) -> None:
    found = deployed(stack)
    pools = [pool.name for pool in found.plan.pools.values() if pool.role == "training"]
    wanted = "privileged" if any(found.network(pool).capabilities for pool in pools) else "baseline"
    labels = found.graph.one("namespaces-training").inputs["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == wanted


@every_platform
def test_queues_are_those_of_the_plan_m01(stack: str) -> None:
    found = deployed(stack)
    for queue in found.plan.queues:
        spec = found.spec(f"queues-{queue.name}")
        assert (spec["weight"], spec["reclaimable"]) == (queue.weight, queue.reclaimable)
        capped = {"nvidia.com/gpu": str(queue.gpus)} if queue.gpus else None
        assert spec.get("capability") == capped


@every_platform
def test_the_gpu_operator_finds_the_definitions_of_its_version_lf08(stack: str) -> None:
    """Helm leaves those of the version before it where they are, and checks the release's objects against them."""
    graph = deployed(stack).graph
    applied = graph.one("gpu-operator-crds-apply")
    release = graph.one("gpu-operator-release")
    assert applied.urn in release.depends_on
    (container,) = applied.inputs["spec"]["template"]["spec"]["containers"]
    assert container["image"].split(":")[1].partition("@")[0] == release.inputs["version"]
    assert [*container["command"], *container["args"]] == [
        "/usr/bin/manage-crds",
        "apply",
        "--filepath=/opt/gpu-operator",
    ]


@every_platform
def test_gpus_are_waited_for_where_a_pool_asks_for_nodes_k02(stack: str) -> None:
    found = deployed(stack)
    gate = found.graph.one("gpu-readiness-wait")
    assert found.graph.one("gpu-operator-release").urn in gate.depends_on
    first = found.graph.one("gpu-readiness-wait-first")
    assert first.urn in gate.depends_on
    pods = [each.inputs["spec"]["template"]["spec"] for each in (first, gate)]
    assert [[each["name"] for each in pod["containers"]] for pod in pods] == [["found"], ["validated", "ready"]]


@every_platform
def test_how_long_a_webhook_may_keep_its_callers_waiting_is_stated_s25g(stack: str) -> None:
    graph = deployed(stack).graph
    found = graph.of_type("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    hooks = [each for one in found for each in one.inputs["webhooks"]]
    assert hooks
    assert [each["name"] for each in hooks if each.get("timeoutSeconds", 99) > 10] == []


@every_platform
def test_queues_and_the_operator_come_when_the_webhooks_of_volcano_answer_lf16(stack: str) -> None:
    graph = deployed(stack).graph
    gate = graph.one("gang-admission-wait")
    assert graph.one("volcano-release").urn in gate.depends_on
    queues = graph.of_type("Queue")
    assert queues
    assert all(gate.urn in each.depends_on for each in [*queues, graph.one("training-operator-crds-apply")])


@pytest.mark.parametrize("claim", ["training/training-data", "training/checkpoints", "inference/model-weights"])
@every_platform
def test_each_purpose_has_its_claim_in_its_namespace_g31(stack: str, claim: str) -> None:
    found = deployed(stack)
    claims = [each.inputs["metadata"] for each in found.graph.of_type("PersistentVolumeClaim")]
    assert claim in [f"{each['namespace']}/{each['name']}" for each in claims]
    assert claim in found.graph.outputs["storage"]["claims"]


@every_platform
def test_the_outputs_have_the_platforms_own_lines_beside_everybodys(stack: str) -> None:
    outputs = deployed(stack).graph.outputs
    assert outputs["fabric"]["kind"] == {"fake": "example rails", "lab": "ethernet"}.get(stack, "efa")
    networks = {"fake": ["198.51.100.0/24"], "prod": ["10.8.0.0/16"]}
    assert outputs["kubePlatform"]["openTo"] == networks.get(stack, ["203.0.113.0/24"])
    assert outputs["storage"]["block"] == ("example-volumes" if stack == "fake" else "gp3")


def test_a_first_preview_shows_every_resource_of_another_platform() -> None:
    assert sorted(fake_graph(preview=True).resources) == sorted(fake_graph().resources)
