"""How pulumi-kubernetes waits for a Deployment: provider/pkg/await/deployment.go."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from typing_extensions import override

from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes.awaiter import Awaiter, Seen
from rehearsal.plugins.kubernetes.objects import Object, annotation, condition, dig
from rehearsal.plugins.kubernetes.podcheck import owned, warnings

REVISION = "deployment.kubernetes.io/revision"


class DeploymentAwaiter(Awaiter):
    """Ready when the Deployment is available and the ReplicaSet of its revision has as many ready pods as it wants.

    After the first revision the rollout must be over as well (`NewReplicaSetAvailable`). Old pods may still run, and
    claims of the pods must be bound.
    """

    _rolled = False
    """Whether the ReplicaSet of the current revision has its pods."""
    _replica_set: Mapping[str, Any] | None = None
    _pods: Sequence[Object] = ()
    _unbound: Sequence[str] = ()

    @override
    def beside(self, kube: Kube) -> Mapping[str, Sequence[Object]]:
        found = (
            kube.get("v1", "PersistentVolumeClaim", name, self.live["metadata"].get("namespace"))
            for name in _claims(self.live)
        )
        return {
            "ReplicaSet": self.selected(kube, "apps/v1", "ReplicaSet"),
            "Pod": self.selected(kube, "v1", "Pod"),
            "PersistentVolumeClaim": [claim for claim in found if claim],
        }

    @override
    def judge(self, seen: Seen, now: float) -> None:
        sets = owned(seen.beside.get("ReplicaSet", ()), self.wanted)
        revision = annotation(self.live, REVISION)
        self._replica_set = next((each for each in sets if revision and annotation(each, REVISION) == revision), None)
        self._pods = seen.beside.get("Pod", ())
        claims = seen.beside.get("PersistentVolumeClaim", ())
        self._unbound = [c["metadata"]["name"] for c in claims if dig(c, "status", "phase") != "Bound"]
        self._rolled = self._has_its_pods()
        self._tell()
        observed = dig(self.live, "status", "observedGeneration") == dig(self.live, "metadata", "generation")
        over = revision == "1" or self._progressed()
        self.ready = bool(observed and revision and self._available() and over and self._rolled and not self._unbound)

    def _has_its_pods(self) -> bool:
        if self._replica_set is None:
            return False
        wanted, ready = (
            dig(self._replica_set, "spec", "replicas", default=1),
            dig(self._replica_set, "status", "readyReplicas"),
        )
        return bool(wanted == 0 if ready is None else ready >= wanted)

    def _available(self) -> bool:
        return bool(condition(self.live, "Available").get("status") == "True")

    def _progressed(self) -> bool:
        progress = condition(self.live, "Progressing")
        return bool(progress.get("reason") == "NewReplicaSetAvailable" and progress.get("status") == "True")

    def _complaints(self) -> Iterator[str]:
        for kind in ("Progressing", "Available"):
            found = condition(self.live, kind)
            if found and found.get("status") != "True" and found.get("reason") and found.get("message"):
                yield f"[{found['reason']}] {found['message']}"

    def _tell(self) -> None:
        for text in self._complaints():
            self.say(text, "warning")
        for name in self._unbound:
            self.say(f"PersistentVolumeClaim: [{name}] is not ready", "warning")
        if self._replica_set is not None and not self._rolled:
            ready = dig(self._replica_set, "status", "readyReplicas", default=0)
            wanted = dig(self._replica_set, "spec", "replicas", default=1)
            self.say(f"Waiting for app ReplicaSet to be available ({ready}/{wanted} Pods available)")

    @override
    def reasons(self) -> list[str]:
        texts = list(self._complaints())
        if self._unbound:
            texts.append(f'Failed to bind PersistentVolumeClaim(s): "{",".join(self._unbound)}"')
        first = annotation(self.live, REVISION) == "1"
        if not self._available():
            texts.append("Minimum number of live Pods was not attained")
        elif not first and not self._progressed():
            texts.append("Minimum number of Pods to consider the application live was not attained")
        elif not self._rolled:
            texts.append(
                "Minimum number of Pods to consider the application live was not attained"
                if first
                else "Attempted to roll forward to new ReplicaSet, but minimum number of Pods did not become live"
            )
        return texts + (warnings(owned(self._pods, self._replica_set)) if self._replica_set else [])


def _claims(deployment: Mapping[str, Any]) -> list[str]:
    volumes = dig(deployment, "spec", "template", "spec", "volumes", default=[])
    return [str(dig(each, "persistentVolumeClaim", "claimName")) for each in volumes if "persistentVolumeClaim" in each]
