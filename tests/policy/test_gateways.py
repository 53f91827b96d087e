"""What a way in from outside needs: routes that are accepted, backends, certificates, and metrics by their names."""

import pytest

from policy import RULES
from policy.rule import violations
from tests.graph.changes import MISSING, Change, both, put, registered
from tests.stacks.test_gateway import graph

ROUTE, GATEWAY, CERTIFICATE = "route-llama-3-8b-route", "gateway-gateway", "gateway-llama-3-8b-tls"
SCALER, ADAPTER = "service-llama-3-8b-autoscaler", "metrics-adapter-release"
LISTENER, METRIC = "spec.listeners.1", "spec.metrics.0.pods.metric.name"
ACCEPTED, LED, ENTERED = "routes_are_accepted", "routes_lead_to_a_service", "listeners_are_at_entry_points"
CERTIFIED, KNOWN = "listeners_have_their_certificate", "adapters_know_the_metric"

WRONG: list[tuple[str, Change, str]] = [
    (ACCEPTED, put(ROUTE, "spec.hostnames", ["llama.llm.example.com"]), "and its listener for llama-3-8b.llm"),
    (ACCEPTED, put(ROUTE, "spec.parentRefs.0.sectionName", "https"), "names the listener https, which"),
    (ACCEPTED, put(GATEWAY, f"{LISTENER}.allowedRoutes", MISSING), "from which gateway-gateway takes no routes"),
    (LED, put(ROUTE, "spec.rules.0.backendRefs.0.port", 80), "leads to port 80 of service-llama-3-8b-service"),
    (LED, put(ROUTE, "spec.rules.0.backendRefs.0.name", "llama"), "leads to the Service llama in inference"),
    (LED, put(ROUTE, "spec.rules.0.filters.0.extensionRef.name", "limit"), "passes the Middleware limit, which"),
    (
        ENTERED,
        put(GATEWAY, f"{LISTENER}.port", 443),
        "listens on 443, and traefik-release has its entry points at 8000",
    ),
    (ACCEPTED, put(ROUTE, "spec.parentRefs.0.name", "gateways"), "which nothing creates; gateway is near"),
    (ENTERED, put(GATEWAY, "spec.gatewayClassName", "trafik"), "is of the class trafik"),
    (ENTERED, put("traefik-release", "values.ports.websecure.port", 9443), "listens on 8443"),
    (CERTIFIED, put(GATEWAY, f"{LISTENER}.tls.certificateRefs.0.name", "tls"), "from the Secret tls, which nothing"),
    (CERTIFIED, put(CERTIFICATE, "spec.issuerRef.kind", "ClusterIssuer"), "asks the ClusterIssuer callers, which"),
    (CERTIFIED, put(CERTIFICATE, "spec.dnsNames", ["llm.example.com"]), "with a certificate for llm.example.com"),
    (KNOWN, put(SCALER, METRIC, "vllm:num_requests_waiting"), "the adapter serves vllm_kv_cache_usage_perc"),
]
SECRET = registered(
    "own", "kubernetes:core/v1:Secret", metadata={"name": "tls", "namespace": "gateway"}, stringData={"tls.key": "x"}
)
RIGHT: list[tuple[str, Change]] = [
    (ACCEPTED, put(ROUTE, "spec.hostnames", MISSING)),
    (ACCEPTED, put(GATEWAY, f"{LISTENER}.hostname", "*.llm.example.com")),
    (ACCEPTED, put(GATEWAY, f"{LISTENER}.allowedRoutes", {"namespaces": {"from": "All"}})),
    (ACCEPTED, put(ROUTE, "spec.parentRefs.0.name", "of-another-stack")),
    (LED, put(ROUTE, "spec.rules.0.backendRefs", [{"kind": "TraefikService", "name": "weighted"}])),
    (ENTERED, put(GATEWAY, "spec.gatewayClassName", "nginx")),
    (
        ENTERED,
        both(put(GATEWAY, f"{LISTENER}.port", 9443), put("traefik-release", "values.ports.websecure.port", 9443)),
    ),
    (CERTIFIED, both(SECRET, put(GATEWAY, f"{LISTENER}.tls.certificateRefs.0.name", "tls"))),
    (CERTIFIED, put(CERTIFICATE, "spec.dnsNames", ["*.llm.example.com"])),
    (KNOWN, both(put(ADAPTER, "values.rules.default", True), put(SCALER, METRIC, "http_requests"))),
]


def said(rule: str, change: Change) -> list[str]:
    """What a rule says of the changed stack."""
    return [str(each) for each in violations(change(graph(acme=True)), [each for each in RULES if each.id == rule])]


@pytest.mark.parametrize(("rule", "change", "sentence"), WRONG, ids=[each[2] for each in WRONG])
def test_a_wrong_way_in_is_found(rule: str, change: Change, sentence: str) -> None:
    found = said(rule, change)
    assert [each for each in found if sentence in each], found


@pytest.mark.parametrize(("rule", "change"), RIGHT)
def test_another_way_in_passes(rule: str, change: Change) -> None:
    assert said(rule, change) == []


def test_a_gateway_keeps_every_rule() -> None:
    for acme in (False, True):
        assert [str(each) for each in violations(graph(acme=acme), RULES)] == []


def test_a_route_into_another_namespace_is_granted() -> None:
    """By a ReferenceGrant of that namespace, for the kind and namespace of the route and for the Service."""
    route = registered(
        "page",
        "kubernetes:gateway.networking.k8s.io/v1:HTTPRoute",
        metadata={"name": "page", "namespace": "gateway"},
        spec={"rules": [{"backendRefs": [{"name": "llama-3-8b", "namespace": "inference", "port": 8000}]}]},
    )

    def grant(kind: str, **to: str) -> Change:
        source = {"group": "gateway.networking.k8s.io", "kind": kind, "namespace": "gateway"}
        return registered(
            "grant",
            "kubernetes:gateway.networking.k8s.io/v1beta1:ReferenceGrant",
            metadata={"name": "grant", "namespace": "inference"},
            spec={"from": [source], "to": [{"group": "", "kind": "Service", **to}]},
        )

    refused = ["page: leads into inference, where no ReferenceGrant lets routes of gateway [routes_lead_to_a_service]"]
    assert said(LED, route) == refused
    assert said(LED, both(route, grant("GRPCRoute"))) == refused
    assert said(LED, both(route, grant("HTTPRoute", name="another"))) == refused
    assert (
        said(LED, both(route, grant("HTTPRoute")))
        == said(LED, both(route, grant("HTTPRoute", name="llama-3-8b")))
        == []
    )


BROKEN = {rule for rule, *_ in WRONG}
