"""The controller of snapshots while its pod runs: it binds what is asked for to what a driver's sidecar makes.

Source: kubernetes-csi/external-snapshotter v8.6.0, pkg/common-controller/snapshot_controller.go (names, finalizers,
words of what fails, events, that a snapshot stays while a claim is made of it), pkg/utils/util.go. Of classes the one
that is named counts; contents that somebody brings, groups and the finalizer of claims are not played.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rehearsal.devices.reconciling import Reconciling
from rehearsal.kube.client import ApiError

Object = dict[str, Any]
API, SNAPSHOT, CONTENT, CLASS = (
    "snapshot.storage.k8s.io/v1",
    "VolumeSnapshot",
    "VolumeSnapshotContent",
    "VolumeSnapshotClass",
)
NAME = "snapshot-controller"
_GIB = 1 << 30
FINALIZERS = [f"snapshot.storage.kubernetes.io/volumesnapshot-{what}-protection" for what in ("as-source", "bound")]


class SnapshotController(Reconciling):
    """Compares snapshots with their contents."""

    NAME = NAME

    def _reconcile(self) -> None:
        kube = self._world.kube
        contents = {each["metadata"]["name"]: each for each in kube.list(API, CONTENT)}
        for each in kube.list(API, SNAPSHOT):
            content = contents.get(content_name(each))
            try:
                if each["metadata"].get("deletionTimestamp"):
                    self._end(each, content)
                else:
                    self._keep(each, content)
            except ApiError as error:
                if error.code not in (404, 409):
                    raise

    def _keep(self, snapshot: Object, content: Object | None) -> None:
        if snapshot["metadata"].get("finalizers") != FINALIZERS:
            self._patch(snapshot, {"metadata": {"finalizers": FINALIZERS}})
        if content is None:
            try:
                content = self._world.kube.create(self._content(snapshot))
            except LookupError as error:
                said = f"Failed to create snapshot content with error {error.args[0]}"
                self._failed_with(snapshot, "SnapshotContentCreationFailed", said)
                return
            said = f"Waiting for a snapshot {_key(snapshot)} to be created by the CSI driver."
            self._event(snapshot, "Normal", "CreatingSnapshot", said)
        self._tell(snapshot, status_of(content))

    def _content(self, snapshot: Object) -> Object:
        """What is asked of the driver. Raises LookupError with what is missing."""
        meta, spec = snapshot["metadata"], snapshot["spec"]
        named = spec["source"].get("persistentVolumeClaimName") or ""
        claim = self._world.kube.get("v1", "PersistentVolumeClaim", named, meta["namespace"])
        if claim is None:
            raise LookupError(
                f"snapshot controller failed to update {meta['name']} on API server: cannot get claim from snapshot"
            )
        if (claim.get("status") or {}).get("phase") != "Bound":
            raise LookupError(f"the PVC {named} is not yet bound to a PV, will not attempt to take a snapshot")
        volume = self._world.kube.get("v1", "PersistentVolume", claim["spec"]["volumeName"]) or {}
        csi = volume.get("spec", {}).get("csi")
        if not csi:
            raise LookupError(f"cannot find CSI PersistentVolumeSource for volume {claim['spec']['volumeName']}")
        kind = self._world.kube.get(API, CLASS, spec.get("volumeSnapshotClassName") or "")
        if kind is None:
            raise LookupError(
                f"failed to get input parameters to create snapshot {meta['name']}: "
                f'"failed to retrieve snapshot class {spec.get("volumeSnapshotClassName")} from the informer"'
            )
        return content_of(snapshot, csi["volumeHandle"], kind)

    def _end(self, snapshot: Object, content: Object | None) -> None:
        """Its content goes first, unless a claim is being made of it."""
        if content is not None and self._in_use(snapshot):
            self._event(snapshot, "Warning", "SnapshotDeletePending", "Snapshot is being used to restore a PVC")
            return
        if content is not None and content["spec"]["deletionPolicy"] == "Delete":
            self._world.kube.delete(content)
        if snapshot["metadata"].get("finalizers"):
            self._patch(snapshot, {"metadata": {"finalizers": None}})

    def _in_use(self, snapshot: Object) -> bool:
        meta = snapshot["metadata"]
        return any(
            each["metadata"]["namespace"] == meta["namespace"]
            and (each["spec"].get("dataSource") or {}).get("kind") == SNAPSHOT
            and each["spec"]["dataSource"]["name"] == meta["name"]
            and (each.get("status") or {}).get("phase") == "Pending"
            for each in self._world.stores["claims"].all()
        )

    def _tell(self, snapshot: Object, status: Mapping[str, Any]) -> None:
        before = snapshot.get("status") or {}
        if {key: before.get(key) for key in status} == status:
            return
        self._patch(snapshot, {"status": status}, "status")
        if status.get("readyToUse") and not before.get("readyToUse"):
            self._event(snapshot, "Normal", "SnapshotReady", f"Snapshot {_key(snapshot)} is ready to use.")

    def _failed_with(self, snapshot: Object, reason: str, said: str) -> None:
        if ((snapshot.get("status") or {}).get("error") or {}).get("message") == said:
            return
        error = {"message": said, "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
        self._patch(snapshot, {"status": {"error": error, "readyToUse": False}}, "status")
        self._event(snapshot, "Warning", reason, said)

    def _event(self, snapshot: Object, kind: str, reason: str, said: str) -> None:
        self._world.events.emit(snapshot, kind, reason, said, NAME)

    def _patch(self, snapshot: Object, patch: Mapping[str, Any], part: str | None = None) -> None:
        meta = snapshot["metadata"]
        self._world.kube.patch(API, SNAPSHOT, meta["name"], meta["namespace"], patch, part)


def content_name(snapshot: Mapping[str, Any]) -> str:
    """The name of the content that a driver made for a snapshot."""
    return f"snapcontent-{snapshot['metadata']['uid']}"


def content_of(snapshot: Mapping[str, Any], handle: str, kind: Mapping[str, Any]) -> Object:
    """What a driver is asked for: a snapshot of its volume `handle`, by a class. Pure."""
    meta = snapshot["metadata"]
    return {
        "apiVersion": API,
        "kind": CONTENT,
        "metadata": {"name": content_name(snapshot)},
        "spec": {
            "volumeSnapshotRef": {
                "apiVersion": API,
                "kind": SNAPSHOT,
                **{key: meta[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in meta},
            },
            "source": {"volumeHandle": handle},
            "volumeSnapshotClassName": kind["metadata"]["name"],
            "deletionPolicy": kind["deletionPolicy"],
            "driver": kind["driver"],
        },
    }


def status_of(content: Mapping[str, Any]) -> Object:
    """What a snapshot says when its content says this: times are nanoseconds there, and sizes bytes. Pure."""
    made = content.get("status") or {}
    status: Object = {
        "boundVolumeSnapshotContentName": content["metadata"]["name"],
        "readyToUse": bool(made.get("readyToUse")),
        "error": made.get("error"),
    }
    if "creationTime" in made:
        moment = datetime.fromtimestamp(int(made["creationTime"]) // 10**9, UTC)
        status["creationTime"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    if "restoreSize" in made:
        size = int(made["restoreSize"])
        status["restoreSize"] = str(size) if size % _GIB else f"{size // _GIB}Gi"
    return status


def _key(snapshot: Mapping[str, Any]) -> str:
    return f"{snapshot['metadata']['namespace']}/{snapshot['metadata']['name']}"
