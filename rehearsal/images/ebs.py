"""The controller of the EBS CSI driver: makes a volume for a claim whose pod has a node, and deletes it afterwards.

Source: aws-ebs-csi-driver, pkg/driver/controller.go and cloud.go (CreateVolume, DeleteVolume, tags, the zone as the
volume's topology) and kubernetes-csi/external-provisioner (which claims, names of volumes, events, what happens to a
released volume whose policy is Delete). What its role may do with EC2 is not looked at here, only that it has one; nor
are volumes attached to machines.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from rehearsal.images import identity
from rehearsal.kube.client import ApiError
from rehearsal.kube.quantities import parse
from rehearsal.kubelet.program import Launch, Program

DRIVER = "ebs.csi.aws.com"
ZONE = "topology.kubernetes.io/zone"
LOOK_SECONDS = 1.0
_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
_NODE = "volume.kubernetes.io/selected-node"
_PROVISIONED = "pv.kubernetes.io/provisioned-by"
_GIB = 1 << 30
# The replicas of the controller elect one that works.
_leading = threading.Lock()


class Controller(Program):
    """Looks after claims and released volumes as long as its pod runs."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._task = f"{DRIVER} {launch.pod_name}"
        launch.world.tasks.run(self._task, self._look)

    def stop(self) -> None:
        self._launch.world.tasks.cancel(self._task)

    def close(self) -> None:
        self.stop()

    def _look(self) -> float:
        stores = self._launch.world.stores
        with _leading:
            for claim in stores["claims"].all():
                if wanted(claim):
                    self._provision(claim)
            for volume in stores["volumes"].all():
                if unwanted(volume):
                    self._delete(volume)
        return LOOK_SECONDS

    def _provision(self, claim: Mapping[str, Any]) -> None:
        world, meta = self._launch.world, claim["metadata"]
        name = f"pvc-{meta['uid']}"
        kind = world.kube.get("storage.k8s.io/v1", "StorageClass", claim["spec"].get("storageClassName") or "")
        node = world.find("nodes", meta["annotations"].get(_NODE) or "")
        if kind is None or node is None or world.kube.get("v1", "PersistentVolume", name) is not None:
            return
        try:
            identity.of(self._launch)
            made = self._create(claim, kind, node["metadata"]["labels"][ZONE])
        except (identity.CredentialsError, BotoCoreError, ClientError) as error:
            said = f'failed to provision volume with StorageClass "{kind["metadata"]["name"]}": rpc error: {error}'
            world.events.emit(claim, "Warning", "ProvisioningFailed", said, DRIVER)
            return
        try:
            world.kube.create(persistent_volume(name, claim, kind, made))
        except ApiError as error:
            if error.code != 409:
                raise

    def _create(self, claim: Mapping[str, Any], kind: Mapping[str, Any], zone: str) -> Mapping[str, Any]:
        world, meta, parameters = self._launch.world, claim["metadata"], kind.get("parameters") or {}
        encrypted = parameters.get("encrypted") == "true"
        key = {"KmsKeyId": parameters["kmsKeyId"]} if encrypted and parameters.get("kmsKeyId") else {}
        tags = {
            "ebs.csi.aws.com/cluster": "true",
            "CSIVolumeName": f"pvc-{meta['uid']}",
            "kubernetes.io/created-for/pvc/name": meta["name"],
            "kubernetes.io/created-for/pvc/namespace": meta["namespace"],
            f"kubernetes.io/cluster/{world.cluster}": "owned",
            **asked_tags(parameters),
        }
        found: Mapping[str, Any] = world.aws.ec2.create_volume(
            AvailabilityZone=zone,
            Size=gib(claim),
            VolumeType=parameters.get("type") or "gp3",
            Encrypted=encrypted,
            TagSpecifications=[
                {"ResourceType": "volume", "Tags": [{"Key": name, "Value": value} for name, value in tags.items()]}
            ],
            **key,
        )
        return found

    def _delete(self, volume: Mapping[str, Any]) -> None:
        world = self._launch.world
        try:
            identity.of(self._launch)
            world.aws.ec2.delete_volume(VolumeId=volume["spec"]["csi"]["volumeHandle"])
        except ClientError as error:
            if error.response["Error"]["Code"] != "InvalidVolume.NotFound":
                world.events.emit(volume, "Warning", "VolumeFailedDelete", str(error), DRIVER)
                return
        except (identity.CredentialsError, BotoCoreError) as error:
            world.events.emit(volume, "Warning", "VolumeFailedDelete", str(error), DRIVER)
            return
        world.kube.delete({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": volume["metadata"]})


def asked_tags(parameters: Mapping[str, str]) -> dict[str, str]:
    """The tags that a storage class asks for: tagSpecification_1: key=value (the driver's docs/tagging.md). Pure."""
    asked = (value for name, value in sorted(parameters.items()) if name.startswith("tagSpecification_"))
    return {key: value for key, _, value in (each.partition("=") for each in asked)}


def wanted(claim: Mapping[str, Any]) -> bool:
    """Whether the claim is the driver's, and waits for a volume in a zone that is known. Pure."""
    notes = claim["metadata"].get("annotations") or {}
    pending = (claim.get("status") or {}).get("phase") == "Pending" and not claim["metadata"].get("deletionTimestamp")
    return pending and notes.get(_PROVISIONER) == DRIVER and bool(notes.get(_NODE))


def unwanted(volume: Mapping[str, Any]) -> bool:
    """Whether the volume was made by the driver, is released, and is to go then. Pure."""
    spec, notes = volume["spec"], volume["metadata"].get("annotations") or {}
    released = (volume.get("status") or {}).get("phase") == "Released"
    return released and notes.get(_PROVISIONED) == DRIVER and spec.get("persistentVolumeReclaimPolicy") == "Delete"


def gib(claim: Mapping[str, Any]) -> int:
    """The claim's size in GiB, rounded up as the driver does. Pure."""
    return math.ceil(parse(claim["spec"]["resources"]["requests"]["storage"]) / _GIB)


def persistent_volume(
    name: str, claim: Mapping[str, Any], kind: Mapping[str, Any], made: Mapping[str, Any]
) -> dict[str, Any]:
    """The object for an EBS volume, which nodes of its zone alone can mount. Pure."""
    meta, spec = claim["metadata"], claim["spec"]
    owner = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    owner |= {key: meta[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in meta}
    here = {"key": ZONE, "operator": "In", "values": [made["AvailabilityZone"]]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {_PROVISIONED: DRIVER}},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": f"{made['Size']}Gi"},
            "claimRef": owner,
            "csi": {
                "driver": DRIVER,
                "fsType": (kind.get("parameters") or {}).get("csi.storage.k8s.io/fstype") or "ext4",
                "volumeHandle": made["VolumeId"],
            },
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
            "persistentVolumeReclaimPolicy": kind.get("reclaimPolicy") or "Delete",
            "storageClassName": kind["metadata"]["name"],
            "volumeMode": spec.get("volumeMode") or "Filesystem",
        },
    }
