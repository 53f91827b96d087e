"""The way in from outside: who may connect, whether certificates can be had, and whether it is needed at all."""

from collections.abc import Iterable
from ipaddress import IPv4Network

from planner.draft import AwsDraft, Draft, rule, warning
from planner.findings import Observation
from planner.rules.known import answering
from settings.serving import Service, Triton

_WHOLE = IPv4Network("0.0.0.0/0")
MOST_LISTENERS = 64
"""Of one Gateway, one of which speaks plain http (Gateway API, GatewaySpec.listeners: maxItems)."""


def _open_to_all(callers: Iterable[str]) -> bool:
    return any(IPv4Network(each) == _WHOLE for each in callers)


@warning(
    "Y11 Y12 Y13",
    by_name=True,
    each=answering,
    formula="reach: network, or no 0.0.0.0/0 among the callers, of a public service",
    source="OWASP API Security Top 10 2023, API4: unrestricted resource consumption; a key that leaks is then enough",
)
def gateway_open(draft: Draft, service: Service | Triton) -> Iterable[Observation]:
    """A service that is open to the whole Internet is named: only its API key protects it."""
    gateway = draft.gateway
    if gateway is None or not gateway.internet or not _open_to_all(gateway.callers):
        return
    route = gateway.route(service.name)
    if route is not None:
        yield Observation(
            path="public",
            sentence=f"https://{route.hostname} answers every address of the Internet with a key of "
            f"{', '.join(service.keys)}, up to {route.requests_per_minute} requests a minute",
            remedy="name the networks of the callers (serving.gateway.callers: [203.0.113.0/24]), or waive "
            "gateway-open with the service as subject and the reason",
            inputs={"hostname": route.hostname, "callers": ", ".join(gateway.callers)},
        )


@rule(
    "Y12",
    formula="issuer acme without zone: reach internet and callers 0.0.0.0/0",
    source="Let's Encrypt documentation, Challenge types: HTTP-01 asks port 80 from addresses that are not published",
)
def issuer_reach(draft: Draft) -> Iterable[Observation]:
    """An authority that asks the hostname for a token reaches it, from wherever it asks."""
    gateway = draft.gateway
    if gateway is None or gateway.acme is None or gateway.acme.zone is not None:
        return
    if gateway.internet and _open_to_all(gateway.callers):
        return
    what = ", ".join(gateway.callers) if gateway.internet else "the network alone"
    yield Observation(
        path="serving.gateway.issuer.kind",
        sentence=f"the authority asks for its token from addresses that it does not publish, and the gateway answers "
        f"{what}: no certificate would be signed",
        remedy="name the zone of the hostnames (issuer: {kind: acme, email: ..., zone: Z...}), take issuer: {kind: "
        "private-ca}, or reach: internet with callers: [0.0.0.0/0]",
        inputs={"server": gateway.acme.server, "callers": ", ".join(gateway.callers)},
    )


@rule(
    "Y12",
    formula="issuer with zone: platform aws",
    source="cert-manager documentation, Route53: records are written with rights of an AWS account",
)
def issuer_zone(draft: Draft) -> Iterable[Observation]:
    """Records of a hosted zone are written by pods that have rights in its account; racks give no pod any."""
    gateway = draft.gateway
    if gateway is None or gateway.acme is None or gateway.acme.zone is None or isinstance(draft, AwsDraft):
        return
    yield Observation(
        path="serving.gateway.issuer.zone",
        sentence=f"{gateway.acme.zone} is a zone of Route 53, and no pod of this platform has rights in an account of "
        "AWS: no token would be found, so no certificate would be signed",
        remedy="remove zone and let the authority in (reach: internet, callers: [0.0.0.0/0]), or take issuer: {kind: "
        "private-ca}",
        inputs={"zone": gateway.acme.zone},
    )


@warning("Y11", formula="a gateway has a public service, or a page for people", source="definition of the planner")
def gateway_unused(draft: Draft) -> Iterable[Observation]:
    """A gateway leads somewhere, because its load balancer costs money by the hour."""
    gateway = draft.gateway
    if gateway is None or gateway.routes or gateway.people or any(s.public for _, s in answering(draft)):
        return
    yield Observation(
        path="serving.gateway",
        sentence="no service is public, so the gateway leads nowhere, and its load balancer costs money all the same",
        remedy="set public: true on a service, or remove the section",
    )


@rule(
    "Y11",
    formula=f"public services and pages for people < {MOST_LISTENERS}",
    source="Gateway API 1.6, GatewaySpec.listeners: at most 64, one of them for plain http",
)
def gateway_listeners(draft: Draft) -> Iterable[Observation]:
    """A Gateway has a listener for each hostname, and no more than it may have."""
    gateway = draft.gateway
    if gateway is not None and len(gateway.hostnames) >= MOST_LISTENERS:
        what = "public services and pages" if gateway.people else "public services"
        yield Observation(
            path="serving.gateway",
            sentence=f"{len(gateway.hostnames)} {what} need as many listeners and one for plain http, and a "
            f"Gateway has {MOST_LISTENERS} at most",
            remedy=f"publish at most {MOST_LISTENERS - 1}, or divide them among several stacks",
            inputs={what: str(len(gateway.hostnames))},
        )
