"""When an object counts as ready, kind by kind, as pulumi-kubernetes 4.34 waits (provider/pkg/await)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes import waitfor
from rehearsal.plugins.kubernetes.objects import SKIP_AWAIT, WAIT_FOR, annotation, condition, dig, flagged, holds

Live = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """Ready, not yet, or never (`failed`), with the sentence that says what is missing."""

    ready: bool
    missing: str = ""
    failed: bool = False


READY = Verdict(ready=True)


def judge(inputs: Mapping[str, Any], live: Live, kube: Kube) -> Verdict:
    """Whether the object is ready now. `inputs` carry the program's annotations, `live` is the object as it is.

    A kind without a rule is ready as soon as it exists; `pulumi.com/waitFor` takes the place of the rule, and
    `pulumi.com/skipAwait` of both. Raises ValueError for a waitFor that cannot be read.
    """
    if flagged(inputs, SKIP_AWAIT):
        return READY
    custom = annotation(inputs, WAIT_FOR)
    if custom is not None:
        missing = waitfor.unmet(live, waitfor.parse(custom))
        return Verdict(not missing, "; ".join(missing))
    rule = RULES.get((str(live.get("apiVersion")), str(live.get("kind"))))
    return rule(live, kube) if rule else READY


def timeout_seconds(live: Live) -> float:
    """How long to wait for the kind unless the program says otherwise."""
    return 300.0 if live.get("kind") in ("PersistentVolume", "PersistentVolumeClaim") else 600.0


def _observed(live: Live) -> bool:
    return bool(dig(live, "status", "observedGeneration", default=0) >= dig(live, "metadata", "generation", default=1))


def _deployment(live: Live, _: Kube) -> Verdict:
    if dig(live, "spec", "paused"):
        return READY
    wanted = dig(live, "spec", "replicas", default=1)
    status = dig(live, "status", default={})
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    if _observed(live) and updated >= wanted and status.get("replicas", 0) <= updated and available >= wanted:
        return READY
    text = f"{available} of {wanted} replicas are available, {updated} updated"
    for kind, bad in (("ReplicaFailure", "True"), ("Progressing", "False")):
        if condition(live, kind).get("status") == bad:
            text += f" ({condition(live, kind).get('reason')}: {condition(live, kind).get('message')})"
    return Verdict(False, text)


def _stateful_set(live: Live, _: Kube) -> Verdict:
    wanted = dig(live, "spec", "replicas", default=1)
    status = dig(live, "status", default={})
    ready, updated = status.get("readyReplicas", 0), status.get("updatedReplicas", 0)
    rolled = updated >= wanted or dig(live, "spec", "updateStrategy", "type") == "OnDelete"
    if _observed(live) and ready >= wanted and rolled:
        return READY
    return Verdict(False, f"{ready} of {wanted} replicas are ready, {updated} updated")


def _daemon_set(live: Live, _: Kube) -> Verdict:
    status = dig(live, "status", default={})
    wanted, available = status.get("desiredNumberScheduled", 0), status.get("numberAvailable", 0)
    rolled = (
        status.get("updatedNumberScheduled", 0) >= wanted or dig(live, "spec", "updateStrategy", "type") == "OnDelete"
    )
    if _observed(live) and available >= wanted and rolled:
        return READY
    return Verdict(False, f"{available} of {wanted} pods are available")


def _job(live: Live, _: Kube) -> Verdict:
    if holds(live, "Complete") or dig(live, "spec", "suspend"):
        return READY
    if holds(live, "Failed"):
        why = condition(live, "Failed")
        return Verdict(False, f"the Job failed: {why.get('reason')}: {why.get('message')}", failed=True)
    status = dig(live, "status", default={})
    counts = {word: status.get(word, 0) for word in ("succeeded", "active", "failed")}
    return Verdict(False, "the Job has not completed: " + ", ".join(f"{n} pods {word}" for word, n in counts.items()))


def _pod(live: Live, _: Kube) -> Verdict:
    phase = dig(live, "status", "phase")
    if holds(live, "Ready") or phase == "Succeeded":
        return READY
    return Verdict(False, f"the pod is {phase or 'not started'}")


def _claim(live: Live, kube: Kube) -> Verdict:
    if dig(live, "status", "phase") == "Bound":
        return READY
    name = dig(live, "spec", "storageClassName")
    storage_class = kube.get("storage.k8s.io/v1", "StorageClass", name) if name else None
    if storage_class and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer":
        return READY
    absent = f"; there is no StorageClass {name!r}" if name and storage_class is None else ""
    return Verdict(False, f"the claim is {dig(live, 'status', 'phase', default='Pending')}, not Bound{absent}")


def _volume(live: Live, _: Kube) -> Verdict:
    phase = dig(live, "status", "phase", default="Pending")
    return READY if phase in ("Available", "Bound") else Verdict(False, f"the volume is {phase}")


def _service(live: Live, kube: Kube) -> Verdict:
    spec = dig(live, "spec", default={})
    if spec.get("type") == "LoadBalancer" and not dig(live, "status", "loadBalancer", "ingress"):
        return Verdict(False, "the Service has no load balancer address yet")
    if spec.get("type") == "ExternalName" or spec.get("clusterIP") == "None" or not spec.get("selector"):
        return READY
    meta = live["metadata"]
    slices = kube.list(
        "discovery.k8s.io/v1", "EndpointSlice", meta["namespace"], f"kubernetes.io/service-name={meta['name']}"
    )
    endpoints = [endpoint for item in slices for endpoint in item.get("endpoints") or []]
    if any(dig(endpoint, "conditions", "ready", default=True) for endpoint in endpoints):
        return READY
    return Verdict(
        False,
        "Service does not target any Pods. Selected Pods may not be ready, or field '.spec.selector' may not match "
        f"labels on any Pods (it selects {_labels(spec['selector'])})",
    )


def _namespace(live: Live, _: Kube) -> Verdict:
    phase = dig(live, "status", "phase")
    return READY if phase == "Active" else Verdict(False, f"the namespace is {phase or 'not active'}")


def _custom_resource_definition(live: Live, _: Kube) -> Verdict:
    if holds(live, "Established"):
        return READY
    refused = condition(live, "NamesAccepted")
    why = f": {refused.get('message')}" if refused.get("status") == "False" else ""
    return Verdict(False, f"the definition is not established{why}")


def _api_service(live: Live, _: Kube) -> Verdict:
    if holds(live, "Available"):
        return READY
    return Verdict(False, f"the API is not available: {condition(live, 'Available').get('message') or 'no status yet'}")


def _resource_quota(live: Live, _: Kube) -> Verdict:
    if dig(live, "spec", "hard", default={}) == dig(live, "status", "hard", default={}):
        return READY
    return Verdict(False, "the quota is not enforced yet: status.hard differs from spec.hard")


def _labels(selector: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in selector.items())


RULES: dict[tuple[str, str], Callable[[Live, Kube], Verdict]] = {
    ("apps/v1", "DaemonSet"): _daemon_set,
    ("apps/v1", "Deployment"): _deployment,
    ("apps/v1", "StatefulSet"): _stateful_set,
    ("batch/v1", "Job"): _job,
    ("v1", "Namespace"): _namespace,
    ("v1", "PersistentVolume"): _volume,
    ("v1", "PersistentVolumeClaim"): _claim,
    ("v1", "Pod"): _pod,
    ("v1", "ResourceQuota"): _resource_quota,
    ("v1", "Service"): _service,
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): _custom_resource_definition,
    ("apiregistration.k8s.io/v1", "APIService"): _api_service,
}
