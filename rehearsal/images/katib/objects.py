"""What Katib's objects have in common: conditions, owners, finalizers (pkg/apis/controller/*/v1beta1/util.go)."""

from collections.abc import Mapping
from typing import Any, Protocol

from rehearsal.kube.client import ApiError, Kube
from rehearsal.kubelet.nodeobject import now

Object = dict[str, Any]
API = "kubeflow.org/v1beta1"
EXPERIMENT_LABEL, TRIAL_LABEL = "katib.kubeflow.org/experiment", "katib.kubeflow.org/trial"
SUGGESTION_LABEL, DEPLOYMENT_LABEL = "katib.kubeflow.org/suggestion", "katib.kubeflow.org/deployment"
UNAVAILABLE = "unavailable"
"""The value of a metric that was not reported (pkg/controller.v1beta1/consts/const.go)."""


class Reconciler(Protocol):
    """What looks after one kind of Katib's objects."""

    def reconcile(self) -> None: ...


def name_of(obj: Mapping[str, Any]) -> str:
    return str(obj["metadata"]["name"])


def namespace_of(obj: Mapping[str, Any]) -> str:
    return str(obj["metadata"]["namespace"])


def has(obj: Mapping[str, Any], *kinds: str) -> bool:
    """Whether one of these conditions is true."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    return any(each["type"] in kinds and each["status"] == "True" for each in conditions)


def reason(obj: Mapping[str, Any], kind: str) -> str:
    """Why a condition is as it is, "" without one."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    return next((str(each.get("reason") or "") for each in conditions if each["type"] == kind), "")


def marked(status: Object, kind: str, why: str, message: str, *, true: bool = True) -> Object:
    """A status with the condition, as the last one; a running object that has ended runs no more."""
    ended = kind in ("Succeeded", "Failed", "EarlyStopped", "MetricsUnavailable")
    stamp = now()
    kept = [
        {**each, "status": "False"} if ended and each["type"] == "Running" else each
        for each in status.get("conditions") or []
        if each["type"] != kind
    ]
    made = {"type": kind, "status": "True" if true else "False", "reason": why, "message": message}
    made |= {"lastUpdateTime": stamp, "lastTransitionTime": stamp}
    return {**status, "conditions": [*kept, made]}


def tell(kube: Kube, obj: Object, status: Object) -> None:
    """Writes an object's status; one that has changed since, or is gone, is looked at again."""
    body = {"metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]}, "status": status}
    try:
        kube.patch(API, obj["kind"], name_of(obj), namespace_of(obj), body, "status")
    except ApiError as error:
        if error.code not in (404, 409):
            raise


def owned(obj: Object, owner: Mapping[str, Any]) -> Object:
    """An object of `owner`, who cannot go in the foreground before it has."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [reference]}}
