"""The way in from outside: who may connect, whether certificates can be had, and pages for people."""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

from planner.draft import AwsDraft, Draft, aws_rule, rule, warning
from planner.findings import Observation
from planner.rules.known import answering
from planner.serving.gateway import PagePlan
from planner.teams import known_groups
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


_OF_A_TEAM = {
    "mlflow": "give the teams stacks of their own",
    "pipelines": "give the teams pipelines and pages of their own (training.pipelines.teams, team of the page)",
}
_MISSING = {
    "grafana": ("monitoring", "add monitoring: {}"),
    "mlflow": ("training.tracking of kind mlflow", "add training.tracking: {kind: mlflow}"),
    "pipelines": ("training.pipelines", "add training.pipelines: {}"),
}


def _pages(draft: Draft) -> Iterator[tuple[str, PagePlan]]:
    """Each page with its path."""
    people = draft.gateway.people if draft.gateway else None
    for index, page in enumerate(people.pages if people else ()):
        yield f"serving.gateway.people.pages[{index}]", page


def _there(draft: Draft) -> dict[str, bool]:
    training = draft.settings.training
    return {
        "grafana": draft.monitoring is not None,
        "mlflow": training.tracking is not None and training.tracking.kind == "mlflow",
        "pipelines": training.pipelines is not None,
    }


def _others(draft: Draft, page: PagePlan) -> list[str]:
    """Groups that a team's page admits, and of which another team has members and this one has none."""
    own = {group for team in draft.teams if team.name == page.team for group in known_groups(team)}
    theirs = {group for team in draft.teams if team.name != page.team for group in known_groups(team)}
    return sorted((theirs - own) & set(page.groups))


@rule(
    "R11 Y01",
    each=_pages,
    formula="each page of serving.gateway.people.pages is one that the stack has",
    source="Gateway API 1.6, HTTPRoute: a route to a Service that is not there answers 500",
)
def page_missing(draft: Draft, page: PagePlan) -> Iterable[Observation]:
    """A page that people are let in to is there."""
    there = _there(draft)
    if not there[page.page]:
        what, remedy = _MISSING[page.page]
        yield Observation(
            path="page",
            sentence=f"https://{page.hostname} leads nowhere: the stack has no {what}",
            remedy=f"{remedy}, or remove the page",
        )


@warning(
    "R11 Y02",
    by_name=True,
    each=_pages,
    formula="teams of the stack <= 1, or no page that shows everybody's work to whoever sees it, and none of a team "
    "that admits a group of another one's",
    source="MLflow documentation, Basic HTTP Authentication: off by default; Kubeflow Pipelines 2.17, "
    "backend/src/apiserver/auth: users are told apart in the multi-user mode only",
)
def page_shared(draft: Draft, page: PagePlan) -> Iterable[Observation]:
    """Two teams and a page that knows no teams: each sees, and may change, what is the other's."""
    teams = [team.name for team in draft.settings.teams]
    if len(teams) < 2:
        return
    if page.team is not None:
        if groups := _others(draft, page):
            yield Observation(
                path="groups",
                sentence=f"members of {', '.join(groups)} are of another team, and see and may change what team "
                f"{page.team} has in {page.page}",
                remedy="name only groups of the team, or waive page-shared with the page's name as subject and the "
                "reason",
                inputs={"groups": ", ".join(groups), "team": page.team},
            )
    elif page.role is None:
        yield Observation(
            path="groups",
            sentence=f"members of {', '.join(page.groups)} see and may change what everybody has in {page.page}, "
            f"whichever of the teams {', '.join(teams)} it is of",
            remedy=f"name only groups that may see all of it, {_OF_A_TEAM[page.page]}, or waive page-shared with the "
            "page's name as subject and the reason",
            inputs={"groups": ", ".join(page.groups), "teams": ", ".join(teams)},
        )


@aws_rule(
    "Y01",
    formula="a network that nothing leads out of has the issuer inside (issuerNetworks)",
    source="OpenID Connect Core 1.0, 3.1.3: the client itself asks the token endpoint",
)
def people_unreached(draft: AwsDraft) -> Iterable[Observation]:
    """Whoever asks people who they are asks the issuer, too, and from inside the cluster."""
    people = draft.gateway.people if draft.gateway else None
    if people is None or draft.vpc.leads_out or people.issuer_networks:
        return
    yield Observation(
        path="serving.gateway.people.issuer",
        sentence=f"nothing leads out of the network, so no pod reaches {people.issuer}, and nobody signs in",
        remedy="name the networks where it answers inside (issuerNetworks: [10.20.0.0/24]), or let the network lead "
        "out (platform.network.nat: one)",
        inputs={"issuer": people.issuer},
    )


@rule(
    "R11",
    each=answering,
    formula="servers with tokenGroups only with serving.gateway.people",
    source="Definition of the stack file",
)
def tokens_without_issuer(draft: Draft, service: Service | Triton) -> Iterable[Observation]:
    """Whoever judges tokens knows their issuer."""
    gateway = draft.settings.serving.gateway
    if gateway is not None and gateway.people is not None:
        return
    if service.token_groups:
        yield Observation(
            path="tokenGroups",
            sentence=f"nobody says who issues the tokens of {', '.join(service.token_groups)}",
            remedy="add serving.gateway.people with issuer and clientId, or remove tokenGroups",
        )
