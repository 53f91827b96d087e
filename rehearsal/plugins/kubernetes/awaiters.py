"""How pulumi-kubernetes waits for Jobs, Pods, Services, StatefulSets and DaemonSets: provider/pkg/await."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes.awaiter import CONDITION_TIMEOUT, Awaiter, Seen, versions
from rehearsal.plugins.kubernetes.objects import Object, dig
from rehearsal.plugins.kubernetes.podcheck import job_failure, job_ready, owned, pod_ready, pod_warning, warnings

RESYNC_SECONDS = 60.0
"""How often the informers tell of every object anew (await/informers/factory.go)."""
SETTLING_SECONDS = 10.0
"""How long endpoints must have been left alone (await/service.go, processEndpointEvent)."""


class Renewed(Awaiter):
    """The loop of await/job.go and await/pod.go makes its timer anew for every event that it takes.

    So the program's timeout is that of the longest silence: an event of any object of the kind in the namespace, the
    informers' resync each minute included, grants the whole time again.
    """

    _known: Mapping[str, str] | None = None
    _renewed = 0.0

    def renew(self, events: Mapping[str, str], now: float) -> None:
        """Takes note of an event if there has been one since the last look."""
        resynced = self.began + (now - self.began) // RESYNC_SECONDS * RESYNC_SECONDS
        self._renewed = max(self._renewed, resynced, now if events != self._known else 0.0)
        self._known = events

    @override
    def late(self, now: float, seconds: float) -> bool:
        return now - max(self.began, self._renewed) >= seconds


class JobAwaiter(Renewed):
    """await/job.go. What pods said on the way stays said when the Job has deleted them."""

    def __init__(self, live: Object, began: float = 0.0, before: Object | None = None) -> None:
        super().__init__(live, began, before)
        self._errors: dict[str, None] = {}

    @override
    def beside(self, kube: Kube) -> Mapping[str, Sequence[Object]]:
        jobs = kube.list("batch/v1", "Job", self.live["metadata"].get("namespace"))
        return {"Job": jobs, "Pod": self.selected(kube, "v1", "Pod")}

    @override
    def judge(self, seen: Seen, now: float) -> None:
        telling = [pod for pod in owned(seen.beside.get("Pod", ()), self.wanted) if pod_warning(pod)]
        self.renew(versions([*seen.beside.get("Job", ()), *telling]), now)
        for text in warnings(telling):
            self._errors.setdefault(text)
            if "containers with unready status" not in text:
                self.say(text, "warning")
        if seen.live is None:
            return
        self.ready = job_ready(seen.live)
        if failure := job_failure(seen.live):
            self.failed = True
            self._errors.setdefault(failure)

    @override
    def reasons(self) -> list[str]:
        return list(self._errors)


class PodAwaiter(Renewed):
    """await/pod.go."""

    @override
    def beside(self, kube: Kube) -> Mapping[str, Sequence[Object]]:
        return {"Pod": kube.list("v1", "Pod", self.live["metadata"].get("namespace"))}

    @override
    def judge(self, seen: Seen, now: float) -> None:
        self.renew(versions(seen.beside.get("Pod", ())), now)
        self.ready = seen.live is not None and pod_ready(seen.live)

    @override
    def reasons(self) -> list[str]:
        return warnings([self.live])


class ServiceAwaiter(Awaiter):
    """await/service.go: endpoints that are left alone for ten seconds and of which none is unready.

    A Service that selects no pods at all is ready after that time; a wrong selector shows nowhere.
    """

    _endpoints_seen: Object | None = None
    _pending = _targets = _has_address = False

    def __init__(self, live: Object, began: float = 0.0, before: Object | None = None) -> None:
        super().__init__(live, began, before)
        self._events: list[float] = []
        self.say("[1/3] Finding Pods to direct traffic to")

    @override
    def beside(self, kube: Kube) -> Mapping[str, Sequence[Object]]:
        meta = self.live["metadata"]
        found = kube.get("v1", "Endpoints", meta["name"], meta.get("namespace"))
        return {"Endpoints": [found] if found else []}

    @override
    def judge(self, seen: Seen, now: float) -> None:
        balanced = dig(self.live, "spec", "type") == "LoadBalancer"
        self._has_address = seen.live is not None and (
            not balanced or bool(dig(seen.live, "status", "loadBalancer", "ingress"))
        )
        endpoints = next(iter(seen.beside.get("Endpoints", ())), None)
        if endpoints != self._endpoints_seen:
            self._events.append(now)
            self._endpoints_seen = endpoints
            subsets = dig(endpoints, "subsets", default=[])
            self._targets = any(each.get("addresses") for each in subsets)
            self._pending = any(each.get("notReadyAddresses") for each in subsets)
        self.ready = self._has_address and (not self._selects() or (self._settled(now) and not self._pending))

    def judge_at_once(self) -> bool:
        """What a refresh finds, which settles nothing (`read`)."""
        return self._has_address and (not self._selects() or not self._pending)

    def _settled(self, now: float) -> bool:
        """Every event unsettles the endpoints and settles them ten seconds later, also if another came between."""
        return any(self._events[-1] < event + SETTLING_SECONDS <= now for event in self._events)

    def _selects(self) -> bool:
        spec = dig(self.live, "spec", default={})
        return bool(spec.get("type") != "ExternalName" and spec.get("clusterIP") != "None" and spec.get("selector"))

    @override
    def at_last(self) -> bool:
        return self._has_address and not self._pending

    @override
    def reasons(self) -> list[str]:
        spec = dig(self.live, "spec", default={})
        if spec.get("clusterIP") == "None" or spec.get("type") == "ExternalName":
            return []
        texts = []
        if not self._targets:
            texts.append(
                "Service does not target any Pods. Selected Pods may not be ready, or field '.spec.selector' may not "
                "match labels on any Pods"
            )
        if spec.get("type") == "LoadBalancer" and not self._has_address:
            texts.append("Service was not allocated an IP address; does your cloud provider support this?")
        return texts


class StatefulSetAwaiter(Awaiter):
    """await/statefulset.go: as many replicas, ready ones and current ones as wanted, all of one revision."""

    _replicas = _revision = False
    _pods: Sequence[Object] = ()

    @override
    def beside(self, kube: Kube) -> Mapping[str, Sequence[Object]]:
        return {"Pod": self.selected(kube, "v1", "Pod")}

    @override
    def judge(self, seen: Seen, now: float) -> None:
        self._pods = seen.beside.get("Pod", ())
        self._replicas = self._revision = False
        generation = dig(self.live, "metadata", "generation", default=0)
        if seen.live is not None and dig(seen.live, "status", "observedGeneration", default=-1) >= generation:
            status, wanted = dig(seen.live, "status", default={}), dig(seen.live, "spec", "replicas", default=0)
            counted = ["replicas", "readyReplicas"]
            on_delete = dig(seen.live, "spec", "updateStrategy", "type") == "OnDelete" and generation > 1
            counted += [] if on_delete else ["currentReplicas"]
            revision = status.get("currentRevision")
            self._replicas = all(status.get(name, 0) == wanted for name in counted)
            self._revision = on_delete or bool(revision and revision == status.get("updateRevision"))
        self.ready = self._replicas and self._revision

    @override
    def reasons(self) -> list[str]:
        status, texts = dig(self.live, "status", default={}), []
        if not self._replicas:
            ready, wanted = status.get("readyReplicas", 0), dig(self.live, "spec", "replicas", default=0)
            current = ready if self._revision else min(ready, status.get("updatedReplicas", 0))
            texts.append(f"{current} out of {wanted} replicas succeeded readiness checks")
        if not self._revision:
            now, then = status.get("currentRevision", ""), status.get("updateRevision", "")
            texts.append(f'StatefulSet controller failed to advance from revision "{now}" to revision "{then}"')
        return texts + warnings(owned(self._pods, self.live))


class DaemonSetAwaiter(Awaiter):
    """await/daemonset.go, by kstatus' rule for DaemonSets: as many scheduled, updated, available and ready as desired.

    It adds no reasons: what its pods say is shown as status lines only.
    """

    @override
    def beside(self, kube: Kube) -> Mapping[str, Sequence[Object]]:
        return {"Pod": self.selected(kube, "v1", "Pod")}

    @override
    def judge(self, seen: Seen, now: float) -> None:
        for text in warnings(owned(seen.beside.get("Pod", ()), self.wanted)):
            self.say(text, "warning")
        if seen.live is None:
            return
        status = dig(seen.live, "status", default={})
        wanted = status.get("desiredNumberScheduled", -1)
        counts = ("currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady")
        self.ready = (
            status.get("observedGeneration") == dig(seen.live, "metadata", "generation")
            and wanted >= 0
            and all(status.get(name, 0) >= wanted for name in counts)
        )

    @override
    def timeout_text(self) -> str:
        return CONDITION_TIMEOUT
