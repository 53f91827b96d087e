"""Kubeflow Pipelines: what is planned, and what is refused before anything is registered (R01)."""

from typing import Any

import pytest

from catalogue.images import PIPELINE_IMAGES
from planner.supply import images_of
from planner.types import AwsPlan
from settings.errors import SettingsError
from settings.pipelines import Pipelines, Upload
from settings.serving import Serving
from settings.workloads import Training
from tests.planner.stacks import planned, planned_metal, sections

DATASET = {"name": "web-text", "gb": 10, "source": "s3://our-text-3f9c/web"}


def stack(said: dict[str, Any] | None, **more: Any) -> AwsPlan:
    """The dev stack with pipelines, MLflow, and a run that reads a dataset."""
    changes: dict[str, Any] = {"training.tracking": {}, **more}
    if said is not None:
        changes["training.pipelines"] = said
    return planned(changes=changes)


def findings(plan: AwsPlan, rule: str) -> list[tuple[str, str | None]]:
    return [(each.path.removeprefix("gpucluster:"), each.subject) for each in plan.findings if each.rule == rule]


def runs() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sections("dev")["training"]["runs"]
    return [dict(each) for each in found]


def test_they_are_planned_as_they_are_said() -> None:
    listed = [{"name": "pretraining", "file": "pipelines/p.yaml"}]
    said: dict[str, Any] = {"gib": 55, "secret": "flows", "uploads": listed}
    upload = Upload(name="pretraining", file="pipelines/p.yaml")
    assert stack(said).pipelines == Pipelines(secret="flows", gib=55, uploads=(upload,), runs=())
    assert stack({}).pipelines == Pipelines(secret="pipelinesDatabase", gib=20, uploads=(), runs=())
    assert stack(None).pipelines is None
    assert planned_metal(changes={"training.pipelines": {}}).pipelines == stack({}).pipelines


def test_a_run_with_data_of_its_own_can_be_started() -> None:
    (first, *others) = runs()
    own = [{**first, "dataset": {"name": "web-text"}}, *others]
    name = first["name"]
    plan = stack({"runs": [name]}, **{"training.runs": own, "training.datasets": [DATASET]})
    assert findings(plan, "pipeline-run") == []
    assert findings(plan, "pipeline-registry") == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dataset": None}, "reads no dataset"),
        ({"dataset": {"name": "web-text"}, "launcher": "mpi"}, "no PyTorchJob"),
        ({"dataset": {"name": "web-text", "staging": "full"}}, "is staged"),
    ],
)
def test_a_run_that_no_step_can_start_is_refused(change: dict[str, Any], said: str) -> None:
    (first, *others) = runs()
    own = [{**first, **change}, *others]
    plan = stack({"runs": [first["name"]]}, **{"training.runs": own, "training.datasets": [DATASET]})
    (found,) = [each for each in plan.errors if each.rule == "pipeline-run"]
    assert said in found.sentence
    assert found.path == "gpucluster:training.pipelines.runs[0]"


def test_a_run_that_there_is_not_is_refused() -> None:
    plan = stack({"runs": ["nobody"]})
    assert findings(plan, "pipeline-run") == [("training.pipelines.runs[0]", "nobody")]


def test_pipelines_that_start_runs_have_a_registry() -> None:
    name = runs()[0]["name"]
    without = stack({"runs": [name]}, **{"training.tracking": None})
    assert findings(without, "pipeline-registry") == [("training.tracking", "pipelines")]
    assert findings(stack({}, **{"training.tracking": None}), "pipeline-registry") == []


def test_a_registry_that_has_no_gate_is_refused_r06() -> None:
    assert findings(stack({"registry": "sagemaker"}), "registry-elsewhere") == [
        ("training.pipelines.registry", "sagemaker")
    ]
    assert findings(stack({"registry": "mlflow"}), "registry-elsewhere") == []


TEAMS = [
    {"name": name, "queue": name, "gpus": 1, "members": [{"role": "viewer", "group": name}]}
    for name in ("vision", "speech")
]
QUEUES = [{"name": name} for name in ("training", "vision", "speech")]
OF_TEAMS = {"teams": TEAMS, "scheduling.queues": QUEUES}


def test_each_team_with_pipelines_takes_room_like_the_stacks_own() -> None:
    plans = [stack(said, monitoring={}, **OF_TEAMS) for said in ({}, {"teams": ["vision", "speech"]})]
    asked = [plan.monitoring.room.asked_memory_mib for plan in plans if plan.monitoring]
    assert asked[1] - asked[0] == 2 * (2048 + 1024)


def test_a_team_with_pipelines_and_no_page_to_them_is_named_r11() -> None:
    found = stack({"teams": ["vision", "speech"]}, **OF_TEAMS)
    assert findings(found, "team-pipelines-unseen") == [
        ("training.pipelines.teams[0]", "vision"),
        ("training.pipelines.teams[1]", "speech"),
    ]
    pages = [{"page": "pipelines", "team": "speech", "groups": ["speech"]}]
    people = {"issuer": "https://login.example.com", "clientId": "gpucluster", "pages": pages}
    gateway = {"domain": "a.example.com", "issuer": {"kind": "private-ca"}, "callers": ["10.0.0.0/8"], "people": people}
    seen = stack({"teams": ["vision", "speech"]}, **OF_TEAMS, **{"serving.gateway": gateway})
    assert findings(seen, "team-pipelines-unseen") == [("training.pipelines.teams[0]", "vision")]
    assert findings(stack({}), "team-pipelines-unseen") == []


def test_teams_that_would_share_a_sites_one_key_get_no_pipelines_r07() -> None:
    """On AWS pods have identities of their own."""
    changes: dict[str, Any] = {
        "scheduling.queues": [{"name": "training"}, {"name": "vision"}],
        "teams": TEAMS[:1],
        "training.pipelines": {"teams": ["vision"]},
    }
    (said,) = [each for each in planned_metal(changes=changes).errors if each.rule == "team-pipelines-store"]
    assert said.path == "gpucluster:training.pipelines.teams"
    assert "steps of vision would have the key of the site's object store" in said.sentence
    assert findings(stack({"teams": ["vision"]}, **OF_TEAMS), "team-pipelines-store") == []
    without = planned_metal(changes={**changes, "training.pipelines": {}})
    assert "team-pipelines-store" not in {each.rule for each in without.findings}


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ({"teams": ["nobody"]}, "training.pipelines.teams[0]: there is no team 'nobody'"),
        ({"teams": ["vision", "vision"]}, "training.pipelines.teams[1]: vision is listed twice"),
        (
            {"teams": ["vision"], "uploads": [{"name": "p", "file": "p.yaml", "team": "speech"}]},
            "training.pipelines.uploads[0].team: speech has no pipelines of its own; add it to",
        ),
    ],
)
def test_what_is_said_of_teams_that_have_none_is_refused(said: dict[str, Any], path: str) -> None:
    with pytest.raises(SettingsError) as error:
        stack(said, **OF_TEAMS)
    assert path in str(error.value)


def test_their_images_and_their_room_are_counted() -> None:
    assert set(PIPELINE_IMAGES) <= set(images_of(Training.model_validate({"pipelines": {}}), Serving()))
    assert not set(PIPELINE_IMAGES) & set(images_of(Training(), Serving()))
    plans = [stack({}, monitoring={}), stack(None, monitoring={})]
    asked = [plan.monitoring.room.asked_memory_mib for plan in plans if plan.monitoring]
    assert asked[0] - asked[1] == 2048 + 1024
