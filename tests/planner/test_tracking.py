"""Trackers: what is planned, and what is refused or warned of before anything is registered (R05, PF02)."""

from typing import Any

import pytest

from catalogue.versions import MLFLOW_IMAGE
from planner.mlops import DATABASE_REQUEST, MLFLOW_REQUEST, MlflowPlan, TrackingPlan, WandbPlan
from planner.types import AwsPlan
from tests.planner.stacks import planned, planned_metal, sections


def stack(said: dict[str, Any] | None, **more: Any) -> AwsPlan:
    """The dev stack with a tracker."""
    changes = {"training.tracking": said} if said is not None else {}
    return planned(changes={**changes, **more})


def findings(plan: AwsPlan, rule: str) -> list[tuple[str, str | None]]:
    return [(each.path.removeprefix("gpucluster:"), each.subject) for each in plan.findings if each.rule == rule]


def test_mlflow_is_the_tracker_of_who_names_none() -> None:
    own = MlflowPlan(gib=20, backup_hours=24)
    assert stack({}).tracking == TrackingPlan(kind="mlflow", secret="trackingDatabase", mlflow=own)
    assert stack(None).tracking is None
    said = {"gib": 50, "backupHours": 6, "secret": "runsPassword"}
    assert stack(said).tracking == TrackingPlan(
        kind="mlflow", secret="runsPassword", mlflow=MlflowPlan(gib=50, backup_hours=6)
    )
    uncopied = stack({"backupHours": None}).tracking
    assert uncopied
    assert uncopied.mlflow == MlflowPlan(gib=20, backup_hours=None)


def test_a_service_outside_is_planned_by_its_host_and_its_key() -> None:
    found = stack({"kind": "wandb", "entity": "nlp"}).tracking
    wandb = WandbPlan(host="api.wandb.ai", entity="nlp", project=None)
    assert found == TrackingPlan(kind="wandb", secret="trackingKey", wandb=wandb)


def test_machines_of_ones_own_plan_the_same_tracker() -> None:
    assert planned_metal(changes={"training.tracking": {"gib": 50}}).tracking == stack({"gib": 50}).tracking


def test_neptune_is_refused_by_name_pf02() -> None:
    plan = stack({"kind": "neptune"})
    assert findings(plan, "tracker-ended") == [("training.tracking.kind", "neptune")]
    assert "tracker-ended" in {each.rule for each in plan.errors}
    assert not findings(stack({}), "tracker-ended")


@pytest.mark.parametrize(
    ("kind", "framework", "warned"),
    [("wandb", "reference", True), ("wandb", "script", False), ("mlflow", "reference", False)],
)
def test_the_reference_trainer_tells_mlflow_alone(kind: str, framework: str, warned: bool) -> None:
    (run,) = sections("dev")["training"]["runs"]
    run = {key: value for key, value in run.items() if key != "script" or framework == "script"}
    plan = stack({"kind": kind}, **{"training.runs": [{**run, "framework": framework}]})
    paths = [path for path, _ in findings(plan, "tracker-unheard")]
    assert paths == (["training.runs[0].framework"] if warned else [])
    assert "tracker-unheard" not in {each.rule for each in plan.errors}


def test_the_tracker_takes_room_of_the_system_pool() -> None:
    one, other = stack({}).monitoring, stack(None).monitoring
    assert one
    assert other
    pairs = zip(MLFLOW_REQUEST, DATABASE_REQUEST, strict=True)
    assert (
        one.room.asked_cpu_millicores - other.room.asked_cpu_millicores,
        one.room.asked_memory_mib - other.room.asked_memory_mib,
    ) == tuple(map(sum, pairs))
    outside = stack({"kind": "wandb"}).monitoring
    assert outside
    assert outside.room == other.room


def test_a_closed_network_reaches_no_tracker_outside_and_pulls_no_image() -> None:
    closed = {"platform.network": {"nat": "none"}}
    assert ("training.tracking.host", "api.wandb.ai") in findings(stack({"kind": "wandb"}, **closed), "closed-network")
    assert not [each for each in findings(stack({}, **closed), "closed-network") if each[0].startswith("training.tr")]
    said = [each.sentence for each in stack({}, **closed).findings if each.subject == "ghcr.io"]
    assert any("and 1 more" in each for each in said)
    assert len(said) == 1


def test_a_protected_stack_wants_digests_of_the_trackers_images_i03() -> None:
    protected = {"lifecycle.protect": True}
    assert ("lifecycle.protect", MLFLOW_IMAGE) in findings(stack({}, **protected), "image-not-pinned")
    for said in (None, {"kind": "wandb"}):
        assert ("lifecycle.protect", MLFLOW_IMAGE) not in findings(stack(said, **protected), "image-not-pinned")
