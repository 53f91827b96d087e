"""The local volume provisioner on its node: each mount point below the directory of a class is a volume.

Source: kubernetes-sigs/sig-storage-local-static-provisioner v2.9, pkg/discovery/discovery.go (a class must be there and
says what becomes of a volume; names; capacity in whole GiB; the node by its host name) and pkg/deleter/deleter.go (what
is released is emptied, which takes no time here, deleted, and offered anew).
"""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from rehearsal.devices.daemons import RETRY_SECONDS, Daemon
from rehearsal.kube.client import ApiError
from rehearsal.kubelet.hosts import Racked
from rehearsal.kubelet.program import Launch, Program

GB, GIB = 10**9, 2**30
HASH, PRIME, WORD = 0x811C9DC5, 0x01000193, 0xFFFFFFFF
PROVISIONED = "pv.kubernetes.io/provisioned-by"


def provisioner(launch: Launch) -> Program:
    """Makes the volumes that are not there yet, and takes away those that are released, again and again."""

    def begin() -> float | None:
        host = launch.world.hosts.get(launch.node)
        for volume in launch.world.stores["volumes"].all():
            if released(volume, launch.node):
                launch.world.kube.delete(
                    {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": volume["metadata"]}
                )
        for volume in volumes(launch, host) if isinstance(host, Racked) else ():
            if launch.world.find("volumes", volume["metadata"]["name"]) is None:
                _create(launch, volume)
        return RETRY_SECONDS

    return Daemon(launch, begin)


def released(volume: Mapping[str, Any], node: str) -> bool:
    """Whether the volume is the node's, was claimed by somebody who is gone, and is not to be kept as it is. Pure."""
    spec, notes = volume["spec"], volume["metadata"].get("annotations") or {}
    ours = notes.get(PROVISIONED) == _maker(node) and spec.get("persistentVolumeReclaimPolicy") == "Delete"
    return ours and (volume.get("status") or {}).get("phase") == "Released"


def _maker(node: str) -> str:
    return f"local-volume-provisioner-{node}"


def _create(launch: Launch, volume: Mapping[str, Any]) -> None:
    try:
        launch.world.kube.create(dict(volume))
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise


def volumes(launch: Launch, host: Racked) -> Iterator[dict[str, Any]]:
    """The volumes of the node, of each class that there is."""
    for name, told in _classes(launch).items():
        kind = launch.world.kube.get("storage.k8s.io/v1", "StorageClass", name)
        if kind is None:
            continue
        for path in host.mounts:
            if posixpath.dirname(path) == told["hostDir"].rstrip("/"):
                yield _volume(host, path, name, str(kind.get("reclaimPolicy") or "Delete"))


def _classes(launch: Launch) -> Mapping[str, Any]:
    named = [each["configMap"]["name"] for each in launch.pod["spec"].get("volumes") or [] if each.get("configMap")]
    for name in named:
        config = launch.world.find("configmaps", name, launch.namespace)
        if text := ((config or {}).get("data") or {}).get("storageClassMap"):
            return dict(yaml.safe_load(text) or {})
    return {}


def _volume(host: Racked, path: str, name: str, reclaim: str) -> dict[str, Any]:
    capacity = host.machine.local_nvme * GB // GIB
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [host.node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": f"local-pv-{fnv(posixpath.basename(path) + host.node + name):x}",
            "annotations": {PROVISIONED: _maker(host.node)},
        },
        "spec": {
            "capacity": {"storage": f"{capacity}Gi"},
            "volumeMode": "Filesystem",
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": reclaim,
            "storageClassName": name,
            "local": {"path": path},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        },
    }


def fnv(text: str) -> int:
    """The 32-bit FNV-1a hash of a text. Pure."""
    found = HASH
    for byte in text.encode():
        found = (found ^ byte) * PRIME & WORD
    return found
