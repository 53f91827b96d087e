"""Ceph on racked hosts: drives that are let through become OSDs, and volumes, files and a bucket come of them.

Hosts are namespaces of this machine; where it lacks what they take, the tests are skipped and say what that is.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from rehearsal.metal.lacking import missing
from tests.stacks.ceph_stack import DISKS, SERIALS, SERVERS, with_ceph

from .rehearsed import Rehearsed, operations, rehearsed, until
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

LACKING = missing()
NAMESPACE, API = "rook-ceph", "ceph.rook.io/v1"
SNAPSHOTS = "snapshot.storage.k8s.io/v1"


def small(**hosts: Any) -> str:
    """The stack with two GPU machines, and nothing that runs on them."""
    config = with_ceph(hosts=hosts)
    inventory = config["gpucluster:inventory"]
    for each in inventory["hosts"]:
        if each.get("pool") == "training":
            each |= {"name": "dgx-[01-02]", "address": "10.20.0.[21-22]", "bmc": "10.20.4.[21-22]", "racks": "r[1-2]"}
            each |= {"units": [2], **{key: each[key][:2] for key in ("hostKeys", "serials", "allowFormat")}}
    config["gpucluster:pools"][1] |= {"count": 2, "maxCount": 2}
    config["gpucluster:training"] = {}
    return yaml.safe_dump({"config": config})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    if LACKING:
        pytest.skip(LACKING)
    directory = tmp_path_factory.mktemp("ceph")
    tree = Tree.copy(directory / "tree")
    tree.write("Pulumi.metal.yaml", small(allowFormat=SERIALS[:2]))
    with rehearsed("metal", tree, directory / "state", "metal") as made:
        yield made


def test_a_drive_that_may_not_be_formatted_keeps_its_machine_out(site: Rehearsed) -> None:
    failed = site.up()
    assert failed.status != 0
    assert f"would become Ceph's: allow it with allowFormat and this host's serial, {SERIALS[2]}" in failed.explain()
    assert "osd-3" not in {each["metadata"]["name"] for each in site.kube.list("v1", "Node")}


def test_with_every_drive_it_is_well_and_the_platform_has_its_storage(site: Rehearsed) -> None:
    site.tree.write("Pulumi.metal.yaml", small())
    site.up().require()
    (cluster,) = site.kube.list(API, "CephCluster", namespace=NAMESPACE)
    assert cluster["status"]["ceph"] == {"health": "HEALTH_OK", "details": {}}
    assert cluster["status"]["storage"]["osd"]["storeType"] == {"bluestore": 3 * len(DISKS)}
    pods = site.kube.list("v1", "Pod", namespace=NAMESPACE, label_selector="app=rook-ceph-osd")
    assert {each["spec"]["nodeName"] for each in pods} == set(SERVERS)
    for kind in ("CephBlockPool", "CephFilesystem", "CephFilesystemSubVolumeGroup", "CephObjectStore"):
        (found,) = site.kube.list(API, kind, namespace=NAMESPACE)
        assert found["status"]["phase"] == "Ready", kind
    (claim,) = site.kube.list("objectbucket.io/v1alpha1", "ObjectBucketClaim", namespace=NAMESPACE)
    assert claim["status"]["phase"] == "Bound"


def test_a_claim_gets_a_volume_and_files_are_mounted_on_gpu_machines(site: Rehearsed) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "tried", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}},
    }
    site.kube.create(claim)

    def bound() -> dict[str, Any] | None:
        found = site.kube.get("v1", "PersistentVolumeClaim", "tried", "default") or {}
        return found if (found.get("status") or {}).get("phase") == "Bound" else None

    made = until(bound, "the claim to be bound")
    assert made["spec"]["storageClassName"] == "ceph-block", "the default class"
    registered = {
        each["metadata"]["name"]: {driver["name"] for driver in each["spec"].get("drivers") or []}
        for each in site.kube.list("storage.k8s.io/v1", "CSINode")
    }
    for node in ("dgx-01", "dgx-02", "cp-1"):
        assert {"rook-ceph.rbd.csi.ceph.com", "rook-ceph.cephfs.csi.ceph.com"} <= registered[node]
    site.kube.delete({**claim, "metadata": made["metadata"]})


def test_a_snapshot_of_a_claim_is_read_by_another_claim(site: Rehearsed) -> None:
    """As a dataset's is: `training.datasets[].snapshot`, whose copy no rehearsed machine makes."""

    def claim(name: str, kind: str, mode: str, **more: Any) -> dict[str, Any]:
        spec = {"accessModes": [mode], "storageClassName": kind, "resources": {"requests": {"storage": "10Gi"}}, **more}
        meta = {"name": name, "namespace": "default"}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}

    def bound(name: str) -> dict[str, Any] | None:
        found = site.kube.get("v1", "PersistentVolumeClaim", name, "default") or {}
        return found if (found.get("status") or {}).get("phase") == "Bound" else None

    def ready() -> dict[str, Any] | None:
        found = site.kube.get(SNAPSHOTS, "VolumeSnapshot", "then", "default") or {}
        return found if (found.get("status") or {}).get("readyToUse") else None

    live = claim("live", "ceph-filesystem", "ReadWriteMany")
    site.kube.create(live)
    until(lambda: bound("live"), "the claim to be bound")
    spec = {"volumeSnapshotClassName": "ceph-filesystem", "source": {"persistentVolumeClaimName": "live"}}
    meta = {"name": "then", "namespace": "default"}
    taken = {"apiVersion": SNAPSHOTS, "kind": "VolumeSnapshot", "metadata": meta, "spec": spec}
    site.kube.create(taken)
    assert until(ready, "the snapshot to be ready")["status"]["restoreSize"] == "10Gi"
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "then"}
    read = claim("read", "ceph-filesystem-snapshot", "ReadOnlyMany", dataSource=source)
    site.kube.create(read)
    volume = site.kube.get("v1", "PersistentVolume", until(lambda: bound("read"), "the claim")["spec"]["volumeName"])
    assert volume is not None
    assert volume["spec"]["csi"]["driver"] == "rook-ceph.cephfs.csi.ceph.com"
    for each in (read, taken, live):
        site.kube.delete(each)
    until(lambda: not site.kube.list(SNAPSHOTS, "VolumeSnapshotContent"), "what the driver made to go")


def test_a_second_up_changes_nothing_and_down_leaves_the_drives(site: Rehearsed) -> None:
    assert operations(site.up()) == []
    site.destroy().require()
