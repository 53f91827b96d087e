"""Pages for people: what the planner makes of them, and what it says is open to whom (Y01, Y02, R11)."""

from typing import Any

import pytest

from planner.faces.nodes import page_facts
from planner.faces.outputs import numbers
from planner.serving.gateway import PagePlan, PeoplePlan
from settings.errors import SettingsError
from tests.planner.stacks import planned, planned_metal, rules

GATEWAY: dict[str, Any] = {"domain": "llm.example.com", "issuer": {"kind": "private-ca"}, "callers": ["10.0.0.0/8"]}
PAGES: list[dict[str, Any]] = [
    {"page": "grafana", "groups": ["ml", "visitors"]},
    {"page": "grafana", "name": "grafana-admin", "groups": ["ml-admins"], "role": "admin"},
    {"page": "mlflow", "hostname": "runs.example.com", "groups": ["ml"]},
]
TEAMS = [
    {"name": name, "queue": name, "members": [{"role": "viewer", "group": name}], "gpus": 1}
    for name in ("vision", "language")
]
QUEUES = {"scheduling.queues": [{"name": name} for name in ("training", "vision", "language")]}
ROOM = {"pools.0.count": 3}
TRACKED = {"training.tracking": {"kind": "mlflow"}}


def opened(*pages: dict[str, Any], **people: Any) -> dict[str, Any]:
    """Changes of the dev stack: a gateway with pages, and room for them."""
    told = {"issuer": "https://login.example.com/realms/ml", "clientId": "gpucluster", "pages": list(pages or PAGES)}
    return {"serving.gateway": {**GATEWAY, "people": {**told, **people}}, **ROOM, **TRACKED}


def people(**more: Any) -> PeoplePlan:
    gateway = planned("dev", opened(**more)).gateway
    assert gateway is not None
    assert gateway.people is not None
    return gateway.people


def test_no_page_has_a_way_in_by_default() -> None:
    gateway = planned("dev", {"serving.gateway": GATEWAY}).gateway
    assert gateway is not None
    assert gateway.people is None


def test_pages_have_names_and_groups_of_their_own() -> None:
    found = people()
    admin, runs = found.pages[1:]
    assert admin == PagePlan(
        name="grafana-admin",
        page="grafana",
        hostname="grafana-admin.llm.example.com",
        groups=("ml-admins",),
        role="admin",
    )
    assert (runs.hostname, runs.role) == ("runs.example.com", None)
    assert found.groups == ("ml", "visitors", "ml-admins")
    assert found.hostnames("grafana") == ("grafana.llm.example.com", "grafana-admin.llm.example.com")
    assert (found.session_seconds, found.secret, found.session_secret) == (28_800, "peopleClient", "peopleSessions")


@pytest.mark.parametrize(
    ("issuer", "port"),
    [("https://login.example.com", 443), ("https://login.example.com:8443/realms/ml", 8443)],
)
def test_the_issuers_port_is_that_of_its_address(issuer: str, port: int) -> None:
    assert people(issuer=issuer).issuer_port == port


def test_the_plan_says_what_is_open_to_whom() -> None:
    said = dict(page_facts(people(sessionHours=2)))
    assert said["grafana-admin"] == "https://grafana-admin.llm.example.com to members of ml-admins as admin"
    assert said["mlflow"] == "https://runs.example.com to members of ml, to whom it shows everybody's"
    assert said["vouched for by"] == "https://login.example.com/realms/ml, asked again after 2 h"
    shown = numbers(planned("dev", opened()))["pages"]
    assert shown["mlflow"] == {"hostname": "runs.example.com", "groups": ["ml"]}
    assert shown["grafana"]["role"] == "viewer"


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({}, []),
        ({"training.tracking": {"kind": "wandb"}}, ["mlflow"]),
        ({"training.tracking": None}, ["mlflow"]),
        ({"monitoring": None}, ["grafana", "grafana-admin"]),
    ],
    ids=["all there", "tracked elsewhere", "not tracked", "not watched"],
)
def test_a_page_that_is_not_there_is_refused(changes: dict[str, Any], missing: list[str]) -> None:
    found = planned("dev", {**opened(), **changes}).findings
    told = [each for each in found if each.rule == "page-missing"]
    assert [each.subject for each in told] == missing
    assert all(each.path.startswith("gpucluster:serving.gateway.people.pages[") for each in told)


def test_the_pipelines_page_needs_pipelines() -> None:
    page = {"page": "pipelines", "groups": ["ml"]}
    assert "page-missing" in rules(planned("dev", opened(page)))
    assert "page-missing" not in rules(planned("dev", {**opened(page), "training.pipelines": {}}))


@pytest.mark.parametrize(
    ("teams", "pages", "told"),
    [
        (TEAMS, PAGES, ["mlflow"]),
        (TEAMS, PAGES[:2], []),
        (TEAMS[:1], PAGES, []),
        ([], PAGES, []),
    ],
    ids=["two teams", "Grafana alone", "one team", "no teams"],
)
def test_teams_that_see_each_others_work_are_named(
    teams: list[dict[str, Any]], pages: list[dict[str, Any]], told: list[str]
) -> None:
    found = planned("dev", {**opened(*pages), **QUEUES, "teams": teams})
    shared = [each for each in found.warnings if each.rule == "page-shared"]
    assert [each.subject for each in shared] == told
    assert all("vision, language" in str(each) for each in shared)


OF_VISION = {"page": "pipelines", "team": "vision", "groups": ["vision"]}
THEIRS = {"training.pipelines": {"teams": ["vision"]}, **QUEUES, "teams": TEAMS}


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (OF_VISION, []),
        ({**OF_VISION, "groups": ["vision", "platform"]}, []),
        ({**OF_VISION, "groups": ["vision", "language"]}, ["pipelines-vision"]),
        ({"page": "pipelines", "groups": ["vision"]}, ["pipelines"]),
    ],
    ids=["its own people", "and somebody of no team", "and another team's", "the stack's own page"],
)
def test_a_teams_own_pipelines_are_shown_to_that_team_y02(page: dict[str, Any], told: list[str]) -> None:
    found = planned("dev", {**opened(page), **THEIRS})
    assert [each.subject for each in found.warnings if each.rule == "page-shared"] == told
    assert "page-missing" not in rules(found)


def test_the_plan_says_that_a_page_is_of_one_team() -> None:
    gateway = planned("dev", {**opened(OF_VISION), **THEIRS}).gateway
    assert gateway is not None
    assert gateway.people is not None
    said = dict(page_facts(gateway.people))
    assert said["pipelines-vision"] == (
        "https://pipelines-vision.llm.example.com to members of vision, to whom it shows what is team vision's"
    )


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ({**OF_VISION, "team": "language"}, "team 'language' has no pipelines of its own; add it to"),
        ({**OF_VISION, "page": "mlflow"}, "is for page pipelines, and the page is mlflow"),
    ],
)
def test_a_page_of_a_team_that_has_none_is_refused(page: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as error:
        planned("dev", {**opened(page), **THEIRS})
    assert f"pages[0].team: {said}" in str(error.value)


NO_WAY_OUT = {"platform.network": {"nat": "none"}}


@pytest.mark.parametrize(
    ("changes", "networks", "refused"),
    [({}, [], False), (NO_WAY_OUT, [], True), (NO_WAY_OUT, ["10.20.0.0/24"], False)],
    ids=["open", "closed", "closed, with an issuer inside"],
)
def test_a_closed_network_has_its_issuer_inside(changes: dict[str, Any], networks: list[str], refused: bool) -> None:
    found = planned("dev", {**opened(issuerNetworks=networks), **changes})
    assert ("people-unreached" in rules(found)) is refused


def test_a_gateway_with_pages_alone_is_used() -> None:
    assert "gateway-unused" not in rules(planned("dev", opened()))
    assert "gateway-unused" in rules(planned("dev", {"serving.gateway": GATEWAY}))


def test_listeners_are_counted_with_pages() -> None:
    """63 hostnames and one listener for plain http are all that a Gateway has; pages are 16 at most."""
    gateway = planned("dev", opened()).gateway
    assert gateway is not None
    assert list(gateway.hostnames) == ["grafana", "grafana-admin", "mlflow"]


def test_racks_have_pages_too() -> None:
    found = planned_metal({"serving.gateway": opened()["serving.gateway"]})
    assert found.gateway is not None
    assert found.gateway.people is not None


def test_who_asks_people_has_room_on_the_system_pools() -> None:
    with_pages, without = (
        planned("dev", {**ROOM, **TRACKED, "serving.gateway": each["serving.gateway"]}).monitoring
        for each in (opened(), {"serving.gateway": GATEWAY})
    )
    assert with_pages is not None
    assert without is not None
    assert with_pages.room.asked_cpu_millicores - without.room.asked_cpu_millicores == 100
    assert with_pages.room.asked_memory_mib - without.room.asked_memory_mib == 128


TRITON: dict[str, Any] = {
    "name": "ranker",
    "pool": "inference",
    "image": "nvcr.io/nvidia/tritonserver:26.03-py3",
    "models": "s3://acme-model-weights/ranker",
    "modelsGb": 2,
    "tokenGroups": ["ml"],
}


@pytest.mark.parametrize("server", [{}, {"serving.triton": [TRITON]}])
def test_tokens_need_somebody_who_says_whose_they_are(server: dict[str, Any]) -> None:
    open_to_groups = server or {"serving.services.0.tokenGroups": ["ml"]}
    assert "tokens-without-issuer" in rules(planned("dev", open_to_groups))
    assert "tokens-without-issuer" not in rules(planned("dev", {**opened(), **open_to_groups}))
