"""How pulumi-kubernetes polls claims, volumes, quotas and account tokens: await/awaiters.go, watcher/watcher.go.

The time is the kind's own and begins anew at every update: `customTimeouts` and the annotation change nothing. Neither
says the error why; a reason is a status line at best.
"""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from rehearsal.kube.client import ApiError, Kube
from rehearsal.plugins.kubernetes.awaiter import Awaiter, Seen
from rehearsal.plugins.kubernetes.objects import Object, dig


class Polled(Awaiter):
    """Asks for the object until it is as it should be, or gone, or the kind's time is over."""

    breaks = True
    deleted = False
    seconds: float

    @override
    def look(self, kube: Kube, now: float) -> None:
        super().look(kube, now)
        if self.deleted:
            meta, kind = self.live["metadata"], str(self.live["kind"]).lower()
            raise ApiError(404, "NotFound", f'{kind}s "{meta["name"]}" not found')

    @override
    def observe(self, seen: Seen, now: float) -> None:
        self.deleted = seen.live is None
        super().observe(seen, now)

    @override
    def late(self, now: float, seconds: float) -> bool:
        return now - self.began >= self.seconds

    @override
    def timeout_text(self) -> str:
        return f"Timeout occurred polling for '{self.live['metadata']['name']}'"


class VolumeAwaiter(Polled):
    """A PersistentVolume is available or bound."""

    seconds = 300.0

    @override
    def judge(self, seen: Seen, now: float) -> None:
        self.ready = dig(self.live, "status", "phase") in ("Available", "Bound")


class ClaimAwaiter(Polled):
    """A claim is bound, or waits for its first consumer if its class says so; a bound one stays ready."""

    seconds = 300.0

    @override
    def beside(self, kube: Kube) -> Mapping[str, Sequence[Object]]:
        name = dig(self.live, "spec", "storageClassName")
        found = kube.get("storage.k8s.io/v1", "StorageClass", name) if name else None
        return {"StorageClass": [found] if found else []}

    @override
    def judge(self, seen: Seen, now: float) -> None:
        name, phase = dig(self.live, "spec", "storageClassName"), dig(self.live, "status", "phase")
        classes = seen.beside.get("StorageClass", ())
        if not name:
            self.say(f'no storage class found for "{self.live["metadata"]["name"]}"', "warning")
        elif not classes:
            self.say(f'getting storagclass "{name}": storageclasses.storage.k8s.io "{name}" not found', "warning")
        patient = any(each.get("volumeBindingMode") == "WaitForFirstConsumer" for each in classes)
        bound_before = self.before is not None and phase == "Bound"
        self.ready = bound_before or phase == ("Pending" if patient else "Bound")


class QuotaAwaiter(Polled):
    """A ResourceQuota is enforced as it is written."""

    seconds = 60.0

    @override
    def judge(self, seen: Seen, now: float) -> None:
        wanted = dig(self.live, "spec", "hard")
        self.ready = wanted is not None and wanted == dig(self.live, "status", "hard")


class TokenAwaiter(Polled):
    """A Secret of an account's token has one; other Secrets are ready at once."""

    seconds = 5.0

    @override
    def judge(self, seen: Seen, now: float) -> None:
        token = self.live.get("type") == "kubernetes.io/service-account-token"
        self.ready = not token or bool(self.live.get("data"))
