"""The objects of a release in the cluster: in Helm's order, with Helm's marks of ownership, waited for as Helm does."""

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from rehearsal.kube.client import ApiError, Kube
from rehearsal.plugins.kubernetes import helm_ready
from rehearsal.plugins.kubernetes.objects import Object, dig, holds, title
from rehearsal.plugins.kubernetes.reasons import explain

MANAGER = "helm"
CRD_SECONDS = 60.0
KEEP = "helm.sh/resource-policy"
HOOK = "helm.sh/hook"
NAME_MARK, NAMESPACE_MARK = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
OWNER_LABEL = "app.kubernetes.io/managed-by"

# Helm 3's InstallOrder (pkg/releaseutil/kind_sorter.go); other kinds follow in the order of their names.
_ORDER_TEXT = """
    PriorityClass Namespace NetworkPolicy ResourceQuota LimitRange PodSecurityPolicy PodDisruptionBudget
    ServiceAccount Secret SecretList ConfigMap StorageClass PersistentVolume PersistentVolumeClaim
    CustomResourceDefinition ClusterRole ClusterRoleList ClusterRoleBinding ClusterRoleBindingList Role RoleList
    RoleBinding RoleBindingList Service DaemonSet Pod ReplicationController ReplicaSet Deployment
    HorizontalPodAutoscaler StatefulSet Job CronJob IngressClass Ingress APIService
"""
ORDER = tuple(_ORDER_TEXT.split())


class NotReady(Exception):  # noqa: N818 - what happened; not every caller calls it an error
    """The release's objects exist but are not ready; `reasons` say which and why."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


def key(obj: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """What makes two renderings the same object: group, kind, namespace, name."""
    meta = obj["metadata"]
    return obj["apiVersion"].rpartition("/")[0], obj["kind"], meta.get("namespace") or "", meta["name"]


def in_order(objects: Iterable[Object]) -> list[Object]:
    """In the order in which Helm creates them."""
    rank = {kind: index for index, kind in enumerate(ORDER)}
    return sorted(objects, key=lambda obj: (rank.get(obj["kind"], len(ORDER)), obj["kind"]))


class Objects:
    """Works on the objects of one release."""

    def __init__(self, kube: Kube, release: str, namespace: str, stop: threading.Event) -> None:
        self._kube, self._release, self._namespace, self._stop = kube, release, namespace, stop

    def install_crds(self, definitions: Iterable[Object]) -> None:
        """Makes the chart's definitions that do not exist yet and waits until they are served; never changes one."""
        made = [live for definition in definitions if (live := self._made(definition)) is not None]
        deadline = time.monotonic() + CRD_SECONDS
        for live in made:
            while not (holds(live, "Established") and self._served(live)):
                if time.monotonic() > deadline or self._stop.wait(0.1):
                    raise NotReady([f"{title(live)} is not established after {CRD_SECONDS:.0f} s"])
                live = self._kube.get(live["apiVersion"], live["kind"], live["metadata"]["name"]) or live

    def _served(self, definition: Object) -> bool:
        """Whether discovery names the kind; it does so a moment after the definition is established."""
        spec = definition["spec"]
        version = next(each["name"] for each in spec["versions"] if each["served"])
        try:
            self._kube.namespaced(f"{spec['group']}/{version}", spec["names"]["kind"])
        except ApiError:
            return False
        return True

    def _made(self, definition: Object) -> Object | None:
        """A definition that did not exist before; Helm creates without looking (pkg/action/install.go)."""
        try:
            return self._kube.create(definition, MANAGER)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                return None
            raise

    def placed(self, obj: Object) -> Object:
        """The object in the release's namespace, if it names none and its kind lives in one. Raises ApiError."""
        if obj["metadata"].get("namespace") or not self._kube.namespaced(obj["apiVersion"], obj["kind"]):
            return obj
        return {**obj, "metadata": {**obj["metadata"], "namespace": self._namespace}}

    def marked(self, obj: Object) -> Object:
        """The object as it is applied: with namespace and marks of ownership.

        Raises ApiError NoMatch for a kind that the cluster does not serve.
        """
        obj = self.placed(obj)
        meta = dict(obj["metadata"])
        marks = {NAME_MARK: self._release, NAMESPACE_MARK: self._namespace}
        meta["annotations"] = {**(meta.get("annotations") or {}), **marks}
        meta["labels"] = {**(meta.get("labels") or {}), OWNER_LABEL: "Helm"}
        return {**obj, "metadata": meta}

    def foreign(self, objects: Iterable[Object], own: Iterable[Object] = ()) -> str | None:
        """A sentence about the first object that exists and belongs to somebody else, None if there is none.

        `own` are objects of the release's current revision.
        """
        known = {key(obj) for obj in own}
        for obj in objects:
            live = None if key(obj) in known else self.live(obj)
            if live is not None and (wrong := self._wrong_marks(live)):
                return f"{title(live)} exists and cannot be imported into the current release: {wrong}"
        return None

    def _wrong_marks(self, live: Mapping[str, Any]) -> str:
        found = {
            f"label {OWNER_LABEL}": (dig(live, "metadata", "labels", OWNER_LABEL), "Helm"),
            f"annotation {NAME_MARK}": (dig(live, "metadata", "annotations", NAME_MARK), self._release),
            f"annotation {NAMESPACE_MARK}": (dig(live, "metadata", "annotations", NAMESPACE_MARK), self._namespace),
        }
        return "; ".join(
            f"{what} is {is_!r} where it must be {must!r}" for what, (is_, must) in found.items() if is_ != must
        )

    def apply(self, objects: Iterable[Object]) -> None:
        """Makes or changes the objects. Raises ApiError for the first that is refused, its name in the message."""
        for obj in objects:
            try:
                self._kube.apply(obj, MANAGER, force=True)
            except ApiError as error:
                raise ApiError(error.code, error.reason, f"{title(obj)}: {error.message}", error.body) from None

    def delete(self, objects: Iterable[Object]) -> list[Object]:
        """Asks for the deletion of the objects, last kinds first; gives back those that it asked for."""
        asked = []
        for obj in reversed(in_order(objects)):
            if dig(obj, "metadata", "annotations", KEEP) == "keep":
                continue
            try:
                self._kube.delete(obj)
            except ApiError as error:
                if error.reason == "NoMatch":
                    continue
                raise
            asked.append(obj)
        return asked

    def wait_gone(self, objects: Iterable[Object], deadline: float) -> None:
        """Waits until none of the objects exists. Raises NotReady naming one that stays."""
        for obj in objects:
            while (live := self.live(obj)) is not None:
                if time.monotonic() > deadline or self._stop.wait(0.2):
                    held = ", ".join(dig(live, "metadata", "finalizers", default=[]))
                    raise NotReady([f"{title(live)} is still being deleted" + (f"; finalizers {held}" if held else "")])

    def wait_ready(self, objects: Iterable[Object], jobs: bool, deadline: float) -> None:
        """Waits until Helm would call the objects ready. Raises NotReady with Kubernetes' own reasons."""
        waiting, pause = list(objects), 0.2
        while waiting := [obj for obj in waiting if self._missing(obj, jobs) is not None]:
            lives = [live for obj in waiting if (live := self.live(obj)) is not None]
            doomed = any(helm_ready.doomed(live, jobs) for live in lives)
            if doomed or time.monotonic() > deadline or self._stop.wait(pause):
                raise NotReady(self._reasons(waiting, jobs))
            pause = min(1.5, pause * 1.4)

    def _missing(self, obj: Object, jobs: bool) -> str | None:
        live = self.live(obj)
        return "it does not exist" if live is None else helm_ready.missing(live, self._kube, jobs)

    def _reasons(self, waiting: Iterable[Object], jobs: bool) -> list[str]:
        reasons: list[str] = []
        for obj in waiting:
            if text := self._missing(obj, jobs):
                reasons.append(f"{title(obj)} is not ready: {text}")
                live = self.live(obj)
                reasons += explain(live, self._kube) if live else []
        return reasons

    def live(self, obj: Mapping[str, Any]) -> Object | None:
        """The object as the cluster has it; None if it has none."""
        meta = obj["metadata"]
        try:
            return self._kube.get(obj["apiVersion"], obj["kind"], meta["name"], meta.get("namespace"))
        except ApiError as error:
            if error.reason == "NoMatch":
                return None
            raise
