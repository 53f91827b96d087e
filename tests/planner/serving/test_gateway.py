"""The way in from outside: what the planner makes of it, what it says is opened, and what it costs (Y11, Y12; Q07)."""

from typing import Any

import pytest

from planner.faces.nodes import service_facts
from planner.monitoring.room import CERTIFICATES, GATEWAY_REQUEST
from planner.serving.gateway import AcmePlan, RoutePlan
from tests.planner.stacks import planned, planned_metal, rules, sections

GATEWAY: dict[str, Any] = {"domain": "llm.example.com", "issuer": {"kind": "private-ca"}, "callers": ["10.0.0.0/8"]}
ACME = {"kind": "acme", "email": "ops@example.com"}
ZONE = "Z0123456789ABCDEFGHIJ"
EVERYBODY: dict[str, Any] = {"reach": "internet", "callers": ["0.0.0.0/0"]}


def opened(service: dict[str, Any] | None = None, **gateway: Any) -> dict[str, Any]:
    """Changes of the dev stack: a gateway, and its service public."""
    told = {f"serving.services.0.{key}": value for key, value in {"public": True, **(service or {})}.items()}
    return {"serving.gateway": {**GATEWAY, **gateway}, **told}


def test_nothing_is_open_by_default() -> None:
    assert planned().gateway is None


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ({}, ("llama-3-8b.llm.example.com", 600, 300, 50)),
        ({"hostname": "chat.example.com", "requestsPerMinute": 7}, ("chat.example.com", 7, 4, 1)),
        ({"requestsPerMinute": 1}, ("llama-3-8b.llm.example.com", 1, 1, 1)),
    ],
    ids=["by itself", "its own name and limit", "the smallest limit"],
)
def test_a_route_has_a_name_and_its_part_of_the_limit(service: dict[str, Any], expected: tuple[Any, ...]) -> None:
    """Two pods count by themselves: each lets half through, rounded up, and ten seconds' worth of it at once."""
    plan = planned("dev", opened(service)).gateway
    assert plan is not None
    hostname, limit, part, burst = expected
    assert plan.routes == (
        RoutePlan(
            service="llama-3-8b",
            hostname=hostname,
            requests_per_minute=limit,
            pod_requests_per_minute=part,
            pod_burst=burst,
        ),
    )
    assert plan.route("llama-3-8b") is plan.routes[0]
    assert plan.route("other") is None


def test_the_plan_says_how_much_more_pods_that_load_adds_let_through() -> None:
    """Each counts by itself, and lets half of the limit through."""
    said = []
    for gateway in (GATEWAY, {**GATEWAY, "maxReplicas": 6}):
        plan = planned("dev", {**opened(), "serving.gateway": gateway})
        said.append(dict(service_facts(plan.services["llama-3-8b"], plan.pools["inference"], plan.gateway))["open to"])
    assert said[0] == "10.0.0.0/8 at https://llama-3-8b.llm.example.com, 600 requests a minute"
    assert said[1] == f"{said[0]}, 1,800 when load has made 6 pods of the gateway"


def test_a_pod_of_the_gateway_has_as_long_for_streams_as_the_slowest_server() -> None:
    found = planned("dev", opened())
    assert found.gateway is not None
    assert found.gateway.drain_seconds == found.services["llama-3-8b"].drain_seconds
    shorter = planned("dev", opened({"drainSeconds": 33})).gateway
    assert shorter is not None
    assert shorter.drain_seconds == 33


def test_an_authority_is_lets_encrypt_unless_another_is_named() -> None:
    usual, other = (
        planned("dev", opened(issuer={**ACME, **more}, **EVERYBODY)).gateway
        for more in ({}, {"server": "https://ca.example.com/acme"})
    )
    assert usual is not None
    assert other is not None
    lets_encrypt = "https://acme-v02.api.letsencrypt.org/directory"
    assert usual.acme == AcmePlan(server=lets_encrypt, email="ops@example.com")
    assert other.acme == AcmePlan(server="https://ca.example.com/acme", email="ops@example.com")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        (EVERYBODY, ["gateway-open"]),
        ({"reach": "network", "callers": ["0.0.0.0/0"]}, []),
        ({"reach": "internet"}, []),
        ({"issuer": ACME}, ["issuer-reach"]),
        ({"issuer": ACME, "reach": "internet"}, ["issuer-reach"]),
        ({"issuer": ACME, "callers": ["0.0.0.0/0"]}, ["issuer-reach"]),
        ({"issuer": ACME, **EVERYBODY}, ["gateway-open"]),
        ({"issuer": {**ACME, "zone": ZONE}}, []),
    ],
    ids=[
        "a network",
        "everybody",
        "everybody of a network",
        "some of the Internet",
        "authority kept out",
        "authority let in from some networks",
        "authority inside only",
        "authority let in",
        "authority that looks into the zone",
    ],
)
def test_who_is_let_in_is_told_and_who_has_to_come_in_can(changes: dict[str, Any], expected: list[str]) -> None:
    found = planned("dev", opened(**changes))
    assert [each for each in rules(found) if each.startswith(("gateway", "issuer"))] == expected
    assert [each.rule for each in found.errors if each.rule.startswith("gateway")] == []


def test_what_is_open_to_everybody_is_named_with_its_key_and_limit() -> None:
    (found,) = (each for each in planned("dev", opened(**EVERYBODY)).warnings if each.rule == "gateway-open")
    assert found.subject == "llama-3-8b"
    assert found.path.endswith("serving.services[0].public")
    assert "https://llama-3-8b.llm.example.com answers every address" in found.sentence
    assert "apiToken" in found.sentence
    assert "600 requests a minute" in found.sentence


def test_a_triton_server_is_public_as_a_service_is() -> None:
    server = {
        "name": "vision",
        "pool": "inference",
        "image": "nvcr.io/nvidia/tritonserver:26.06-py3",
        "models": "pvc://vision/repository",
        "modelsGb": 3,
        "public": True,
        "requestsPerMinute": 90,
    }
    found = planned("dev", {"serving.gateway": GATEWAY | EVERYBODY, "serving.triton": [server], "pools.2.count": 2})
    assert found.gateway is not None
    (route,) = found.gateway.routes
    assert (route.service, route.hostname, route.requests_per_minute) == ("vision", "vision.llm.example.com", 90)
    assert found.gateway.drain_seconds == 60
    (told,) = (each for each in found.warnings if each.rule.startswith("gateway"))
    assert (told.rule, told.subject) == ("gateway-open", "vision")
    assert told.path.endswith("serving.triton[0].public")


def test_a_gateway_that_leads_nowhere_is_told_of() -> None:
    found = planned("dev", {"serving.gateway": GATEWAY})
    assert [each for each in rules(found) if each.startswith("gateway")] == ["gateway-unused"]
    assert found.gateway is not None
    assert (found.gateway.routes, found.gateway.drain_seconds) == ((), 0)


@pytest.mark.parametrize(("count", "refused"), [(63, []), (64, ["gateway-listeners"])])
def test_a_gateway_has_no_more_hostnames_than_it_takes(count: int, refused: list[str]) -> None:
    (service,) = sections("dev")["serving"]["services"]
    many = [{**service, "name": f"s{each}", "public": True, "keys": [f"key{each}"]} for each in range(count)]
    found = planned("dev", {"serving": {"services": many, "gateway": GATEWAY}})
    assert [each.rule for each in found.errors if each.rule.startswith("gateway")] == refused


def test_its_load_balancer_and_its_pods_are_in_the_sums() -> None:
    """0.0225 USD an hour; two pods of the gateway and cert-manager's three on the system pool."""
    without, with_it = planned(), planned("dev", opened())
    (line,) = (each for each in with_it.prices.lines if each.name == "network load balancer")
    assert (line.usd_per_hour, line.layer) == (0.0225, "workloads")
    assert "network load balancer" not in {each.name for each in without.prices.lines}
    assert without.monitoring is not None
    assert with_it.monitoring is not None
    cpu, memory = GATEWAY_REQUEST
    added = with_it.monitoring.room.asked_cpu_millicores - without.monitoring.room.asked_cpu_millicores
    assert added == 2 * cpu + CERTIFICATES.cpu_millicores
    added = with_it.monitoring.room.asked_memory_mib - without.monitoring.room.asked_memory_mib
    assert added == 2 * memory + CERTIFICATES.memory_mib
    software = {line.item.partition(" ")[0] for line in with_it.bom.lines}
    assert {"traefik", "cert-manager"} <= software
    assert not {"traefik", "cert-manager"} & {line.item.partition(" ")[0] for line in without.bom.lines}


def test_racks_of_ones_own_have_a_gateway_too() -> None:
    assert planned_metal({"serving": {"services": [], "gateway": GATEWAY}}).gateway is not None
    assert planned_metal().gateway is None


def test_a_zone_of_route_53_is_refused_where_no_pod_has_rights_in_the_account() -> None:
    gateway = {**GATEWAY, "issuer": {**ACME, "zone": ZONE}}
    (found,) = (
        each
        for each in planned_metal({"serving": {"services": [], "gateway": gateway}}).errors
        if each.rule == "issuer-zone"
    )
    assert found.path == "gpucluster:serving.gateway.issuer.zone"
    assert ZONE in found.sentence
    assert "remove zone" in found.remedy
    assert "issuer-zone" not in rules(planned("dev", opened(issuer=gateway["issuer"])))
