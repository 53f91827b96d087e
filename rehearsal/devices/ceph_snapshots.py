"""Snapshots of Ceph's drivers: the sidecar that has them made, and volumes that are made of them.

Sources: kubernetes-csi/external-snapshotter v8.6.0, pkg/sidecar-controller/snapshot_controller.go (which contents,
words of what fails, status, finalizer); kubernetes-csi/external-provisioner, pkg/controller/controller.go
(getSnapshotSource: what a claim's data source has to be); ceph/ceph-csi, docs/static-pvc.md (none of static volumes),
docs/cephfs-snapshot-backed-volumes.md and internal/cephfs/store/backingsnapshot.go (a volume that is a snapshot is only
read, and the snapshot's data stay until the last such volume is gone).
"""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rehearsal.devices.snapshots import API, CLASS, CONTENT, SNAPSHOT
from rehearsal.kube.client import ApiError
from rehearsal.kube.quantities import parse
from rehearsal.kubelet.program import Launch, Local
from rehearsal.kubelet.provisioning import UnmadeError
from rehearsal.kubelet.volumes import volume_key

Object = dict[str, Any]
FINALIZER = "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"
LOOK_SECONDS = 1.0


class Snapshotter(Local):
    """The sidecar of `driver` as long as its pod runs."""

    def __init__(self, launch: Launch, driver: str) -> None:
        self._launch, self._driver = launch, driver
        self._task = f"snapshots {driver} {launch.pod_name}"
        launch.world.tasks.run(self._task, self._look)

    def stop(self) -> None:
        self._launch.world.tasks.cancel(self._task)

    def _look(self) -> float:
        try:
            contents = self._launch.world.kube.list(API, CONTENT)
        except ApiError:
            # The kinds are not served yet.
            return LOOK_SECONDS
        for each in contents:
            if each["spec"]["driver"] != self._driver:
                continue
            try:
                self._content(each)
            except ApiError as error:
                # The other replica was quicker: they elect one, and these do alike.
                if error.code not in (404, 409):
                    raise
        return LOOK_SECONDS

    def _content(self, content: Object) -> None:
        meta, status = content["metadata"], content.get("status") or {}
        if meta.get("deletionTimestamp"):
            self._launch.world.contents.forget(snapshot_key(self._driver, meta["uid"]))
            self._patch(content, {"metadata": {"finalizers": None}})
        elif not status.get("readyToUse"):
            if FINALIZER not in (meta.get("finalizers") or []):
                self._patch(content, {"metadata": {"finalizers": [FINALIZER]}})
            self._take(content)

    def _take(self, content: Object) -> None:
        world, handle = self._launch.world, content["spec"]["source"].get("volumeHandle", "")
        volume = next((each for each in world.stores["volumes"].all() if _handle(each) == handle), None)
        if (lack := self._lacking(content, handle, volume)) is not None or volume is None:
            said = (
                f'Failed to check and update snapshot content: failed to take snapshot of the volume {handle}: "{lack}"'
            )
            if ((content.get("status") or {}).get("error") or {}).get("message") != said:
                error = {"message": said, "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
                self._patch(content, {"status": {"error": error, "readyToUse": False}}, "status")
                world.events.emit(content, "Warning", "SnapshotContentCheckandUpdateFailed", said, self._driver)
            return
        uid = content["metadata"]["uid"]
        world.contents.add(snapshot_key(self._driver, uid), world.contents.under(volume_key(volume), ""))
        made = {
            "snapshotHandle": uid,
            "creationTime": time.time_ns(),
            "readyToUse": True,
            "restoreSize": int(parse(volume["spec"]["capacity"]["storage"])),
            "error": None,
        }
        self._patch(content, {"status": made}, "status")

    def _lacking(self, content: Object, handle: str, volume: Mapping[str, Any] | None) -> str | None:
        """Why no snapshot is made of the volume."""
        world = self._launch.world
        kind = world.kube.get(API, CLASS, content["spec"].get("volumeSnapshotClassName") or "") or {}
        prefix, told = "csi.storage.k8s.io/snapshotter-secret", kind.get("parameters") or {}
        secret, namespace = told.get(f"{prefix}-name", ""), told.get(f"{prefix}-namespace", "")
        if world.find("secrets", secret, namespace) is None:
            return f'error getting secret {secret} in namespace {namespace}: secrets "{secret}" not found'
        static = ((volume or {}).get("spec") or {}).get("csi", {}).get("volumeAttributes", {}).get("staticVolume")
        if volume is None or static == "true":
            return f"rpc error: code = NotFound desc = error decoding volume ID ({handle})"
        return None

    def _patch(self, content: Object, patch: Mapping[str, Any], part: str | None = None) -> None:
        self._launch.world.kube.patch(API, CONTENT, content["metadata"]["name"], None, patch, part)


def snapshot_key(driver: str, handle: str) -> str:
    """The key of what a snapshot holds."""
    return f"csi:{driver}:snapshot-{handle}"


def source_of(launch: Launch, claim: Mapping[str, Any], kind: Mapping[str, Any], driver: str) -> str | None:
    """The handle of the snapshot that a claim's volume is made of; None where it is empty. Raises UnmadeError."""
    named, kube = claim["spec"].get("dataSource") or {}, launch.world.kube
    shallow = (kind.get("parameters") or {}).get("backingSnapshot") == "true"
    if not named:
        if shallow:
            raise UnmadeError(
                "rpc error: code = InvalidArgument desc = backingSnapshot option requires snapshot volume source"
            )
        return None
    begin = f"error getting handle for DataSource Type {named['kind']} by Name {named['name']}"
    if named["kind"] != SNAPSHOT:
        raise UnmadeError(f"{begin}: not rehearsed")
    snapshot = kube.get(API, SNAPSHOT, named["name"], claim["metadata"]["namespace"])
    if snapshot is None:
        raise UnmadeError(
            f"{begin}: error getting snapshot {named['name']} from api server: "
            f'volumesnapshots.snapshot.storage.k8s.io "{named["name"]}" not found'
        )
    status = snapshot.get("status") or {}
    if not status.get("readyToUse"):
        raise UnmadeError(f"{begin}: snapshot {named['name']} is not Ready")
    content = kube.get(API, CONTENT, status["boundVolumeSnapshotContentName"]) or {}
    if content["spec"]["driver"] != driver:
        raise UnmadeError(f"{begin}: driver in VolumeSnapshotContent is another one: {content['spec']['driver']}")
    asked, least = parse(claim["spec"]["resources"]["requests"]["storage"]), content["status"]["restoreSize"]
    if asked < least:
        raise UnmadeError(f"requested volume size {int(asked)} is less than the size {least} for the source snapshot")
    if shallow and claim["spec"]["accessModes"] != ["ReadOnlyMany"]:
        raise UnmadeError("rpc error: code = InvalidArgument desc = only read-only access modes are supported")
    return str(content["status"]["snapshotHandle"])


def _handle(volume: Mapping[str, Any]) -> str:
    return str((volume["spec"].get("csi") or {}).get("volumeHandle") or "")
