"""Kubeflow Pipelines of teams: each sees and starts its own, and none another one's (R01, R11, Y01, Y02)."""

import json
from contextlib import chdir
from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from policy import RULES
from policy.rule import violations
from tests.graph import schema_kubernetes, schema_sdk
from tests.graph.harness import Recorded
from tests.graph.stackfiles import run_program, stack_config
from tests.stacks.connections import Connection, End, Network, each_of
from tests.stacks.test_people import TRAEFIK, config
from tests.stacks.test_pipelines import written

TEAMS = ("vision", "speech")
UPLOAD = {"name": "nightly", "file": "p.yaml", "team": "speech"}
PAGES: list[dict[str, Any]] = [
    {"page": "pipelines", "groups": ["platform"]},
    *({"page": "pipelines", "team": team, "groups": [f"{team}-people"]} for team in TEAMS),
]


def asked() -> dict[str, Any]:
    """The dev stack with two teams, each with pipelines and a page of its own."""
    found = config(pages=PAGES)
    found["gpucluster:scheduling"] = deepcopy(stack_config("dev"))["gpucluster:scheduling"]
    found["gpucluster:scheduling"]["queues"] += [{"name": team} for team in TEAMS]
    found["gpucluster:teams"] = [
        {"name": team, "queue": team, "gpus": 1, "members": [{"role": "trainer", "group": f"{team}-people"}]}
        for team in TEAMS
    ]
    found["gpucluster:pools"][0]["count"] += 2
    found["gpucluster:training"]["pipelines"] = {"teams": list(TEAMS), "uploads": [UPLOAD]}
    return found


@cache
def graph() -> Recorded:
    with TemporaryDirectory() as directory, chdir(directory):
        written(Path(directory) / "p.yaml")
        return run_program(asked(), stack="dev")


def container(name: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = graph().one(name).inputs["spec"]["template"]["spec"]["containers"]
    return found


def test_each_team_has_all_programs_in_a_namespace_of_its_own_and_kinds_are_there_once() -> None:
    own = {each.name for each in graph().of_type("Deployment") if each.name.startswith("pipelines-")}
    for team in TEAMS:
        theirs = [each for each in graph().of_type("Deployment") if each.name.startswith(f"team-pipelines-{team}-")]
        assert {each.name.removeprefix(f"team-pipelines-{team}-") for each in theirs} == {
            name.removeprefix("pipelines-") for name in own
        }
        assert {each.inputs["metadata"]["namespace"] for each in theirs} == {f"pipelines-{team}"}
        args = container(f"team-pipelines-{team}-argo-controller")["args"]
        assert "--namespaced" in args, "Argo looks at no other namespace"
    kinds = [each.inputs["metadata"]["name"] for each in graph().of_type("CustomResourceDefinition")]
    assert len(kinds) == len(set(kinds))
    made = graph().one("pipelines-argo-workflows").urn
    assert made in graph().one("team-pipelines-vision-argo-controller").depends_on


def test_nobody_of_a_set_has_rights_elsewhere_y02() -> None:
    """No ClusterRole, each account's role in its own namespace, and none where runs are."""
    for team in TEAMS:
        bindings = [
            each.inputs
            for each in (*graph().of_type("RoleBinding"), *graph().of_type("ClusterRoleBinding"))
            if any(one.get("namespace") == f"pipelines-{team}" for one in each.inputs["subjects"])
        ]
        assert bindings
        assert {each["metadata"].get("namespace") for each in bindings} == {f"pipelines-{team}"}
    assert not [each for each in graph().resources.values() if each.name.startswith("team-pipelines-vision-starter")]


def test_its_people_read_there_and_nobody_else_does_y02() -> None:
    for team in TEAMS:
        binding = graph().one(f"teams-{team}-pipelines").inputs
        assert binding["metadata"]["namespace"] == f"pipelines-{team}"
        assert binding["roleRef"]["name"] == "gpucluster:team-viewer"
        assert [each["name"] for each in binding["subjects"]] == [f"{team}-people"]
    of_people = [
        (each.inputs["metadata"]["namespace"], one["name"])
        for each in graph().of_type("RoleBinding")
        for one in each.inputs["subjects"]
        if one["kind"] == "Group" and each.inputs["metadata"]["namespace"].startswith("pipelines")
    ]
    assert sorted(of_people) == [(f"pipelines-{team}", f"{team}-people") for team in sorted(TEAMS)]
    rules = graph().one("team-rights-viewer").inputs["rules"]
    (seen,) = [each for each in rules if "workflows" in each["resources"]]
    assert (seen["apiGroups"], seen["verbs"]) == (["argoproj.io"], ["get", "list", "watch"])


def test_its_files_are_in_a_place_of_its_own_r07() -> None:
    places: dict[str, set[str]] = {}
    for each in graph().of_type("RolePolicy"):
        if "pipelin" in each.name:
            statements = json.loads(each.inputs["policy"])["Statement"]
            written_to = next(one["Resource"] for one in statements if one["Sid"] == "WriteObjects")
            places.setdefault(written_to.partition("/")[2], set()).add(each.name)
    assert set(places) == {
        "pipelines/*",
        "backups/pipelines/*",
        *(f"team-pipelines/{team}/*" for team in TEAMS),
        *(f"backups/team-pipelines/{team}/*" for team in TEAMS),
    }
    root = graph().one("team-pipelines-vision-server-launcher").inputs["data"]["defaultPipelineRoot"]
    assert root.partition("//")[2].partition("/")[2] == "team-pipelines/vision/artifacts"
    env = {each["name"]: each.get("value") for each in container("team-pipelines-vision-server-server")["env"]}
    assert env["OBJECTSTORECONFIG_PIPELINEPATH"] == "team-pipelines/vision/uploaded"
    claims = [each.inputs["metadata"]["namespace"] for each in graph().of_type("PersistentVolumeClaim")]
    assert not {f"pipelines-{team}" for team in TEAMS} & set(claims), "the shared files have every team's in them"


def test_who_learns_the_password_of_one_database_has_no_other_ones() -> None:
    names = ("pipelines-password", *(f"team-pipelines-{team}-password" for team in TEAMS))
    secrets = [graph().one(name) for name in names]
    assert all("stringData" in each.secret for each in secrets)
    said = [next(iter(each.inputs["stringData"].values())) for each in secrets]
    assert len(set(said)) == len(said)
    assert all(said[0] not in each for each in said[1:])


def test_its_steps_get_no_gpu_and_no_way_in_and_are_in_its_queue() -> None:
    for team in TEAMS:
        labels = graph().one(f"namespaces-pipelines-{team}").inputs["metadata"]["labels"]
        assert (labels["gpucluster/team"], labels["gpucluster/queue"]) == (team, team)
        assert labels["pod-security.kubernetes.io/enforce"] == "baseline"
        quota = graph().one(f"namespaces-pipelines-{team}-quota").inputs
        assert quota["metadata"]["namespace"] == f"pipelines-{team}"
        assert quota["spec"] == {
            "hard": {"requests.nvidia.com/gpu": "0", "services.loadbalancers": "0", "services.nodeports": "0"}
        }
        assert graph().one(f"namespaces-pipelines-{team}-limits")


@pytest.mark.parametrize("team", TEAMS)
def test_a_page_leads_its_groups_to_their_own_and_nobody_elses_y01(team: str) -> None:
    found = graph()
    route = found.one(f"page-pipelines-{team}-route").inputs["spec"]
    assert route["hostnames"] == [f"pipelines-{team}.llm.example.com"]
    (backend,) = route["rules"][1]["backendRefs"]
    assert backend == {"name": "ml-pipeline-ui", "namespace": f"pipelines-{team}", "port": 80}
    filters = [each["extensionRef"]["name"] for each in route["rules"][1]["filters"]]
    assert f"pipelines-{team}-asked" in filters
    address = found.one(f"page-pipelines-{team}-asked").inputs["spec"]["forwardAuth"]["address"]
    assert parse_qs(urlsplit(address).query)["allowed_groups"] == [f"{team}-people"]
    grant = found.one(f"page-pipelines-{team}-grant").inputs
    assert grant["metadata"]["namespace"] == f"pipelines-{team}"


def of(team: str, what: str) -> str:
    """A pod of a team's pipelines, by what makes it."""
    return f"team-pipelines-{team}-{what}"


STEP = End(namespace="pipelines-vision", labels={"workflows.argoproj.io/workflow": "x"})
OWN_STEP = End(namespace="pipelines", labels={"workflows.argoproj.io/workflow": "x"})
NOTEBOOK = End(namespace="team-speech", labels={"app": "notebook"})
NEEDED: tuple[Connection, ...] = (
    ("a step asks its own server", STEP, of("vision", "server-server"), 8887, True),
    ("a step asks its own metadata", STEP, of("vision", "metadata-server"), 8080, True),
    ("a step asks no other team's server", STEP, of("speech", "server-server"), 8887, False),
    ("a step asks no other team's page", STEP, of("speech", "ui"), 3000, False),
    ("a step asks no other team's metadata", STEP, of("speech", "metadata-server"), 8080, False),
    ("a step asks no other team's database", STEP, of("speech", "mysql"), 3306, False),
    ("a step asks not the stack's server", STEP, "pipelines-server-server", 8888, False),
    ("a step tells the tracker nothing, which shows it to all", STEP, "tracking-server", 5000, False),
    ("a step of the stack asks no team's", OWN_STEP, of("vision", "server-server"), 8888, False),
    ("a pod of a team asks not even its own", NOTEBOOK, of("speech", "server-server"), 8888, False),
    ("the page asks its own server", of("vision", "ui"), of("vision", "server-server"), 8888, True),
    ("a page asks no other server", of("vision", "ui"), of("speech", "server-server"), 8888, False),
    ("the gateway asks a page", TRAEFIK, of("vision", "ui"), 3000, True),
    ("the gateway asks no server", TRAEFIK, of("vision", "server-server"), 8888, False),
    ("a server asks its own database", of("speech", "server-server"), of("speech", "mysql"), 3306, True),
)


@each_of(NEEDED)
def test_who_speaks_with_a_teams_pipelines_nw08(source: str | End, target: str | End, port: int, passes: bool) -> None:
    assert Network(graph()).passes(source, target, port) is passes


def test_an_upload_goes_to_its_team() -> None:
    job = graph().one("pipeline-nightly-job").inputs
    assert job["metadata"]["namespace"] == "pipelines-speech"
    (step,) = job["spec"]["template"]["spec"]["containers"]
    assert "--server=http://ml-pipeline.pipelines-speech.svc:8888" in step["args"]
    pod = End(namespace="pipelines-speech", labels=job["spec"]["template"]["metadata"]["labels"])
    assert Network(graph()).passes(pod, of("speech", "server-server"), 8888)
    assert not Network(graph()).passes(pod, of("vision", "server-server"), 8888)


def test_a_person_is_told_where_each_is() -> None:
    shown = graph().outputs["workloads"]["pipelines"]
    assert shown["open-vision"] == "kubectl -n pipelines-vision port-forward service/ml-pipeline-ui 8080:80"
    assert shown["open"] == "kubectl -n pipelines port-forward service/ml-pipeline-ui 8080:80"
    assert graph().outputs["workloads"]["pages"]["pipelines-vision"]["groups"] == ["vision-people"]


def test_what_is_registered_is_what_the_schemas_and_the_policies_take() -> None:
    new = ("team-pipelines", "namespaces-pipelines", "page-pipelines", "teams-", "team-rights", "pipeline-nightly")
    found = [each for each in graph().resources.values() if each.name.startswith(new)]
    assert [problem for each in found for problem in schema_sdk.problems(each)] == []
    built_in = [each for each in found if each.kind not in schema_kubernetes.CUSTOM]
    assert [problem for each in built_in for problem in schema_kubernetes.problems(each)] == []
    assert [str(each) for each in violations(graph(), RULES)] == []
