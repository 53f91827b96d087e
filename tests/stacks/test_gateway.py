"""The way in from outside, from the stack file to what is registered (Y11, Y12, Y13; Q07)."""

import json
from copy import deepcopy
from functools import cache
from typing import Any

from tests.graph.harness import Recorded
from tests.graph.schema_kubernetes import crd_file, problems
from tests.graph.stackfiles import run_program, stack_config
from tests.stacks.connections import Connection, End, Network, each_of
from tests.stacks.platforms import deployed

HOST = "llama-3-8b.llm.example.com"
GATEWAY: dict[str, Any] = {
    "domain": "llm.example.com",
    "issuer": {"kind": "private-ca"},
    "reach": "internet",
    "callers": ["198.51.100.0/24"],
}
ACME = {"kind": "acme", "email": "ops@example.com"}
ZONE = "Z0123456789ABCDEFGHIJ"
ARN = "arn:aws:acm:us-east-2:123456789012:certificate/1234abcd-12ab-34cd-56ef-1234567890ab"
TRAEFIK = End(namespace="gateway", labels={"app.kubernetes.io/name": "traefik"})
MANAGER = End(namespace="cert-manager", labels={"app": "cert-manager"})
SOLVER = End(namespace="gateway", labels={"acme.cert-manager.io/http01-solver": "true"})
CALLER, AUTHORITY, CONTROL_PLANE = End(address="198.51.100.7"), End(address="172.65.32.248"), End(address="10.64.2.17")
API, IDENTITY = End(address="172.20.0.1"), End(address="169.254.170.23")


@cache
def graph(
    *,
    public: bool = True,
    gateway: bool = True,
    acme: bool = False,
    zone: bool = False,
    reach: str = "internet",
    acm: tuple[str, str] | None = None,
) -> Recorded:
    """The dev stack with a gateway; one that takes certificates by a `zone` lets a network in alone; `acm` is what
    a certificate at the load balancer is by.
    """
    config = deepcopy(stack_config("dev"))
    serving = config["gpucluster:serving"]
    if gateway:
        serving["gateway"] = {**GATEWAY, "reach": reach}
    if acme:
        serving["gateway"] |= {"issuer": ACME, "callers": ["0.0.0.0/0"]}
    if zone:
        serving["gateway"] |= {"issuer": {**ACME, "zone": ZONE}}
    if acm:
        serving["gateway"] |= {"issuer": {"kind": "acm", acm[0]: acm[1]}}
    serving["services"][0] |= {"public": public, "requestsPerMinute": 90}
    return run_program(config, stack="dev")


def spec(found: Recorded, name: str) -> dict[str, Any]:
    held: dict[str, Any] = found.one(name).inputs["spec"]
    return held


def test_nothing_of_it_is_there_unless_the_stack_file_asks() -> None:
    """Closed by default: no gateway, no certificates, and no policy that lets anybody new in."""
    found = graph(public=False, gateway=False)
    words = ("gateway", "cert-manager", "traefik", "route-", "issuer")
    names = {each.name for each in found.resources.values()}
    assert [name for name in names if name.startswith(words)] == []
    namespaces = {each.inputs["metadata"]["name"] for each in found.of_type("Namespace")}
    assert not namespaces & {"gateway", "cert-manager"}


def test_a_service_that_is_not_public_has_neither_route_nor_certificate() -> None:
    """IN07."""
    found = graph(public=False)
    assert found.of_type("HTTPRoute") == found.of_type("Middleware") == []
    assert [each.name for each in found.of_type("Certificate")] == ["issuer-root"]
    assert [each["name"] for each in spec(found, "gateway-gateway")["listeners"]] == ["http"]


def test_a_hostname_has_a_listener_with_its_own_certificate() -> None:
    """IN07: callers come by the Gateway API, over TLS."""
    found = graph()
    plain, secure = spec(found, "gateway-gateway")["listeners"]
    assert (plain["port"], plain["protocol"], secure["port"], secure["protocol"]) == (8000, "HTTP", 8443, "HTTPS")
    certificate = spec(found, "gateway-llama-3-8b-tls")
    (named,) = secure["tls"]["certificateRefs"]
    assert (secure["hostname"], certificate["dnsNames"], secure["tls"]["mode"]) == (HOST, [HOST], "Terminate")
    assert named["name"] == certificate["secretName"]
    assert certificate["issuerRef"] == {"kind": "Issuer", "name": "callers"}
    assert found.one("gateway-llama-3-8b-tls").inputs["metadata"]["namespace"] == "gateway"
    among = secure["allowedRoutes"]["namespaces"]["selector"]["matchExpressions"]
    assert among == [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["inference"]}]


def test_a_route_leads_to_the_door_under_the_services_limit() -> None:
    """Each of the two pods lets half of 90 requests a minute through; ten seconds' worth of them at once."""
    found = graph()
    route = spec(found, "route-llama-3-8b-route")
    (rule,) = route["rules"]
    assert route["hostnames"] == [HOST]
    assert route["parentRefs"] == [{"name": "gateway", "namespace": "gateway", "sectionName": "llama-3-8b"}]
    door = found.one("service-llama-3-8b-service").inputs
    assert rule["backendRefs"] == [{"name": door["metadata"]["name"], "port": door["spec"]["ports"][0]["port"]}]
    (limited,) = rule["filters"]
    limit = found.one("route-llama-3-8b-limit").inputs
    assert limited["extensionRef"] == {"group": "traefik.io", "kind": "Middleware", "name": limit["metadata"]["name"]}
    source = {"requestHost": True}
    assert limit["spec"]["rateLimit"] == {"average": 45, "period": "1m", "burst": 8, "sourceCriterion": source}


VISION: dict[str, Any] = {
    "name": "vision",
    "pool": "inference",
    "image": "nvcr.io/nvidia/tritonserver:26.06-py3",
    "models": "pvc://vision/repository",
    "modelsGb": 3,
}


@cache
def with_triton() -> Recorded:
    """The dev stack with a public Triton server and no other."""
    config = deepcopy(stack_config("dev"))
    config["gpucluster:serving"] |= {"gateway": GATEWAY, "triton": [{**VISION, "public": True}]}
    config["gpucluster:pools"][2]["count"] = 2
    return run_program(config, stack="dev")


def test_a_public_triton_server_is_reached_at_its_door_alone() -> None:
    found = with_triton()
    (rule,) = spec(found, "route-vision-route")["rules"]
    (backend,) = rule["backendRefs"]
    assert (backend["name"], backend["port"]) == ("vision", 8000)
    assert spec(found, "gateway-vision-tls")["dnsNames"] == ["vision.llm.example.com"]
    (port,) = spec(found, "triton-vision-service")["ports"]
    assert (port["port"], port["targetPort"]) == (8000, "http")


def test_the_gateway_comes_to_tritons_door_and_not_past_it_nw08() -> None:
    found = with_triton()
    server = "triton-vision-deployment"
    assert Network(found).passes(TRAEFIK, server, 8000)
    assert not any(Network(found).passes(TRAEFIK, server, port) for port in (8001, 8002))
    assert not Network(found).passes(CALLER, server, 8000)


def test_triton_is_asked_with_the_key_of_its_callers_before_it_is_up() -> None:
    found = with_triton()
    (asks,) = spec(found, "smoke-vision-request")["template"]["spec"]["containers"]
    assert asks["command"][-1] == "$(ADDRESS)"
    address, key = asks["env"]
    secret = found.one("keys-vision-secret").inputs["metadata"]["name"]
    assert address["value"] == "http://vision.inference.svc:8000/v2"
    assert key["valueFrom"]["secretKeyRef"] == {"name": secret, "key": "token"}
    (endpoint,) = spec(found, "triton-vision-monitor")["endpoints"]
    assert endpoint["authorization"]["credentials"] == {"name": secret, "key": "scraper"}


def test_plain_http_goes_to_tls_with_its_method_and_body() -> None:
    plain = spec(graph(), "route-llama-3-8b-plain")
    assert plain["parentRefs"][0]["sectionName"] == "http"
    (rule,) = plain["rules"]
    redirect = {"scheme": "https", "statusCode": 308}
    assert rule == {"filters": [{"type": "RequestRedirect", "requestRedirect": redirect}]}
    assert plain["hostnames"] == [HOST]


def test_the_load_balancer_lets_callers_in_and_streams_end_by_themselves() -> None:
    found = graph()
    values = found.one("traefik-release").inputs["values"]
    service = values["service"]
    assert service["spec"] == {"type": "LoadBalancer", "loadBalancerSourceRanges": ["198.51.100.0/24"]}
    begin = "service.beta.kubernetes.io/aws-load-balancer"
    public = [each.id for each in found.of_type("Subnet") if "public" in each.name]
    assert public
    tags = "gpucluster:project=gpucluster,gpucluster:stack=dev,owner=ml-platform,cost-centre=research"
    told = {"type": "nlb", "subnets": ",".join(public), "additional-resource-tags": tags}
    assert service["annotations"] == {f"{begin}-{key}": value for key, value in told.items()}
    for port in ("web", "websecure"):
        transport = values["ports"][port]["transport"]
        assert transport["lifeCycle"] == {"requestAcceptGraceTimeout": "15s", "graceTimeOut": "306s"}
        assert "writeTimeout" not in transport["respondingTimeouts"]
    assert values["deployment"]["terminationGracePeriodSeconds"] > 15 + 306
    inside = graph(reach="network").one("traefik-release").inputs["values"]["service"]["annotations"]
    assert inside[f"{begin}-internal"] == "true"
    assert inside[f"{begin}-subnets"] != ",".join(public)


def test_its_replicas_follow_load_only_where_the_stack_file_says_so_j12() -> None:
    """Two otherwise. What one pod lets through of the services' limit stays: callers who keep to it are not refused."""
    assert "autoscaling" not in graph().one("traefik-release").inputs["values"]
    config = deepcopy(stack_config("dev"))
    config["gpucluster:pools"][0]["count"] += 1
    config["gpucluster:serving"]["gateway"] = {**GATEWAY, "maxReplicas": 5}
    config["gpucluster:serving"]["services"][0] |= {"public": True, "requestsPerMinute": 90}
    found = run_program(config, stack="dev")
    scaling = found.one("traefik-release").inputs["values"]["autoscaling"]
    assert (scaling["minReplicas"], scaling["maxReplicas"]) == (2, 5)
    assert spec(found, "route-llama-3-8b-limit") == spec(graph(), "route-llama-3-8b-limit")


def test_a_first_preview_renders_the_chart_before_monitors_are_served() -> None:
    """The chart refuses to make a monitor where none is served, which a preview of a new cluster finds."""
    metrics = graph().one("traefik-release").inputs["values"]["metrics"]["prometheus"]
    assert (metrics["serviceMonitor"], metrics["disableAPICheck"]) == ({"enabled": True}, True)


def test_what_it_stands_on_comes_first() -> None:
    """Traefik ends without the kinds it looks at; an Issuer is refused before cert-manager's webhook answers."""
    found = graph()
    before = {
        "traefik-release": {"gateway-api-apply", "prometheus-operator-crds-release"},
        "issuer-own": {"cert-manager-release"},
        "issuer-root": {"issuer-own"},
        "issuer-issuer": {"issuer-root"},
        "gateway-llama-3-8b-tls": {"issuer-issuer"},
        "gateway-gateway": {"traefik-release", "gateway-llama-3-8b-tls"},
        "route-llama-3-8b-limit": {"gateway-gateway"},
        "route-llama-3-8b-route": {"gateway-gateway", "service-llama-3-8b-service", "route-llama-3-8b-limit"},
    }
    for name, expected in before.items():
        depends = {found.resources[urn].name for urn in found.one(name).depends_on}
        assert expected <= depends, name


def test_an_authority_that_asks_is_answered_by_the_gateway() -> None:
    found = graph(acme=True)
    acme = spec(found, "issuer-issuer")["acme"]
    assert (acme["email"], acme["server"]) == ("ops@example.com", "https://acme-v02.api.letsencrypt.org/directory")
    assert acme["solvers"] == [
        {"http01": {"gatewayHTTPRoute": {"parentRefs": [{"kind": "Gateway", "name": "gateway"}]}}}
    ]
    plain = spec(found, "gateway-gateway")["listeners"][0]
    assert "gateway" in plain["allowedRoutes"]["namespaces"]["selector"]["matchExpressions"][0]["values"]
    assert "--enable-gateway-api" in found.one("cert-manager-release").inputs["values"]["extraArgs"]
    assert {"issuer-own", "issuer-root"}.isdisjoint(each.name for each in found.resources.values())


def test_an_authority_that_looks_into_the_zone_needs_nobody_let_in() -> None:
    """cert-manager writes the tokens of these hostnames alone, with rights that its account has before its pods are."""
    found = graph(zone=True, reach="network")
    acme = spec(found, "issuer-issuer")["acme"]
    assert acme["solvers"] == [{"dns01": {"route53": {"hostedZoneID": ZONE}}}]
    if crd_file("Issuer") is not None:
        assert problems(found.one("issuer-issuer")) == []
    values = found.one("cert-manager-release").inputs["values"]
    assert values["extraArgs"][1:] == ["--issuer-ambient-credentials", "--dns01-recursive-nameservers-only"]
    bound = found.one("certificates-identity-association").inputs
    assert (bound["namespace"], bound["serviceAccount"]) == ("cert-manager", "cert-manager")
    assert values["serviceAccount"] == {"name": "cert-manager"}
    written, seen = json.loads(found.one("certificates-identity-policy").inputs["policy"])["Statement"]
    assert (written["Resource"], written["Action"]) == (
        f"arn:aws:route53:::hostedzone/{ZONE}",
        "route53:ChangeResourceRecordSets",
    )
    assert written["Condition"]["ForAllValues:StringEquals"] == {
        "route53:ChangeResourceRecordSetsNormalizedRecordNames": [f"_acme-challenge.{HOST}"],
        "route53:ChangeResourceRecordSetsRecordTypes": ["TXT"],
    }
    assert seen["Action"] == "route53:GetChange"
    network = Network(found)
    assert network.passes(MANAGER, AUTHORITY, 443)
    assert network.passes(MANAGER, IDENTITY, 80)
    assert not Network(graph(acme=True)).passes(MANAGER, IDENTITY, 8080)


def test_only_who_writes_records_has_rights_in_the_account() -> None:
    for found in (graph(), graph(acme=True)):
        values = found.one("cert-manager-release").inputs["values"]
        assert (values["extraArgs"], "serviceAccount" in values) == (["--enable-gateway-api"], False)
        assert "certificates-identity-role" not in {each.name for each in found.resources.values()}


def test_up_waits_for_what_is_signed_at_once() -> None:
    """An authority outside takes minutes, or waits until DNS leads to the gateway, which is set up after `up`."""
    awaited = ("gateway-llama-3-8b-tls", "gateway-gateway", "route-llama-3-8b-route", "route-llama-3-8b-plain")
    for found, waits in ((graph(), True), (graph(acme=True), False), (graph(zone=True), False)):
        told = [(found.one(name).inputs["metadata"].get("annotations") or {}) for name in awaited]
        assert [("pulumi.com/waitFor" in each) for each in told] == [waits] * 4


def test_a_person_is_told_where_the_service_is_found() -> None:
    told = graph().outputs["workloads"]["services"]["llama-3-8b"]
    assert (told["publicUrl"], told["hostname"], told["requestsPerMinute"]) == (f"https://{HOST}", HOST, 90)
    assert "publicUrl" not in graph(public=False).outputs["workloads"]["services"]["llama-3-8b"]


SERVER = "service-llama-3-8b-deployment"
CONNECTIONS: tuple[Connection, ...] = (
    ("callers", CALLER, TRAEFIK, 8443, True),
    ("plain http", CALLER, TRAEFIK, 8000, True),
    ("the gateway asks the door", TRAEFIK, SERVER, 8000, True),
    ("Traefik asks the API", TRAEFIK, API, 443, True),
    ("cert-manager asks the API", MANAGER, API, 443, True),
    ("cert-manager's webhook is asked", CONTROL_PLANE, MANAGER, 10250, True),
    ("its metrics", End(namespace="monitoring", labels={}), MANAGER, 9402, True),
    ("the gateway's metrics", End(namespace="monitoring", labels={}), TRAEFIK, 9100, True),
    ("another pod of the gateway's namespace", End(namespace="gateway", labels={"app": "shell"}), SERVER, 8000, False),
    ("past the door", TRAEFIK, SERVER, 8001, False),
    ("callers past the gateway", CALLER, SERVER, 8000, False),
    ("the gateway to training", TRAEFIK, End(namespace="training", labels={"a": "b"}), 23456, False),
    ("callers to its metrics", CALLER, TRAEFIK, 9100, False),
    ("the private authority asks nobody", MANAGER, AUTHORITY, 443, False),
)


@each_of(CONNECTIONS)
def test_what_is_needed_gets_through_and_nothing_else_nw08(
    source: str | End, target: str | End, port: int, passes: bool
) -> None:
    assert Network(graph()).passes(source, target, port) is passes


def test_servers_themselves_let_the_gateway_in_at_the_door_alone() -> None:
    """Whatever the gateway's own policies let out."""
    (rule,) = spec(graph(), "network-rules-inference-gateway")["ingress"]
    assert rule["ports"] == [{"port": 8000, "protocol": "TCP"}]


def test_with_an_authority_its_questions_are_let_in_as_well() -> None:
    network = Network(graph(acme=True))
    assert network.passes(TRAEFIK, SOLVER, 8089)
    assert network.passes(MANAGER, AUTHORITY, 443)
    assert not network.passes(CALLER, SOLVER, 8089)
    assert not Network(graph()).passes(TRAEFIK, SOLVER, 8089)


def test_another_platform_publishes_it_by_its_own_load_balancers() -> None:
    found = deployed("fake")
    service = found.graph.one("traefik-release").inputs["values"]["service"]
    assert service["spec"]["loadBalancerClass"] == found.entry.load_balancer_class
    assert service["spec"]["loadBalancerSourceRanges"] == ["10.7.0.0/16", "192.0.2.0/24"]
    assert service["annotations"] == found.entry.annotations
