"""The way in: which services callers from outside reach, by what names, and what carries their requests."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from urllib.parse import urlsplit

from planner.serving.startup import LEAVE_SECONDS, TRITON_DRAIN_SECONDS
from planner.workload_types import ServicePlan, TritonPlan
from settings.people import Page, People
from settings.serving import Service, Serving, Triton

REQUEST = (50, 64)
"""Millicores and MiB of such a pod."""

_HTTPS_PORT = 443


@dataclass(frozen=True, kw_only=True)
class PagePlan:
    """A `page` under a name and at a hostname of its own, for members of any of the groups. `role` is theirs in
    Grafana, None at a page that knows no roles: there everybody who sees it may do all that it lets do. It shows what
    is the `team`'s alone, None where it shows everybody's.
    """

    name: str
    page: str
    hostname: str
    groups: tuple[str, ...]
    role: str | None
    team: str | None = None


@dataclass(frozen=True, kw_only=True)
class PeoplePlan:
    """Pages behind an issuer of OpenID Connect, which answers at `issuer_port` of `issuer_networks`, or of the Internet
    where there are none. `secret` and `session_secret` are keys of the stack file: the client's at the issuer, and what
    seals sessions, which last `session_seconds`. `callers` are
    the groups whose members ask models by a token.
    """

    issuer: str
    issuer_port: int
    issuer_networks: tuple[str, ...]
    client_id: str
    groups_claim: str
    scopes: tuple[str, ...]
    secret: str
    session_secret: str
    session_seconds: int
    pages: tuple[PagePlan, ...]
    callers: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        """Everybody of whom anything is open, each group once."""
        return tuple(dict.fromkeys((*(group for page in self.pages for group in page.groups), *self.callers)))

    def hostnames(self, page: str) -> tuple[str, ...]:
        """Where a page of no team is found."""
        return tuple(each.hostname for each in self.pages if each.page == page and each.team is None)


def plan_people(people: People | None, domain: str, callers: Iterable[str] = ()) -> PeoplePlan | None:
    """None where no page has a way in. `callers` are groups of services."""
    if people is None:
        return None
    said = {"issuer", "issuer_networks", "client_id", "groups_claim", "scopes", "secret", "session_secret"}
    return PeoplePlan(
        **people.model_dump(include=said),
        issuer_port=urlsplit(people.issuer).port or _HTTPS_PORT,
        session_seconds=people.session_hours * 3600,
        pages=tuple(_page(each, domain) for each in people.pages),
        callers=tuple(dict.fromkeys(callers)),
    )


def _page(page: Page, domain: str) -> PagePlan:
    return PagePlan(
        name=page.called,
        page=page.page,
        hostname=page.hostname or f"{page.called}.{domain}",
        groups=page.groups,
        role=page.role if page.page == "grafana" else None,
        team=page.team,
    )


LETS_ENCRYPT = "https://acme-v02.api.letsencrypt.org/directory"
"""Let's Encrypt documentation, ACME endpoint (production)."""

REPLICAS = 2
"""Pods of the gateway: one goes on while the other's node is replaced."""

_BURST_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class AcmePlan:
    """The public authority that signs, and whom it writes to. It finds its tokens in the hosted `zone`; without one it
    asks the hostnames.
    """

    server: str
    email: str
    zone: str | None = None


@dataclass(frozen=True, kw_only=True)
class FrontPlan:
    """A certificate at the load balancer, which ends TLS there and goes on by TLS: the stack requests one, which is
    validated in the hosted `zone`, or takes the existing `certificate`. One of the two is None.
    """

    zone: str | None
    certificate: str | None


@dataclass(frozen=True, kw_only=True)
class RoutePlan:
    """A public service or Triton server. Each pod of the gateway counts by itself, so each lets its part of the limit
    through: `pod_requests_per_minute`, of which `pod_burst` may come at once. Pods that load adds have as much each:
    a part of the most there can be would refuse callers who keep to the limit while there are two.
    """

    service: str
    hostname: str
    requests_per_minute: int
    pod_requests_per_minute: int
    pod_burst: int


@dataclass(frozen=True, kw_only=True)
class GatewayPlan:
    """One gateway for the services in `routes` and the pages of `people`. Its load balancer has a public address if
    `internet`, and lets in `callers` alone. Certificates are signed by `acme`, or by an authority of the stack's own
    where that is None. With a `front` callers see its certificate, and the authority's own is for the way from the load
    balancer to the gateway. It has `replicas` pods and `most_replicas` under load, as what signs people in has. A pod
    that stops takes requests for `leave_seconds` and goes on with its streams for `drain_seconds`.
    """

    domain: str
    internet: bool
    callers: tuple[str, ...]
    acme: AcmePlan | None
    replicas: int
    most_replicas: int
    leave_seconds: int
    drain_seconds: int
    routes: tuple[RoutePlan, ...]
    people: PeoplePlan | None = None
    front: FrontPlan | None = None

    @property
    def hostnames(self) -> Mapping[str, str]:
        """Everything that is found here, by its name."""
        pages = self.people.pages if self.people else ()
        return {each.service: each.hostname for each in self.routes} | {each.name: each.hostname for each in pages}

    @property
    def signed_at_once(self) -> bool:
        """Whether the gateway's certificates are there in seconds: an authority outside takes minutes, or waits until
        DNS leads to the gateway.
        """
        return self.acme is None

    def route(self, service: str) -> RoutePlan | None:
        """How a service is reached from outside; None where it is not."""
        return next((each for each in self.routes if each.service == service), None)


def plan_gateway(
    serving: Serving, services: Mapping[str, ServicePlan], triton: Mapping[str, TritonPlan]
) -> GatewayPlan | None:
    """The gateway; None where the stack file has none. A server that could not be planned has no route."""
    wanted = serving.gateway
    if wanted is None:
        return None
    drains = {name: each.drain_seconds for name, each in services.items()} | dict.fromkeys(triton, TRITON_DRAIN_SECONDS)
    servers: tuple[Service | Triton, ...] = (*serving.services, *serving.triton)
    public = [each for each in servers if each.public and each.name in drains]
    issuer = wanted.issuer
    return GatewayPlan(
        domain=wanted.domain,
        internet=wanted.reach == "internet",
        callers=wanted.callers,
        acme=AcmePlan(server=issuer.server or LETS_ENCRYPT, email=issuer.email, zone=issuer.zone)
        if issuer.email
        else None,
        replicas=REPLICAS,
        most_replicas=wanted.max_replicas or REPLICAS,
        leave_seconds=LEAVE_SECONDS,
        drain_seconds=max((drains[each.name] for each in public), default=0),
        routes=tuple(
            _route(each.name, each.hostname or f"{each.name}.{wanted.domain}", each.requests_per_minute)
            for each in public
        ),
        people=plan_people(wanted.people, wanted.domain, (group for each in servers for group in each.token_groups)),
        front=FrontPlan(zone=issuer.zone, certificate=issuer.certificate) if issuer.kind == "acm" else None,
    )


def _route(service: str, hostname: str, per_minute: int) -> RoutePlan:
    part = ceil(per_minute / REPLICAS)
    return RoutePlan(
        service=service,
        hostname=hostname,
        requests_per_minute=per_minute,
        pod_requests_per_minute=part,
        pod_burst=ceil(part * _BURST_SECONDS / 60),
    )
