"""A service that goes to zero, from the stack file to what is registered (Q08, X12, IN06)."""

import json
import re
from copy import deepcopy
from functools import cache
from typing import Any

import promql_parser
import pytest

from components.gateway.route import router_of
from tests.graph.harness import Recorded
from tests.graph.schema_kubernetes import crd_file, problems
from tests.graph.stackfiles import run_program, stack_config
from tests.stacks.connections import Connection, End, Network, each_of
from tests.stacks.test_gateway import GATEWAY

NAME = "llama-3-8b"
OPERATOR, SERVER = End(namespace="keda", labels={"app": "keda-operator"}), "keda-operator-metrics-apiserver"
PROMETHEUS = End(namespace="monitoring", labels={"app.kubernetes.io/name": "prometheus"})
GRAFANA = End(namespace="monitoring", labels={"app.kubernetes.io/name": "grafana"})
API, CONTROL_PLANE = End(address="172.20.0.1"), End(address="10.64.2.17")


@cache
def graph(*, zero: bool = True) -> Recorded:
    """The dev stack, whose service is public, with and without replicas that go to zero."""
    config = deepcopy(stack_config("dev"))
    serving = config["gpucluster:serving"]
    serving["gateway"] = GATEWAY
    serving["services"][0] |= {"public": True, "maxReplicas": 2, "minReplicas": 1}
    if zero:
        del serving["services"][0]["minReplicas"]
        serving["services"][0]["scaleToZero"] = {"idleMinutes": 20}
    return run_program(config, stack="dev")


def scaled() -> dict[str, Any]:
    spec: dict[str, Any] = graph().one(f"service-{NAME}-scaled-object").inputs["spec"]
    return spec


def queries() -> dict[str, str]:
    return {each["name"]: each["metadata"].get("query", "") for each in scaled()["triggers"]}


def test_a_deployment_has_one_of_the_two_and_states_no_replicas_in06() -> None:
    kinds = ("HorizontalPodAutoscaler", "ScaledObject")
    assert [len(graph().of_type(each)) for each in kinds] == [0, 1]
    assert [len(graph(zero=False).of_type(each)) for each in kinds] == [1, 0]
    deployment = graph().one(f"service-{NAME}-deployment").inputs
    assert "replicas" not in deployment["spec"]
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment["metadata"]["name"]}
    assert scaled()["scaleTargetRef"] == target


def test_only_what_is_asked_for_is_installed_x12() -> None:
    """KEDA serves external metrics, prometheus-adapter custom ones: no service here needs the latter."""
    released = [{each.name for each in graph(zero=zero).of_type("Release")} for zero in (True, False)]
    both = {"keda-release", "metrics-adapter-release"}
    assert [each & both for each in released] == [{"keda-release"}, {"metrics-adapter-release"}]
    spaces = {each.inputs["metadata"]["name"] for each in graph(zero=False).of_type("Namespace")}
    assert "keda" not in spaces


def test_it_goes_from_none_to_the_most_in_the_same_windows_as_an_hpa() -> None:
    spec = scaled()
    (hpa,) = graph(zero=False).of_type("HorizontalPodAutoscaler")
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (0, hpa.inputs["spec"]["maxReplicas"])
    assert spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"] == hpa.inputs["spec"]["behavior"]
    assert (spec["pollingInterval"], spec["cooldownPeriod"], spec["initialCooldownPeriod"]) == (15, 1200, 1200)


def test_where_nothing_is_known_replicas_stay_as_they_are() -> None:
    """KEDA v2.20.2, pkg/scaling/executor: without `fallback`, or with 0 replicas of it, a failed trigger is no trigger
    for the executor; an empty answer is a failure only where nulls are not ignored.
    """
    assert scaled()["fallback"] == {"failureThreshold": 3, "replicas": 1, "behavior": "currentReplicas"}
    asked = [each for each in scaled()["triggers"] if each["type"] == "prometheus"]
    assert [each["metadata"]["ignoreNullValues"] for each in asked] == ["false"] * 3


def test_triggers_follow_what_the_hpa_follows_dc11() -> None:
    by_name = {each["name"]: each["metadata"] for each in scaled()["triggers"]}
    assert [by_name[each]["threshold"] for each in ("waiting", "cache")] == ["5", "0.8"]
    of = f'{{namespace="inference",service="{NAME}"}}'
    assert by_name["waiting"]["query"].startswith(f"sum(vllm:num_requests_waiting{of})")
    assert by_name["cache"]["query"].startswith(f"sum(vllm:kv_cache_usage_perc{of})")
    server = graph().one("monitoring-stack-chart-release").inputs
    address = f"http://{server['name']}-prometheus.{server['namespace']}.svc:9090"
    assert {each["serverAddress"] for each in by_name.values() if "query" in each} == {address}


@pytest.mark.parametrize("name", ["asked", "waiting", "cache"])
def test_every_query_is_one_that_prometheus_reads(name: str) -> None:
    promql_parser.parse(queries()[name])


def test_it_stays_while_a_stream_runs() -> None:
    """A request of ten minutes is counted at the gateway when it has ended."""
    assert "vllm:num_requests_running" in queries()["asked"]


def test_the_gateway_tells_its_routes_apart_and_the_query_names_this_one() -> None:
    """As Traefik names a router: kind, namespace, route, gateway, entry point, rule, and a hash (v3.7.13,
    makeRouterName); the route that sends plain http to TLS has another name.
    """
    metrics = graph().one("traefik-release").inputs["values"]["metrics"]["prometheus"]
    assert metrics["addRoutersLabels"] is True
    unasked = graph(zero=False).one("traefik-release").inputs["values"]["metrics"]["prometheus"]
    assert "addRoutersLabels" not in unasked
    (router,) = set(re.findall(r'router=~"([^"]+)"', queries()["asked"]))
    route = graph().one(f"route-{NAME}-route").inputs
    place, parent = route["metadata"], route["spec"]["parentRefs"][0]
    words = f"httproute-{place['namespace']}-{place['name']}-gw-{parent['namespace']}-{parent['name']}-ep-websecure-0"
    assert re.fullmatch(router, f"{words}-0123456789abcdef0123@kubernetesgateway")
    plain = words.replace(NAME, f"{NAME}-plain").replace("websecure", "web")
    assert not re.fullmatch(router, f"{plain}-0123456789abcdef0123@kubernetesgateway")


def test_words_that_traefik_joins_are_joined() -> None:
    """Source: Traefik v3.7.13, pkg/provider/configuration.go, Normalize."""
    assert router_of("a", "b--c", "d").startswith("httproute-a-b-c-gw-d-")


def test_up_wakes_it_and_waits_for_as_long_as_it_may_load_q10() -> None:
    """What asks comes from inside, where the gateway counts nothing."""
    job = graph().one(f"smoke-{NAME}-request").inputs["spec"]
    woken = {each["name"]: each["metadata"].get("podSelector") for each in scaled()["triggers"]}["wakes"]
    assert job["template"]["metadata"]["labels"] == dict([woken.split("=")])
    command = job["template"]["spec"]["containers"][0]["command"]
    tries, pause = (int(command[command.index(each) + 1]) for each in ("--retry", "--retry-delay"))
    assert tries * pause >= 600
    assert job["activeDeadlineSeconds"] >= 600 + tries * pause - 25
    fixed = graph(zero=False).one(f"smoke-{NAME}-request").inputs["spec"]
    assert not fixed["template"].get("metadata")


def test_a_change_of_its_service_waits_for_nobody() -> None:
    annotated = [graph(zero=zero).one(f"service-{NAME}-service").inputs["metadata"] for zero in (True, False)]
    assert [each.get("annotations") for each in annotated] == [{"pulumi.com/skipAwait": "true"}, None]


def test_it_comes_after_what_looks_after_it() -> None:
    """Its kind and its controller; at the end it goes before them, or its finalizer would stay."""
    found = graph()
    assert found.one("keda-release").urn in found.one(f"service-{NAME}-scaled-object").depends_on
    assert found.one("cert-manager-release").urn in found.one("keda-release").depends_on


def test_keda_looks_after_models_alone_and_writes_no_secrets() -> None:
    values = graph().one("keda-release").inputs["values"]
    assert values["watchNamespace"] == "inference"
    assert values["certificates"] == {"autoGenerated": False, "certManager": {"enabled": True}}
    assert values["permissions"]["operator"]["restrict"]["secret"] is True
    assert values["webhooks"]["enabled"] is False


def test_the_vendors_schema_takes_the_object() -> None:
    if crd_file("ScaledObject") is None:
        pytest.skip("off: the vendor's definitions are not at hand; set GPUCLUSTER_UPSTREAM")
    assert problems(graph().one(f"service-{NAME}-scaled-object")) == []


CONNECTIONS: tuple[Connection, ...] = (
    ("KEDA asks Prometheus", OPERATOR, PROMETHEUS, 9090, True),
    ("KEDA asks the API", OPERATOR, API, 443, True),
    ("the API asks its metrics", CONTROL_PLANE, End(namespace="keda", labels={"app": SERVER}), 6443, True),
    ("its metrics ask KEDA", End(namespace="keda", labels={"app": SERVER}), OPERATOR, 9666, True),
    ("KEDA's own numbers", PROMETHEUS, OPERATOR, 8080, True),
    ("its metrics do not ask Prometheus", End(namespace="keda", labels={"app": SERVER}), PROMETHEUS, 9090, False),
    ("KEDA does not see Grafana", OPERATOR, GRAFANA, 3000, False),
    ("a model server does not ask KEDA", f"service-{NAME}-deployment", OPERATOR, 9666, False),
)


@each_of(CONNECTIONS)
def test_what_is_needed_gets_through_and_nothing_else_nw08(
    source: str | End, target: str | End, port: int, passes: bool
) -> None:
    assert Network(graph()).passes(source, target, port) is passes


def test_its_namespace_is_restricted_and_has_no_gpus() -> None:
    labels = graph().one("namespaces-keda").inputs["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_alerts_know_that_it_may_have_none() -> None:
    rules = json.dumps([each.inputs["spec"] for each in graph().of_type("PrometheusRule")])
    assert "gpucluster:serving:goes_to_zero" in rules
    fixed = [each.inputs["spec"]["groups"] for each in graph(zero=False).of_type("PrometheusRule")]
    assert '"record": "gpucluster:serving:goes_to_zero"' not in json.dumps(fixed)
