"""People at the pages of the cluster: whether the page is there, whether the issuer is reached, what a group sees."""

from collections.abc import Iterable, Iterator

from planner.draft import AwsDraft, Draft, aws_rule, rule, warning
from planner.findings import Observation
from planner.rules.known import answering
from planner.serving.people import PagePlan
from settings.serving import Service, Triton

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
    formula="teams of the stack <= 1, or no page that shows everybody's work to whoever sees it",
    source="MLflow documentation, Basic HTTP Authentication: off by default; Kubeflow Pipelines 2.17, "
    "backend/src/apiserver/auth: users are told apart in the multi-user mode only",
)
def page_shared(draft: Draft, page: PagePlan) -> Iterable[Observation]:
    """Two teams and a page that knows no teams: each sees, and may change, what is the other's."""
    teams = [team.name for team in draft.settings.teams]
    if len(teams) < 2:
        return
    if page.role is None:
        yield Observation(
            path="groups",
            sentence=f"members of {', '.join(page.groups)} see and may change what everybody has in {page.page}, "
            f"whichever of the teams {', '.join(teams)} it is of",
            remedy="name only groups that may see all of it, give the teams stacks of their own, or waive "
            "page-shared with the page's name as subject and the reason",
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
