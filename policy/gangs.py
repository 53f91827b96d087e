"""Pods that work together: which objects make them, and how many they are."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import prod
from typing import Any

from policy.graph import Resource
from policy.pods import Pod

APART = frozenset(
    {"Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "CronJob", "PodTemplate"}
)
"""Kinds whose pods each work for themselves."""

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"


def spec_of(each: Resource) -> Mapping[str, Any]:
    """An object's spec, empty where it has none."""
    spec: Mapping[str, Any] = each.inputs.get("spec") or {}
    return spec


def metadata_of(each: Resource) -> Mapping[str, Any]:
    """An object's metadata."""
    metadata: Mapping[str, Any] = each.inputs.get("metadata") or {}
    return metadata


def namespace_of(each: Resource) -> str:
    """Where an object is put."""
    return str(metadata_of(each).get("namespace") or "default")


def of_training_operator(each: Resource) -> bool:
    """Whether the training operator (v1) runs it."""
    return each.token.startswith("kubernetes:kubeflow.org/v1:") and each.kind.endswith("Job")


def roles(each: Resource) -> Mapping[str, Any]:
    """The replica specs of an operator's job, by role: Master, Worker, Launcher, PS."""
    found: Mapping[str, Any] = next(
        (value for key, value in spec_of(each).items() if key.endswith("ReplicaSpecs") and isinstance(value, Mapping)),
        {},
    )
    return found


def above(pod: Pod) -> Iterator[Mapping[str, Any]]:
    """The mappings in which a pod's spec stands, from the object down to the spec."""
    value: Any = pod.maker.inputs
    for step in pod.path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
        if isinstance(value, Mapping):
            yield value


def copies(pod: Pod) -> int:
    """How many pods are made of this spec, for one run of its object."""
    numbers = [each[key] for each in above(pod) for key in ("replicas", "parallelism", "size") if key in each]
    return prod(each for each in numbers if isinstance(each, int))


def together(pod: Pod, others: list[Pod]) -> int:
    """How many pods work together with this one, itself among them."""
    if pod.kind in APART:
        return 1
    return sum(copies(each) for each in others if each.maker is pod.maker)


def amount(pod: Pod, resource: str) -> int:
    """How many devices of an extended resource a pod takes, as far as they are numbers."""
    return sum(whole(_given(each, resource), 0) for each in pod.spec.get("containers") or [])


def asks(pod: Pod, resource: str) -> bool:
    """Whether a pod takes an extended resource, though nobody can tell yet how much."""
    return any(str(_given(each, resource)) != "0" for each in pod.spec.get("containers") or [])


def _given(container: Mapping[str, Any], resource: str) -> Any:
    resources = container.get("resources") or {}
    return (resources.get("limits") or {}).get(resource, (resources.get("requests") or {}).get(resource, 0))


def whole(value: Any, otherwise: int) -> int:
    """A whole number, as a number or a text; something else where it is none, or not known yet."""
    return int(value) if re.fullmatch(r"\d+", str(value)) else otherwise


_DECIMAL = {"": "1", "m": "1e-3", "k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12", "P": "1e15"}
_UNITS = {unit: Decimal(value) for unit, value in _DECIMAL.items()}
_UNITS |= {f"{prefix}i": Decimal(1024) ** (power + 1) for power, prefix in enumerate("KMGTPE")}


def quantity(value: Any) -> Decimal | None:
    """A Kubernetes quantity as a number; None where it is none, or not known yet."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d+)?)([A-Za-z]{0,2})", str(value))
    return Decimal(parts[1]) * _UNITS[parts[2]] if parts and parts[2] in _UNITS else None
