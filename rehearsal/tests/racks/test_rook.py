"""What Rook makes of a cluster, and what Ceph says of itself with it; volumes that its drivers make."""

from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.devices import ceph_csi, rook_objects
from rehearsal.kubelet.volumes import volume_key

RULE = {"key": "role", "operator": "In", "values": ["storage"]}
PLACED = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [RULE]}]}
    },
    "tolerations": [{"key": "role", "operator": "Exists"}],
}


def cluster(**spec: Any) -> dict[str, Any]:
    told = {
        "cephVersion": {"image": "ceph:v20"},
        "mon": {"count": 3},
        "mgr": {"count": 2},
        "placement": {"all": PLACED},
        "resources": {"osd": {"limits": {"memory": "8Gi"}}},
    }
    meta = {"name": "rook-ceph", "namespace": "rook-ceph", "uid": "1"}
    return {"apiVersion": "ceph.rook.io/v1", "kind": "CephCluster", "metadata": meta, "spec": {**told, **spec}}


def test_daemons_stand_where_they_may_and_osds_at_their_drives() -> None:
    assert rook_objects.takes(cluster(), {"role": "storage"})
    assert not rook_objects.takes(cluster(), {"role": "training"})
    assert rook_objects.takes(cluster(placement={}), {})
    drives = [("a", "/dev/x"), ("a", "/dev/y"), ("b", "/dev/x")]
    made = {each["metadata"]["name"]: each for each in rook_objects.daemons(cluster(), ["a", "b"], drives)}
    assert sorted(made) == [
        "rook-ceph-mgr-a",
        "rook-ceph-mgr-b",
        "rook-ceph-mon-a",
        "rook-ceph-mon-b",
        "rook-ceph-osd-0",
        "rook-ceph-osd-1",
        "rook-ceph-osd-2",
    ]
    pod = made["rook-ceph-osd-2"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"kubernetes.io/hostname": "b"}
    assert pod["tolerations"] == PLACED["tolerations"]
    assert pod["containers"][0]["resources"] == {"limits": {"memory": "8Gi"}}
    assert pod["containers"][0]["env"] == [{"name": "ROOK_BLOCK_PATH", "value": "/dev/x"}]


@pytest.mark.parametrize(
    ("facts", "codes"),
    [
        ((3, 3, 6, 6, [{"replicated": {"size": 3}}], 3), []),
        ((2, 3, 6, 6, [], 3), ["MON_DOWN"]),
        ((3, 3, 5, 6, [], 3), ["OSD_DOWN"]),
        ((3, 3, 2, 2, [], 2), ["TOO_FEW_OSDS"]),
        ((3, 3, 6, 6, [{"replicated": {"size": 3}}], 2), ["PG_DEGRADED"]),
        ((3, 3, 6, 6, [{"erasureCoded": {"dataChunks": 4, "codingChunks": 2}}], 5), ["PG_DEGRADED"]),
    ],
)
def test_ceph_complains_of_what_is_missing(facts: tuple[Any, ...], codes: list[str]) -> None:
    assert list(rook_objects.health(*facts)) == codes


def test_rook_calls_a_cluster_ready_that_ceph_calls_unwell() -> None:
    """Who waits for the phase alone goes on with too few drives."""
    health = rook_objects.health(3, 3, 0, 0, [], 0)
    status = rook_objects.cluster_status(cluster(), ready=True, health=health, osds=0)
    assert (status["phase"], status["ceph"]["health"]) == ("Ready", "HEALTH_WARN")
    assert status["ceph"]["details"]["TOO_FEW_OSDS"]["message"] == "OSD count 0 < osd_pool_default_size 3"
    assert status["ceph"]["details"]["OSD_DOWN"] is None
    assert rook_objects.cluster_status(cluster(), ready=False, health=health, osds=0)["phase"] == "Progressing"


def driver(name: str, **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "rook-ceph", "uid": "2"}
    return {"apiVersion": "csi.ceph.io/v1", "kind": "Driver", "metadata": meta, "spec": spec}


def test_a_driver_is_a_daemon_a_deployment_and_their_registration() -> None:
    told = {"nodePlugin": {"tolerations": [{"key": "nvidia.com/gpu"}]}, "controllerPlugin": {"replicas": 2}}
    images = {"plugin": "cephcsi:v3", "provisioner": "csi-provisioner:v6"}
    found = list(ceph_csi.objects(driver("rook-ceph.cephfs.csi.ceph.com", **told), images))
    assert [each["kind"] for each in found] == ["CSIDriver", "DaemonSet", "Deployment"]
    node = found[1]["spec"]["template"]["spec"]
    assert node["tolerations"] == [{"key": "nvidia.com/gpu"}]
    assert node["containers"][0] == {
        "name": "csi-cephfsplugin",
        "image": "cephcsi:v3",
        "args": ["--drivername=rook-ceph.cephfs.csi.ceph.com"],
    }
    assert found[2]["spec"]["replicas"] == 2
    assert list(ceph_csi.objects(driver("example.com"), images)) == []


CLASS = {
    "metadata": {"name": "ceph-block"},
    "reclaimPolicy": "Delete",
    "parameters": {
        "clusterID": "rook-ceph",
        "pool": "volumes",
        "csi.storage.k8s.io/provisioner-secret-name": "s",
        "csi.storage.k8s.io/provisioner-secret-namespace": "rook-ceph",
    },
}
NAME = "rook-ceph.rbd.csi.ceph.com"
CLAIM = {
    "metadata": {
        "name": "data",
        "namespace": "ns",
        "uid": "u1",
        "annotations": {"volume.kubernetes.io/storage-provisioner": NAME},
    },
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "ceph-block",
        "resources": {"requests": {"storage": "10Gi"}},
    },
    "status": {"phase": "Pending"},
}


class World:
    """A cluster with one claim, and what a driver needs of Rook."""

    def __init__(self, *, secret: bool, pool: str) -> None:
        self.made: list[dict[str, Any]] = []
        self.said: list[str] = []
        self._secret, self._pool = secret, pool
        self.stores = {"claims": SimpleNamespace(all=lambda: [CLAIM]), "volumes": SimpleNamespace(all=list)}
        self.tasks = SimpleNamespace(run=lambda _name, look: look(), cancel=lambda _: None)
        self.events = SimpleNamespace(emit=lambda *words: self.said.append(words[3]))
        self.kube = self

    def get(self, _: str, kind: str, *__: str) -> dict[str, Any] | None:
        pool = {"status": {"phase": self._pool}} if self._pool else None
        return {"StorageClass": CLASS, "CephBlockPool": pool}.get(kind)

    def find(self, *_: str) -> dict[str, Any] | None:
        return {} if self._secret else None

    def create(self, obj: dict[str, Any]) -> None:
        self.made.append(obj)


def provisioned(world: World) -> World:
    labels = {"app": f"{NAME}-ctrlplugin"}
    launch: Any = SimpleNamespace(world=world, pod={"metadata": {"labels": labels}}, pod_name="p")
    ceph_csi.Provisioner(launch)
    return world


def test_a_claim_gets_a_volume_that_every_node_mounts() -> None:
    (made,) = provisioned(World(secret=True, pool="Ready")).made
    assert made["spec"]["csi"]["driver"] == NAME
    assert made["spec"]["claimRef"]["name"] == "data"
    assert "nodeAffinity" not in made["spec"]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"secret": False, "pool": "Ready"}, 'secrets "s" not found'),
        ({"secret": True, "pool": ""}, "pool 'volumes' not found"),
        ({"secret": True, "pool": "Progressing"}, "pool 'volumes' not found"),
    ],
)
def test_without_rights_or_a_pool_there_is_none_and_a_reason(facts: dict[str, Any], words: str) -> None:
    world = provisioned(World(**facts))
    assert world.made == []
    assert words in world.said[0]


def test_static_volumes_of_one_directory_hold_the_same_files() -> None:
    def volume(handle: str, **told: str) -> dict[str, Any]:
        csi = {"driver": "d", "volumeHandle": handle, "volumeAttributes": told}
        return {"metadata": {"name": handle}, "spec": {"csi": csi}}

    shared = {"staticVolume": "true", "fsName": "files", "rootPath": "/volumes/shared"}
    assert volume_key(volume("one", **shared)) == volume_key(volume("two", **shared))
    assert volume_key(volume("one", **shared)) != volume_key(volume("one", **{**shared, "rootPath": "/other"}))
    assert volume_key(volume("one")) != volume_key(volume("two"))
