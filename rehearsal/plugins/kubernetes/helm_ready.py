"""When Helm 3 considers a release's objects ready (pkg/kube/ready.go): more lenient than Pulumi for its resources."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes.objects import condition, dig, holds

Live = Mapping[str, Any]


def missing(live: Live, kube: Kube, jobs: bool) -> str | None:
    """What Helm waits for on this object, None if nothing. Jobs count only if the release waits for them."""
    kind = str(live.get("kind"))
    if kind == "Job" and not jobs:
        return None
    rule = _RULES.get(kind)
    return rule(live, kube) if rule else None


def doomed(live: Live, jobs: bool) -> bool:
    """Whether waiting any longer is of no use."""
    return jobs and live.get("kind") == "Job" and holds(live, "Failed")


def _observed(live: Live) -> bool:
    return bool(dig(live, "status", "observedGeneration", default=0) >= dig(live, "metadata", "generation", default=1))


def _share(value: Any, total: int, up: bool) -> int:
    """An absolute number or a percentage of the total."""
    if isinstance(value, str) and value.endswith("%"):
        exact = total * int(value[:-1]) / 100
        return math.ceil(exact) if up else math.floor(exact)
    return int(value or 0)


def _deployment(live: Live, _: Kube) -> str | None:
    if dig(live, "spec", "paused"):
        return None
    wanted = dig(live, "spec", "replicas", default=1)
    rolling = dig(live, "spec", "strategy", "rollingUpdate", default={})
    spare = 0
    if wanted and rolling:
        spare = _share(rolling.get("maxUnavailable", "25%"), wanted, up=False)
        if not spare and not _share(rolling.get("maxSurge", "25%"), wanted, up=True):
            spare = 1
    status = dig(live, "status", default={})
    ready = min(status.get("readyReplicas", 0), status.get("updatedReplicas", 0))
    if _observed(live) and ready >= wanted - min(spare, wanted):
        return None
    return f"{ready} of {wanted} replicas are ready"


def _daemon_set(live: Live, _: Kube) -> str | None:
    if dig(live, "spec", "updateStrategy", "type", default="RollingUpdate") != "RollingUpdate":
        return None
    status = dig(live, "status", default={})
    wanted, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
    spare = _share(dig(live, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable", default=1), wanted, up=True)
    if _observed(live) and status.get("updatedNumberScheduled", 0) == wanted and ready >= wanted - spare:
        return None
    return f"{ready} of {wanted} pods are ready"


def _stateful_set(live: Live, _: Kube) -> str | None:
    if dig(live, "spec", "updateStrategy", "type", default="RollingUpdate") != "RollingUpdate":
        return None
    wanted = dig(live, "spec", "replicas", default=1)
    partition = dig(live, "spec", "updateStrategy", "rollingUpdate", "partition", default=0)
    status = dig(live, "status", default={})
    ready, updated = status.get("readyReplicas", 0), status.get("updatedReplicas", 0)
    if _observed(live) and updated >= wanted - partition and ready >= wanted:
        return None
    return f"{ready} of {wanted} replicas are ready"


def _job(live: Live, _: Kube) -> str | None:
    if holds(live, "Complete"):
        return None
    failed = condition(live, "Failed")
    return f"the Job failed: {failed.get('message')}" if holds(live, "Failed") else "the Job has not completed"


def _pod(live: Live, _: Kube) -> str | None:
    return None if holds(live, "Ready") else "the pod is not ready"


def _claim(live: Live, _: Kube) -> str | None:
    return None if dig(live, "status", "phase") == "Bound" else "the claim is not bound"


def _service(live: Live, _: Kube) -> str | None:
    spec = dig(live, "spec", default={})
    if spec.get("type") != "LoadBalancer" or spec.get("externalIPs"):
        return None
    return None if dig(live, "status", "loadBalancer", "ingress") else "the load balancer has no address"


def _custom_resource_definition(live: Live, _: Kube) -> str | None:
    return None if holds(live, "Established") else "the definition is not established"


_RULES: dict[str, Callable[[Live, Kube], str | None]] = {
    "CustomResourceDefinition": _custom_resource_definition,
    "DaemonSet": _daemon_set,
    "Deployment": _deployment,
    "Job": _job,
    "PersistentVolumeClaim": _claim,
    "Pod": _pod,
    "Service": _service,
    "StatefulSet": _stateful_set,
}
