"""Snapshots of Ceph's volumes: what the controller and a driver's sidecar make of one, and a volume that shows it."""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.devices import ceph_csi, snapshots
from rehearsal.devices.snapshots import API, SnapshotController
from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.volumes import volume_key

DRIVER = "rook-ceph.cephfs.csi.ceph.com"
SECRET = "rook-csi-cephfs-provisioner"
Object = dict[str, Any]


class Kube:
    """An API server in memory, as far as these ask it."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], Object] = {}
        self._numbers = itertools.count(1)

    def put(self, kind: str, name: str, namespace: str = "", **content: Any) -> Object:
        meta = {"name": name, "namespace": namespace, "uid": f"u{next(self._numbers)}", **content.pop("metadata", {})}
        self._objects[kind, name] = {"apiVersion": "v1", "kind": kind, "metadata": meta, **content}
        return self._objects[kind, name]

    def get(self, _: str, kind: str, name: str, __: str = "") -> Object | None:
        return self._objects.get((kind, name))

    def list(self, _: str, kind: str) -> list[Object]:
        return [each for (its, _), each in self._objects.items() if its == kind]

    def create(self, obj: Mapping[str, Any]) -> Object:
        more = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
        return self.put(obj["kind"], obj["metadata"]["name"], **more)

    def patch(
        self, _: str, kind: str, name: str, __: str | None, patch: Mapping[str, Any], ___: str | None = None
    ) -> None:
        found = self._objects[kind, name]
        for part, change in patch.items():
            found[part] = {**(found.get(part) or {}), **change}
        if found["metadata"].get("deletionTimestamp") and not found["metadata"].get("finalizers"):
            del self._objects[kind, name]

    def delete(self, obj: Mapping[str, Any]) -> None:
        """As an API server does it: what has finalizers stays until they are taken away."""
        key = (obj["kind"], obj["metadata"]["name"])
        if self._objects[key]["metadata"].get("finalizers"):
            self._objects[key]["metadata"]["deletionTimestamp"] = "now"
        else:
            del self._objects[key]


class Site:
    """A cluster with a claim of 10 GiB on CephFS that holds one file, and the programs that make snapshots."""

    def __init__(self, directory: Path, *, static: bool = False, secret: bool = True) -> None:
        self.kube, self.said = Kube(), list[str]()
        told = {"csi.storage.k8s.io/snapshotter-secret-name": SECRET}
        told["csi.storage.k8s.io/snapshotter-secret-namespace"] = "rook-ceph"
        self.kube.put("VolumeSnapshotClass", "ceph-filesystem", driver=DRIVER, deletionPolicy="Delete", parameters=told)
        provisioner = {
            "csi.storage.k8s.io/provisioner-secret-name": SECRET,
            "csi.storage.k8s.io/provisioner-secret-namespace": "rook-ceph",
            "fsName": "files",
        }
        for name, more in (("ceph-filesystem", {}), ("shallow", {"backingSnapshot": "true"})):
            self.kube.put("StorageClass", name, parameters={**provisioner, **more})
        self.kube.put("CephFilesystem", "files", status={"phase": "Ready"})
        csi = {"driver": DRIVER, "volumeHandle": "live", "volumeAttributes": {"staticVolume": "true"} if static else {}}
        self.live = self.kube.put("PersistentVolume", "pv", spec={"csi": csi, "capacity": {"storage": "10Gi"}})
        self.kube.put("PersistentVolumeClaim", "data", "training", spec={"volumeName": "pv"}, status={"phase": "Bound"})
        self.contents = Contents(directory / "contents")
        self.contents.add(volume_key(self.live), {"datasets/chats/0.jsonl": 7})
        stores = {
            "claims": SimpleNamespace(all=lambda: self.kube.list("", "PersistentVolumeClaim")),
            "volumes": SimpleNamespace(all=lambda: self.kube.list("", "PersistentVolume")),
        }
        world: Any = SimpleNamespace(
            kube=self.kube,
            stores=stores,
            contents=self.contents,
            events=SimpleNamespace(emit=lambda *words: self.said.append(words[3])),
            find=lambda _, name, __: {} if secret and name == SECRET else None,
            tasks=SimpleNamespace(run=lambda _name, look: look(), cancel=lambda _: None),
        )
        pod = {"metadata": {"labels": {"app": f"{DRIVER}-ctrlplugin"}}}
        self._launch: Any = SimpleNamespace(world=world, pod=pod, pod_name="p", namespace="rook-ceph")
        self._controller = SnapshotController.__new__(SnapshotController)
        self._controller._world = world

    def look(self) -> None:
        """A look of everybody: of the controller before and after the driver's."""
        self._controller._reconcile()
        ceph_csi.snapshotter(self._launch)
        self._controller._reconcile()
        ceph_csi.Provisioner(self._launch)

    def take(self) -> Object:
        spec = {"volumeSnapshotClassName": "ceph-filesystem", "source": {"persistentVolumeClaimName": "data"}}
        return self.kube.put("VolumeSnapshot", "state", "training", spec=spec)

    def claim(self, kind: str = "shallow", mode: str = "ReadOnlyMany", size: str = "10Gi") -> None:
        source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "state"}
        spec = {"accessModes": [mode], "storageClassName": kind, "dataSource": source}
        notes = {"annotations": {"volume.kubernetes.io/storage-provisioner": DRIVER}}
        self.kube.put(
            "PersistentVolumeClaim",
            "read",
            "training",
            metadata=notes,
            spec={**spec, "resources": {"requests": {"storage": size}}},
            status={"phase": "Pending"},
        )

    def volumes(self) -> Iterator[Object]:
        return (each for each in self.kube.list("", "PersistentVolume") if each is not self.live)


def test_a_snapshot_is_ready_when_the_driver_has_made_it(tmp_path: Path) -> None:
    site = Site(tmp_path)
    taken = site.take()
    site.look()
    assert taken["status"]["readyToUse"] is True
    assert taken["status"]["restoreSize"] == "10Gi"
    content = site.kube.get(API, "VolumeSnapshotContent", taken["status"]["boundVolumeSnapshotContentName"])
    assert content is not None
    assert content["spec"]["source"] == {"volumeHandle": "live"}
    assert site.said == [
        "Waiting for a snapshot training/state to be created by the CSI driver.",
        "Snapshot training/state is ready to use.",
    ]


def test_a_volume_of_a_snapshot_holds_what_was_there_then(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.take()
    site.look()
    site.contents.add(volume_key(site.live), {"datasets/chats/1.jsonl": 9})
    site.claim()
    site.look()
    (made,) = site.volumes()
    assert site.contents.under(volume_key(made), "") == {"datasets/chats/0.jsonl": 7}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"static": True}, "failed to take snapshot of the volume live"),
        ({"secret": False}, f'secrets "{SECRET}" not found'),
    ],
)
def test_a_driver_makes_none_of_static_volumes_nor_without_rights(
    tmp_path: Path, facts: dict[str, bool], words: str
) -> None:
    site = Site(tmp_path, **facts)
    taken = site.take()
    site.look()
    assert taken["status"]["readyToUse"] is False
    assert words in taken["status"]["error"]["message"]


def test_without_its_claim_there_is_none_and_a_reason(tmp_path: Path) -> None:
    site = Site(tmp_path)
    taken = site.take()
    taken["spec"]["source"]["persistentVolumeClaimName"] = "other"
    site.look()
    assert "cannot get claim from snapshot" in taken["status"]["error"]["message"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"mode": "ReadWriteMany"}, "only read-only access modes"),
        ({"size": "9Gi"}, "is less than the size"),
    ],
)
def test_what_a_snapshot_does_not_give_is_refused(tmp_path: Path, asked: dict[str, str], words: str) -> None:
    site = Site(tmp_path)
    site.take()
    site.look()
    site.claim(**asked)
    site.look()
    assert list(site.volumes()) == []
    assert words in site.said[-1]


def test_a_claim_waits_for_its_snapshot(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.claim()
    site.look()
    assert 'volumesnapshots.snapshot.storage.k8s.io "state" not found' in site.said[-1]


def test_what_is_taken_away_goes_with_what_the_driver_made(tmp_path: Path) -> None:
    site = Site(tmp_path)
    taken = site.take()
    site.look()
    assert taken["metadata"]["finalizers"] == snapshots.FINALIZERS
    site.kube.delete(taken)
    site.look()
    assert site.kube.list(API, "VolumeSnapshot") == site.kube.list(API, "VolumeSnapshotContent") == []


@pytest.mark.parametrize(("spec", "has"), [({}, True), ({"snapshotPolicy": "none"}, False)])
def test_a_driver_whose_policy_is_none_has_no_sidecar(spec: dict[str, str], has: bool) -> None:
    meta = {"name": DRIVER, "namespace": "rook-ceph", "uid": "2"}
    driver = {"apiVersion": "csi.ceph.io/v1", "kind": "Driver", "metadata": meta, "spec": spec}
    *_, deployment = ceph_csi.objects(driver, {})
    names = [each["name"] for each in deployment["spec"]["template"]["spec"]["containers"]]
    assert ("csi-snapshotter" in names) == has
