"""What CSI drivers' controllers do alike: a volume for each claim of their classes, and its end once it is released.

Source: kubernetes-csi/external-provisioner (which claims, names of volumes, events, what becomes of a released volume
whose policy is Delete).
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from rehearsal.kube.client import ApiError
from rehearsal.kubelet.program import Launch, Local

Object = dict[str, Any]
LOOK_SECONDS = 1.0
_PROVISIONER, _PROVISIONED = "volume.kubernetes.io/storage-provisioner", "pv.kubernetes.io/provisioned-by"
# The replicas of a controller elect one that works.
_leading = threading.Lock()


class UnmadeError(Exception):
    """Why no volume is made, or one is not deleted, as the event says."""


class Provisioning(Local, ABC):
    """The controller of `driver` as long as its pod runs."""

    def __init__(self, launch: Launch, driver: str) -> None:
        self._launch, self._driver = launch, driver
        self._task = f"{driver} {launch.pod_name}"
        launch.world.tasks.run(self._task, self._look)

    def stop(self) -> None:
        self._launch.world.tasks.cancel(self._task)

    @abstractmethod
    def _made(self, name: str, claim: Mapping[str, Any], kind: Mapping[str, Any]) -> Object | None:
        """The PersistentVolume `name` of a volume made for a claim of this class, None while it has to wait. Raises
        UnmadeError.
        """

    def _unmake(self, volume: Mapping[str, Any]) -> None:
        """Deletes what is behind a volume. Raises UnmadeError."""

    def _look(self) -> float:
        world = self._launch.world
        with _leading:
            for claim in world.stores["claims"].all():
                if _wanted(claim, self._driver):
                    self._provision(claim)
            for volume in world.stores["volumes"].all():
                if _unwanted(volume, self._driver):
                    self._delete(volume)
        return LOOK_SECONDS

    def _provision(self, claim: Mapping[str, Any]) -> None:
        world, name = self._launch.world, f"pvc-{claim['metadata']['uid']}"
        kind = world.kube.get("storage.k8s.io/v1", "StorageClass", claim["spec"].get("storageClassName") or "")
        if kind is None or world.kube.get("v1", "PersistentVolume", name) is not None:
            return
        try:
            if (made := self._made(name, claim, kind)) is not None:
                world.kube.create(made)
        except UnmadeError as error:
            said = f'failed to provision volume with StorageClass "{kind["metadata"]["name"]}": {error}'
            world.events.emit(claim, "Warning", "ProvisioningFailed", said, self._driver)
        except ApiError as error:
            if error.code != 409:
                raise

    def _delete(self, volume: Mapping[str, Any]) -> None:
        world = self._launch.world
        try:
            self._unmake(volume)
        except UnmadeError as error:
            world.events.emit(volume, "Warning", "VolumeFailedDelete", str(error), self._driver)
            return
        world.kube.delete({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": volume["metadata"]})


def volume_of(
    name: str, claim: Mapping[str, Any], kind: Mapping[str, Any], csi: Mapping[str, Any], size: str, **more: Any
) -> Object:
    """The PersistentVolume of a claim: `csi` names the driver and its volume, `more` stands in the spec too. Pure."""
    meta, spec = claim["metadata"], claim["spec"]
    ref = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    ref |= {key: meta[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in meta}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {_PROVISIONED: csi["driver"]}},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": size},
            "claimRef": ref,
            "csi": dict(csi),
            "persistentVolumeReclaimPolicy": kind.get("reclaimPolicy") or "Delete",
            "storageClassName": kind["metadata"]["name"],
            "volumeMode": spec.get("volumeMode") or "Filesystem",
            **more,
        },
    }


def _wanted(claim: Mapping[str, Any], driver: str) -> bool:
    """Whether the claim is the driver's, and waits for a volume."""
    notes = claim["metadata"].get("annotations") or {}
    pending = (claim.get("status") or {}).get("phase") == "Pending" and not claim["metadata"].get("deletionTimestamp")
    return pending and notes.get(_PROVISIONER) == driver


def _unwanted(volume: Mapping[str, Any], driver: str) -> bool:
    """Whether the volume was made by the driver, is released, and is to go then."""
    spec, notes = volume["spec"], volume["metadata"].get("annotations") or {}
    released = (volume.get("status") or {}).get("phase") == "Released"
    return released and notes.get(_PROVISIONED) == driver and spec.get("persistentVolumeReclaimPolicy") == "Delete"
