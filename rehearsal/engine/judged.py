"""Whether what a program declared is there and does what it is for: one function for each kind that can fail to.

What `up` and `status` complain of. A kind without a function of its own is judged by the conditions that it shows.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from rehearsal.engine import runs
from rehearsal.engine.declared import RELEASE, Declared
from rehearsal.engine.look import Look, Object, because
from rehearsal.plugins.kubernetes.helm_store import Store
from rehearsal.plugins.kubernetes.objects import SKIP_AWAIT, condition, dig, holds

Named = tuple[str, str | None, str]
"""Kind, namespace and name."""
Judge = Callable[[Declared, Object, Look], Iterator[str]]

SCALERS = ("autoscaling/v2", "HorizontalPodAutoscaler")
BAD = (("Ready", "False"), ("Available", "False"), ("Established", "False"), ("Failed", "True"))
"""Conditions by which many kinds say that they do not do what they are for."""
FORGET = """kubectl patch pv {name} --type merge -p '{{"spec":{{"claimRef":{{"uid":null,"resourceVersion":null}}}}}}'"""
"""Makes a volume that somebody declared free for the claim that it names, whichever that is now (Kubernetes
documentation, Persistent Volumes, "Retain": a released volume is not available to another claim)."""
CLOSED = frozenset({"Closed", "Closing"})


def complaints(items: Iterable[Declared], look: Look, told: Collection[Named] = ()) -> list[str]:
    """A sentence for each declared object that is not there, or not as asked; `told` were complained of already."""
    found = (sentence for item in items for sentence in _complaints(item, look, told))
    return list(dict.fromkeys(found))


def _complaints(item: Declared, look: Look, told: Collection[Named]) -> Iterator[str]:
    if (item.api_version, item.kind) == RELEASE:
        yield from _release(item, look, told)
        return
    live = look.find(item.api_version, item.kind, item.name, item.namespace)
    if live is None:
        yield from _missing(item, look)
    elif since := dig(live, "metadata", "deletionTimestamp"):
        yield f"{item.label} is being deleted since {since}" + because(dig(live, "metadata", "finalizers", default=[]))
    elif (item.kind, item.namespace, item.name) not in told:
        judge = JUDGES.get((item.api_version.rpartition("/")[0], item.kind), _by_conditions)
        if not item.chart or judge is not _service:
            yield from judge(item, live, look)


def _missing(item: Declared, look: Look) -> Iterator[str]:
    if not look.served(item.api_version, item.kind):
        yield f"{item.label} is declared, and the API server serves no {item.kind} of {item.api_version}"
        return
    events: list[str] = []
    if (item.api_version, item.kind) == ("batch/v1", "Job"):
        spec = {**dig(item.last, "spec", default={}), **dig(item.wanted, "spec", default={})}
        events = look.events(item.kind, item.name, item.namespace)
        ended_well = holds(item.last, "Complete") or any(each.startswith("Completed: ") for each in events)
        if spec.get("ttlSecondsAfterFinished") is not None and ended_well:
            return
    of = f" by release {item.chart}" if item.chart else ""
    yield f"{item.label} is declared{of} but missing: it was deleted; a refresh, then `up`, recreates it" + because(
        events
    )


def _release(item: Declared, look: Look, told: Collection[Named]) -> Iterator[str]:
    """A Release that is deployed, and every object of its chart; hooks come and go."""
    history = Store(look.kube).history(item.namespace or "default", item.name)
    if not history:
        yield f"{item.label} is declared but missing: it was uninstalled; a refresh, then `up`, recreates it"
        return
    newest = history[-1]
    if newest.status != "deployed":
        yield f"{item.label} is {newest.status} at revision {newest.revision}: {newest.description}"
    for obj in newest.objects:
        version, kind, meta = obj["apiVersion"], obj["kind"], obj["metadata"]
        inside = look.served(version, kind) and look.kube.namespaced(version, kind)
        namespace = (meta.get("namespace") or item.namespace) if inside else None
        part = Declared(version, kind, namespace, meta["name"], obj, provider=item.provider, chart=item.name)
        yield from _complaints(part, look, told)


def _replicas(item: Declared, live: Object, look: Look) -> Iterator[str]:
    """An autoscaler's minimum counts where it is more than what the object says."""
    least = [
        int(each["spec"].get("minReplicas", 1))
        for each in look.all(*SCALERS)
        if each["metadata"].get("namespace") == item.namespace
        and (each["spec"]["scaleTargetRef"]["kind"], each["spec"]["scaleTargetRef"]["name"]) == (item.kind, item.name)
    ]
    wanted = max(int(dig(live, "spec", "replicas", default=1)), *least, 0)
    ready = int(dig(live, "status", "readyReplicas", default=0))
    updated = int(dig(live, "status", "updatedReplicas", default=0))
    if ready < wanted:
        yield f"{item.label} has {ready} of {wanted} replicas ready" + look.why(live, item.kind)
    elif item.kind == "Deployment" and updated < wanted and not dig(live, "spec", "paused"):
        yield f"{item.label} has {updated} of {wanted} replicas of its newest template" + look.why(live, item.kind)


def _daemons(item: Declared, live: Object, look: Look) -> Iterator[str]:
    wanted = int(dig(live, "status", "desiredNumberScheduled", default=0))
    ready = int(dig(live, "status", "numberReady", default=0))
    if not dig(live, "status", "observedGeneration"):
        yield f"{item.label} has not been looked at by its controller"
    elif ready < wanted:
        yield f"{item.label} has {ready} of {wanted} pods ready" + look.why(live, item.kind)


def _scaler(item: Declared, live: Object, look: Look) -> Iterator[str]:
    """kube-controller-manager looks every 15 seconds, and says in two conditions whether it can scale.

    Source: kubernetes pkg/controller/podautoscaler/horizontal.go, setCondition (FailedGetScale, FailedGetPodsMetric,
    AmbiguousSelector, ScalingDisabled ...). Without a metric it holds what there is, whatever the load (LF06).
    """
    said = [condition(live, kind) for kind in ("AbleToScale", "ScalingActive")]
    bad = [each for each in said if each and each.get("status") != "True"]
    reasons = [f"{each.get('reason')}: {each.get('message')}" for each in bad]
    if reasons:
        yield f"{item.label} does not scale" + because(reasons)
    elif not all(said):
        yield f"{item.label} has not scaled yet" + because(look.events(item.kind, item.name, item.namespace))


def _claim(item: Declared, live: Object, look: Look) -> Iterator[str]:
    """Without a pod that mounts it, a claim of a class that waits for its first consumer has nothing to be bound to."""
    phase = dig(live, "status", "phase", default="Pending")
    if phase == "Bound":
        return
    name = dig(live, "spec", "storageClassName", default="")
    waits = dig(look.find("storage.k8s.io/v1", "StorageClass", name, None) or {}, "volumeBindingMode")
    if phase == "Lost" or waits != "WaitForFirstConsumer" or any(_mounts(pod, item) for pod in look.all("v1", "Pod")):
        why = look.why(live, item.kind) or because(look.events(item.kind, item.name, item.namespace))
        yield f"{item.label} has no volume ({phase})" + (_kept_from(live, look) or why)


def _kept_from(claim: Object, look: Look) -> str:
    """The sentence that a claim's volume waits for another claim, which is gone; empty where it does not."""
    name = dig(claim, "spec", "volumeName", default="")
    volume = look.find("v1", "PersistentVolume", name, None) if name else None
    if dig(volume or {}, "status", "phase") != "Released":
        return ""
    return f": {name} is Released, and remembers a claim that is gone; `{FORGET.format(name=name)}`, then `up`"


def _mounts(pod: Object, claim: Declared) -> bool:
    names = (dig(each, "persistentVolumeClaim", "claimName") for each in dig(pod, "spec", "volumes", default=[]))
    return pod["metadata"].get("namespace") == claim.namespace and claim.name in names


def _volume(item: Declared, live: Object, _: Look) -> Iterator[str]:
    phase = dig(live, "status", "phase", default="Pending")
    if phase not in {"Bound", "Available"}:
        message = dig(live, "status", "message")
        told = [message] if message else []
        if phase == "Released":
            told.append(f"it remembers a claim that is gone, and keeps its data; `{FORGET.format(name=item.name)}`")
        yield f"{item.label} is {phase}" + because(told)


def _job(item: Declared, live: Object, look: Look) -> Iterator[str]:
    if holds(live, "Complete") or dig(live, "spec", "suspend"):
        return
    failed = condition(live, "Failed") if holds(live, "Failed") else condition(live, "FailureTarget")
    if failed:
        said = f": {failed.get('reason')}: {failed.get('message')}"
        yield f"{item.label} has failed{said}" + look.why(live, item.kind).replace(": ", "; ", 1)
    else:
        yield f"{item.label} has not ended" + look.why(live, item.kind)


def _schedule(item: Declared, live: Object, look: Look) -> Iterator[str]:
    """The last Job that a CronJob made is judged as any other, unless it still runs."""
    made = [
        job
        for job in look.all("batch/v1", "Job")
        if any(owner.get("uid") == live["metadata"]["uid"] for owner in job["metadata"].get("ownerReferences") or ())
    ]
    last = max(made, key=lambda job: str(job["metadata"].get("creationTimestamp")), default=None)
    if last is not None and holds(last, "Failed"):
        for sentence in _job(replace(item, kind="Job", name=last["metadata"]["name"]), last, look):
            yield f"{item.label}: its last {sentence}"


def _pod(item: Declared, live: Object, look: Look) -> Iterator[str]:
    if not holds(live, "Ready") and dig(live, "status", "phase") != "Succeeded":
        yield f"{item.label} is not ready" + look.why(live, item.kind)


def _service(item: Declared, live: Object, look: Look) -> Iterator[str]:
    """A Service that selects pods leads to one that is ready; pods that are not are told of by whoever keeps them.

    One that is not awaited has pods now and then, such as those of a Job.
    """
    if live["metadata"].get("annotations", {}).get(SKIP_AWAIT) == "true":
        return
    selector = dig(live, "spec", "selector", default={})
    slices = (
        each
        for each in look.all("discovery.k8s.io/v1", "EndpointSlice")
        if each["metadata"].get("namespace") == item.namespace
        and dig(each, "metadata", "labels", "kubernetes.io/service-name") == item.name
    )
    ends = (end for each in slices for end in each.get("endpoints") or ())
    if not selector or any(dig(end, "conditions", "ready", default=True) for end in ends):
        return
    pods = [
        pod
        for pod in look.all("v1", "Pod")
        if pod["metadata"].get("namespace") == item.namespace
        and selector.items() <= dig(pod, "metadata", "labels", default={}).items()
    ]
    if all(holds(pod, "Ready") for pod in pods):
        labels = ",".join(f"{key}={value}" for key, value in selector.items())
        yield f"{item.label} has no endpoint" + because([] if pods else [f"no pod has the labels {labels}"])


def _queue(item: Declared, live: Object, look: Look) -> Iterator[str]:
    state = dig(live, "status", "state", default="")
    if state in CLOSED:
        yield f"{item.label} is {state} and lets no gang in" + because(look.events(item.kind, item.name, None))


def _by_conditions(item: Declared, live: Object, look: Look) -> Iterator[str]:
    if runs.size(item.api_version, item.kind, item.wanted.get("spec") or {}):
        yield from runs.complaints(item, live, look)
        return
    for kind, status in BAD:
        found = condition(live, kind)
        if found.get("status") == status:
            yield f"{item.label} is {kind}={status}: {found.get('reason')}: {found.get('message')}"


JUDGES: Mapping[tuple[str, str], Judge] = {
    ("apps", "Deployment"): _replicas,
    ("apps", "StatefulSet"): _replicas,
    ("apps", "ReplicaSet"): _replicas,
    ("apps", "DaemonSet"): _daemons,
    ("autoscaling", "HorizontalPodAutoscaler"): _scaler,
    ("batch", "CronJob"): _schedule,
    ("batch", "Job"): _job,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "PersistentVolume"): _volume,
    ("", "Pod"): _pod,
    ("", "Service"): _service,
    ("scheduling.volcano.sh", "Queue"): _queue,
}
"""By API group and kind."""
