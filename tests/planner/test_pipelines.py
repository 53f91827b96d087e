"""Kubeflow Pipelines: what is planned, and what is refused before anything is registered (R01)."""

from typing import Any

import pytest

from catalogue.images import PIPELINE_IMAGES
from planner.supply import images_of
from planner.types import AwsPlan
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


def test_their_images_and_their_room_are_counted() -> None:
    assert set(PIPELINE_IMAGES) <= set(images_of(Training.model_validate({"pipelines": {}}), Serving()))
    assert not set(PIPELINE_IMAGES) & set(images_of(Training(), Serving()))
    plans = [stack({}, monitoring={}), stack(None, monitoring={})]
    asked = [plan.monitoring.room.asked_memory_mib for plan in plans if plan.monitoring]
    assert asked[0] - asked[1] == 2048 + 1024
