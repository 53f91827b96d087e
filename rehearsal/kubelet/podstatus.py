"""The status a kubelet reports for a pod, from the states of its containers."""

from collections.abc import Mapping, Sequence
from typing import Any

from rehearsal.kubelet.lifecycle import Container
from rehearsal.kubelet.nodeobject import now

Object = Mapping[str, Any]
_OURS = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")


def phase(pod: Object, inits: Sequence[Container], mains: Sequence[Container]) -> str:
    """Pending, Running, Succeeded or Failed (source: pkg/kubelet, getPhase)."""
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Never" and any(_failed(each) for each in inits if each.role == "init"):
        return "Failed"
    if not all(initialised(each) for each in inits):
        return "Pending"
    if all(each.phase == "terminated" for each in mains):
        if all(each.succeeded() for each in mains):
            return "Running" if policy == "Always" else "Succeeded"
        return "Failed" if policy == "Never" else "Running"
    never_ran = all(each.phase == "waiting" and each.last is None for each in mains)
    return "Pending" if never_ran else "Running"


def initialised(container: Container) -> bool:
    """Whether the next container may start: an init container has succeeded, a sidecar is up."""
    return container.started if container.role == "sidecar" else container.succeeded()


def _failed(container: Container) -> bool:
    return container.phase == "terminated" and not container.succeeded()


def status(
    pod: Object, inits: Sequence[Container], mains: Sequence[Container], ip: str | None, host_ip: str, started: str
) -> dict[str, Any]:
    """The whole status to write; conditions that are not the kubelet's are kept from the pod's present status.

    Source: pkg/kubelet/status/generate.go. The kubelet writes all of them from its first look on, also while a pod
    waits for its volumes.
    """
    now_phase = phase(pod, inits, mains)
    over = now_phase in ("Succeeded", "Failed")
    incomplete = [each.name for each in inits if not initialised(each)]
    begun = any(each.phase != "waiting" or each.last is not None for each in mains)
    initial = not incomplete or begun
    uninitialised = {
        "reason": "ContainersNotInitialized",
        "message": f"containers with incomplete status: [{' '.join(incomplete)}]",
    }
    unready = [each.name for each in [*(i for i in inits if i.role == "sidecar"), *mains] if not each.ready]
    gates = _gates(pod)
    why = {"reason": "PodCompleted" if now_phase == "Succeeded" else "PodFailed"} if over else {}
    if unready and not why:
        why = {"reason": "ContainersNotReady", "message": f"containers with unready status: [{' '.join(unready)}]"}
    values: dict[str, tuple[bool, dict[str, str]]] = {
        "PodReadyToStartContainers": (ip is not None and not over, {}),
        "Initialized": (initial, {} if initial else uninitialised),
        "ContainersReady": (not unready, why),
        "Ready": (not unready and not gates, why),
    }
    result: dict[str, Any] = {
        "phase": now_phase,
        "conditions": _conditions(pod, values),
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "startTime": started,
        "containerStatuses": [each.status() for each in mains],
    }
    if inits:
        result["initContainerStatuses"] = [each.status() for each in inits]
    if ip:
        result["podIP"], result["podIPs"] = ip, [{"ip": ip}]
    return result


def _gates(pod: Object) -> list[str]:
    """Readiness gates that somebody else has not opened yet."""
    present = {each["type"]: each["status"] for each in (pod.get("status") or {}).get("conditions") or []}
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or []]
    return [gate for gate in gates if present.get(gate) != "True"]


def _conditions(pod: Object, values: Mapping[str, tuple[bool, dict[str, str]]]) -> list[dict[str, Any]]:
    before = {each["type"]: each for each in (pod.get("status") or {}).get("conditions") or []}
    result: list[dict[str, Any]] = [dict(each) for kind, each in before.items() if kind not in _OURS]
    for kind, (value, why) in values.items():
        text = str(value)
        same = before.get(kind, {}).get("status") == text
        since = before[kind].get("lastTransitionTime") if same else None
        result.append({"type": kind, "status": text, "lastTransitionTime": since or now(), **({} if value else why)})
    return result


def failed(pod: Object, reason: str, message: str) -> dict[str, Any]:
    """The status of a pod that the kubelet did not take (source: pkg/kubelet, rejectPod)."""
    text = f"Pod was rejected: {message}"
    return {"phase": "Failed", "reason": reason, "message": text, "startTime": now(), "conditions": _kept(pod)}


def ended(status: Object) -> dict[str, Any]:
    """The last status of a pod that was deleted before it had ended: what ran was asked to end, and did.

    Source: pkg/kubelet, SyncTerminatingPod and SyncTerminatedPod; Kubernetes documentation, "Pod Lifecycle" (a deleted
    pod comes to a terminal phase before its object goes).
    """
    if status.get("phase") in ("Succeeded", "Failed"):
        return dict(status)
    over = {"status": "False", "lastTransitionTime": now(), "reason": "PodFailed"}
    conditions = [
        {**each, **over} if each["type"] in ("Ready", "ContainersReady") else each
        for each in status.get("conditions") or []
    ]
    statuses = {
        group: [_terminated(each) for each in status[group]]
        for group in ("containerStatuses", "initContainerStatuses")
        if status.get(group)
    }
    return {**status, **statuses, "phase": "Failed", "conditions": conditions}


def _terminated(container: Object) -> Object:
    running = (container.get("state") or {}).get("running")
    if running is None:
        return container
    # 128 and the number of SIGTERM.
    end = {"exitCode": 143, "reason": "Error", "startedAt": running.get("startedAt"), "finishedAt": now()}
    return {**container, "ready": False, "started": False, "state": {"terminated": end}}


def _kept(pod: Object) -> list[Any]:
    return list((pod.get("status") or {}).get("conditions") or [])


def differs(old: Object, new: Object) -> bool:
    """Whether a new status says something else than the one in the API (which adds fields of its own)."""
    return any(not _same(value, old.get(key)) for key, value in new.items())


def _same(new: Any, old: Any) -> bool:
    if isinstance(new, Mapping):
        return (
            isinstance(old, Mapping)
            and set(old) <= set(new) | {"resources", "allocatedResources", "user", "volumeMounts", "observedGeneration"}
            and all(_same(value, old.get(key)) for key, value in new.items())
        )
    if isinstance(new, list):
        return isinstance(old, list) and len(old) == len(new) and all(map(_same, new, old))
    return new == old or (new in ("", False, None) and old in ("", False, None))


def restart_allowed(pod: Object, container: Container) -> bool:
    """Whether a container that ended is started again."""
    if container.role == "sidecar":
        return True
    policy = pod["spec"].get("restartPolicy", "Always")
    if container.role == "init":
        return policy != "Never" and not container.succeeded()
    return policy == "Always" or (policy == "OnFailure" and not container.succeeded())
