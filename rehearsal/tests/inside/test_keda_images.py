"""What KEDA's operator decides and makes of a ScaledObject, as it is played (KEDA v2.20.2, pkg/scaling/executor)."""

from typing import Any

import pytest

from rehearsal.images.keda.scaled import Asked, decided, hpa_of, moment, names

CREATED = "2026-11-27T10:00:00Z"
AT = moment(CREATED)
QUIET, ASKS, SAYS_NOTHING = Asked(), Asked(2, active=True), Asked(error="no route to host")


def scaled(active: str | None = None, **spec: Any) -> dict[str, Any]:
    known = {
        "scaleTargetRef": {"name": "chat"},
        "minReplicaCount": 0,
        "maxReplicaCount": 3,
        "cooldownPeriod": 300,
        "initialCooldownPeriod": 600,
        "triggers": [
            {"type": "prometheus", "metadata": {"threshold": "0.8"}},
            {"type": "kubernetes-workload", "metadata": {"value": "1"}},
        ],
    }
    meta = {"name": "chat", "namespace": "models", "uid": "u", "creationTimestamp": CREATED, "labels": {"a": "b"}}
    return {"metadata": meta, "spec": {**known, **spec}, "status": {"lastActiveTime": active} if active else {}}


@pytest.mark.parametrize(
    ("replicas", "asked", "after", "wanted"),
    [
        (0, [QUIET, ASKS], 0, 1),
        (0, [SAYS_NOTHING, ASKS], 0, 1),
        (2, [QUIET, ASKS], 9_999, None),
        (2, [QUIET, QUIET], 600, None),
        (2, [QUIET, QUIET], 601, 0),
        (2, [QUIET, SAYS_NOTHING], 9_999, None),
        (0, [SAYS_NOTHING, SAYS_NOTHING], 9_999, None),
        (0, [QUIET, QUIET], 9_999, None),
    ],
)
def test_replicas_that_it_sets_itself(replicas: int, asked: list[Asked], after: float, wanted: int | None) -> None:
    assert decided(scaled(), replicas, asked, AT + after) == wanted


def test_once_it_was_active_the_shorter_time_counts_from_then() -> None:
    was = scaled("2026-11-27T11:00:00Z")
    assert decided(was, 1, [QUIET], AT + 3600 + 300) is None
    assert decided(was, 1, [QUIET], AT + 3600 + 301) == 0


def test_a_minimum_is_never_left() -> None:
    kept = scaled(minReplicaCount=2)
    assert decided(kept, 2, [QUIET], AT + 9_999) is None
    assert decided(kept, 0, [ASKS], AT) == 2


def test_its_hpa_asks_for_each_trigger_by_the_objects_name() -> None:
    behaviour = {"scaleUp": {"stabilizationWindowSeconds": 120}}
    hpa = hpa_of(scaled(advanced={"horizontalPodAutoscalerConfig": {"behavior": behaviour}}))
    assert hpa["metadata"]["name"] == "keda-hpa-chat"
    assert hpa["metadata"]["ownerReferences"][0]["uid"] == "u"
    spec = hpa["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"], spec["behavior"]) == (1, 3, behaviour)
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"}
    metrics = [each["external"] for each in spec["metrics"]]
    assert [each["metric"]["name"] for each in metrics] == ["s0-prometheus", "s1-workload-models"]
    assert [each["target"]["averageValue"] for each in metrics] == ["800m", "1000m"]
    assert metrics[0]["metric"]["selector"] == {"matchLabels": {"scaledobject.keda.sh/name": "chat"}}


def test_a_trigger_of_another_type_keeps_its_own_name() -> None:
    assert names(scaled(triggers=[{"type": "kafka", "metadata": {}}])["spec"], "models") == ["s0-kafka"]
