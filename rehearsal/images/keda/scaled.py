"""What KEDA makes of a ScaledObject: its HPA, and the replicas that it sets itself.

Source: KEDA v2.20.2, controllers/keda/hpa.go and pkg/scaling/executor/scale_scaledobjects.go.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

Object = dict[str, Any]
API, KIND = "keda.sh/v1alpha1", "ScaledObject"
OWNER_KEY = "scaledobject.keda.sh/name"
_COOLDOWN = 300


class Asked(NamedTuple):
    """What a trigger said: its value, whether that wakes the target, and why it said nothing."""

    value: float = 0
    active: bool = False
    error: str = ""


class TriggerError(Exception):
    """A trigger says nothing, with its reason."""


def names(spec: Mapping[str, Any], namespace: str) -> list[str]:
    """The names of the triggers' metrics, in their order."""
    kinds = {"kubernetes-workload": f"workload-{namespace}"}
    return [f"s{index}-{kinds.get(each['type'], each['type'])}" for index, each in enumerate(spec["triggers"])]


def threshold(trigger: Mapping[str, Any]) -> float:
    """What a replica should have of a trigger's value at most."""
    said = trigger["metadata"]
    return float(said["value"] if trigger["type"] == "kubernetes-workload" else said["threshold"])


def hpa_of(scaled: Mapping[str, Any]) -> Object:
    """The HPA that a ScaledObject is made into. Pure."""
    meta, spec = scaled["metadata"], scaled["spec"]
    advanced = (spec.get("advanced") or {}).get("horizontalPodAutoscalerConfig") or {}
    selector = {"matchLabels": {OWNER_KEY: meta["name"]}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {
            "name": advanced.get("name") or f"keda-hpa-{meta['name']}",
            "namespace": meta["namespace"],
            "labels": {**(meta.get("labels") or {}), OWNER_KEY: meta["name"]},
            "ownerReferences": [
                {
                    "apiVersion": API,
                    "kind": KIND,
                    "name": meta["name"],
                    "uid": meta["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "scaleTargetRef": {
                "apiVersion": spec["scaleTargetRef"].get("apiVersion") or "apps/v1",
                "kind": spec["scaleTargetRef"].get("kind") or "Deployment",
                "name": spec["scaleTargetRef"]["name"],
            },
            "minReplicas": max(1, spec.get("minReplicaCount") or 0),
            "maxReplicas": spec.get("maxReplicaCount") or 100,
            **({"behavior": advanced["behavior"]} if advanced.get("behavior") else {}),
            "metrics": [
                {
                    "type": "External",
                    "external": {
                        "metric": {"name": name, "selector": selector},
                        "target": {"type": "AverageValue", "averageValue": milli(threshold(trigger))},
                    },
                }
                for name, trigger in zip(names(spec, meta["namespace"]), spec["triggers"], strict=True)
            ],
        },
    }


def milli(value: float) -> str:
    """A quantity."""
    return f"{round(value * 1000)}m"


def decided(scaled: Mapping[str, Any], replicas: int, asked: Sequence[Asked], now: float) -> int | None:
    """The replicas that KEDA itself sets, None where it leaves them to the HPA, or as they are. Pure."""
    spec, status = scaled["spec"], scaled.get("status") or {}
    if any(each.active for each in asked):
        return max(1, spec.get("minReplicaCount") or 0) if replicas == 0 else None
    if any(each.error for each in asked) or replicas == 0 or spec.get("minReplicaCount"):
        return None
    if active := status.get("lastActiveTime"):
        since, patience = moment(active), spec.get("cooldownPeriod", _COOLDOWN)
    else:
        since, patience = moment(scaled["metadata"]["creationTimestamp"]), spec.get("initialCooldownPeriod", 0)
    return 0 if since + patience < now else None


def moment(text: str) -> float:
    """Seconds of a time as the API server writes it."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()


def written(seconds: float) -> str:
    """The same the other way round."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
