"""A Ceph cluster by Rook, on machines and drives that are named: volumes, files and objects (G09, G10, G11)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.metal import ceph_specs
from components.metal.ceph_specs import CephSpec
from components.metal.object_store import StoreKey, StoreKeyArgs
from components.metal.rook import CEPHFS, NAMESPACE, RBD
from components.platform.kubectl import KubectlJobArgs, kubectl_job, rights
from components.platform.snapshot_controller import SnapshotClass

API = "ceph.rook.io/v1"
CLUSTER, POOL, FILES, SHARED = "rook-ceph", "volumes", "files", "shared"
"""Names of the cluster, the pool of volumes, the file system, and the part of it that all namespaces share."""

BLOCK_CLASS, FILE_CLASS, BUCKET_CLASS = "ceph-block", "ceph-filesystem", "ceph-bucket"
READ_CLASS = "ceph-filesystem-snapshot"
"""Volumes that are a snapshot of files themselves, and no copy of it."""
USER = "gpucluster"
READY = {"pulumi.com/waitFor": "jsonpath={.status.phase}=Ready"}
BOUND = {"pulumi.com/waitFor": "jsonpath={.status.phase}=Bound"}
READ = ("get", "list", "watch")
PATIENCE = "--timeout=300s"
MINUTES = 45
"""Six tries of five minutes, and the pauses between them."""


@dataclass(frozen=True, kw_only=True)
class ObjectsSpec:
    """The object store `name` with one `bucket`, of a user whose key is known before. It answers at `port`."""

    name: str
    port: int
    bucket: str
    key_id: pulumi.Input[str]
    key: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class CephArgs:
    """`image` has kubectl. `operators` make the cluster, and take it apart: they must outlive it. Its `nodes` are there
    when it begins. `snapshots` shows that snapshots are made.
    """

    namespace: pulumi.Input[str]
    spec: CephSpec
    image: str
    objects: ObjectsSpec | None
    operators: Sequence[pulumi.Resource]
    nodes: pulumi.Resource
    snapshots: pulumi.Resource


@dataclass(frozen=True, kw_only=True)
class FileClasses:
    """Names of the classes of files, of their snapshots, and of volumes that are one, each once it is there."""

    files: pulumi.Output[str]
    taken: pulumi.Output[str]
    read: pulumi.Output[str]


class Ceph(Component):
    """The cluster. `healthy` exists when Ceph has every drive and says that all is well, `block` is its storage class,
    the default one, `shared` what files shared by all namespaces need, `classes` those of other files, and `bucket`
    resolves when it may be used.
    """

    healthy: k8s.batch.v1.Job
    block: pulumi.Output[str]
    shared: pulumi.Resource
    classes: FileClasses
    bucket: pulumi.Output[str] | None

    def __init__(self, name: str, args: CephArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._args = args
        cluster = self._object(
            "cluster", "CephCluster", CLUSTER, ceph_specs.cluster(args.spec), [*args.operators, args.nodes]
        )
        self.healthy = self._wait(cluster)
        self.block = self._volumes()
        self.shared, self.classes = self._files()
        self.bucket = self._objects(args.objects) if args.objects else None
        self.register_outputs({"storageClass": self.block})

    def _object(
        self,
        role: str,
        kind: str,
        name: str,
        spec: Mapping[str, Any],
        after: Sequence[pulumi.Resource],
        *,
        api: str = API,
        annotations: Mapping[str, str] = READY,
    ) -> k8s.apiextensions.CustomResource:
        time = f"{MINUTES}m"
        return k8s.apiextensions.CustomResource(
            self.named(role),
            api_version=api,
            kind=kind,
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=name, namespace=self._args.namespace, annotations=dict(annotations)
            ),
            spec=dict(spec),
            opts=self.child(
                depends_on=list(after), custom_timeouts=pulumi.CustomTimeouts(create=time, update=time, delete=time)
            ),
        )

    def _wait(self, cluster: pulumi.Resource) -> k8s.batch.v1.Job:
        """A cluster is `Ready` for Rook when its daemons were begun, with however few drives. Where a wait fails, what
        `details` said is what Ceph complains of.
        """
        named = f"cephclusters.ceph.rook.io/{CLUSTER}"
        drives = sum(len(disks) for disks in self._args.spec.disks.values())
        job = KubectlJobArgs(
            namespace=self._args.namespace,
            image=self._args.image,
            rights=[rights("ceph.rook.io", "cephclusters", READ, [CLUSTER])],
            commands={
                "drives": [
                    "wait",
                    f"--for=jsonpath={{.status.storage.osd.storeType.bluestore}}={drives}",
                    PATIENCE,
                    named,
                ],
                "healthy": ["wait", "--for=jsonpath={.status.ceph.health}=HEALTH_OK", PATIENCE, named],
                "details": ["get", named, "--output=jsonpath={.status.storage.osd} {.status.ceph.details}"],
            },
            minutes=MINUTES,
            revision=f"{self._args.spec.image} {self._args.spec.disks}",
            after=[cluster],
        )
        return kubectl_job(self, "wait", job)

    def _class(
        self, role: str, name: str, provisioner: str, parameters: Mapping[str, str], after: pulumi.Resource
    ) -> k8s.storage.v1.StorageClass:
        buckets, grows = name == BUCKET_CLASS, name in (BLOCK_CLASS, FILE_CLASS)
        default = {"storageclass.kubernetes.io/is-default-class": "true"} if name == BLOCK_CLASS else {}
        return k8s.storage.v1.StorageClass(
            self.named(role),
            metadata=k8s.meta.v1.ObjectMetaArgs(name=name, annotations=default),
            provisioner=provisioner,
            parameters=dict(parameters),
            reclaim_policy="Retain" if buckets else "Delete",
            allow_volume_expansion=grows,
            opts=self.child(depends_on=[after]),
        )

    def _volumes(self) -> pulumi.Output[str]:
        pool = self._object("pool", "CephBlockPool", POOL, ceph_specs.copied(self._args.spec), [self.healthy])
        parameters = {
            "pool": POOL,
            "imageFormat": "2",
            "imageFeatures": "layering",
            "csi.storage.k8s.io/fstype": "ext4",
        }
        made = self._class("block", BLOCK_CLASS, RBD, {**parameters, **_secrets("rbd")}, pool)
        self._snapshots("rbd", BLOCK_CLASS, RBD, pool)
        return made.metadata.name.apply(str)

    def _snapshots(self, kind: str, name: str, driver: str, after: pulumi.Resource) -> SnapshotClass:
        """The class of snapshots of volumes of the class `name`, which go when their objects do."""
        parameters = {
            "clusterID": NAMESPACE,
            "csi.storage.k8s.io/snapshotter-secret-name": f"rook-csi-{kind}-provisioner",
            "csi.storage.k8s.io/snapshotter-secret-namespace": NAMESPACE,
        }
        opts = self.child(depends_on=[after, self._args.snapshots])
        return SnapshotClass(self.named(f"{kind}-snapshots"), name, driver, parameters, opts)

    def _files(self) -> tuple[pulumi.Resource, FileClasses]:
        spec = self._args.spec
        made = self._object("files", "CephFilesystem", FILES, ceph_specs.filesystem(spec), [self.healthy])
        pool = f"{FILES}-{ceph_specs.DATA if spec.erasure else ceph_specs.METADATA}"
        whose = {"fsName": FILES, **_secrets("cephfs")}
        files = self._class("filesystem", FILE_CLASS, CEPHFS, {"pool": pool, **whose}, made)
        read = self._class("snapshot", READ_CLASS, CEPHFS, {"backingSnapshot": "true", **whose}, made)
        taken = self._snapshots("cephfs", FILE_CLASS, CEPHFS, made)
        classes = FileClasses(
            files=files.metadata.name.apply(str),
            taken=taken.id.apply(lambda _: FILE_CLASS),
            read=read.metadata.name.apply(str),
        )
        group = {"name": SHARED, "filesystemName": FILES, "dataPoolName": pool}
        return self._object("shared", "CephFilesystemSubVolumeGroup", f"{FILES}-{SHARED}", group, [made]), classes

    def _objects(self, objects: ObjectsSpec) -> pulumi.Output[str]:
        store = self._object(
            "objects",
            "CephObjectStore",
            objects.name,
            ceph_specs.object_store(self._args.spec, objects.port),
            [self.healthy],
        )
        key = StoreKey(
            self.named("key"),
            StoreKeyArgs(namespace=self._args.namespace, key_id=objects.key_id, key=objects.key),
            self.child(),
        ).kept
        reference = {
            "accessKeyRef": {"name": key, "key": "id"},
            "secretKeyRef": {"name": key, "key": "key"},
        }
        spec = {"store": objects.name, "displayName": "workloads of gpucluster", "keys": [reference]}
        user = self._object("user", "CephObjectStoreUser", USER, spec, [store])
        where = {"objectStoreName": objects.name, "objectStoreNamespace": NAMESPACE}
        kind = self._class("buckets", BUCKET_CLASS, f"{NAMESPACE}.ceph.rook.io/bucket", where, store)
        wanted = {
            "storageClassName": kind.metadata.name,
            "bucketName": objects.bucket,
            "additionalConfig": {"bucketOwner": USER},
        }
        claim = self._object(
            "bucket",
            "ObjectBucketClaim",
            objects.bucket,
            wanted,
            [user],
            api="objectbucket.io/v1alpha1",
            annotations=BOUND,
        )
        return claim.id.apply(lambda _: objects.bucket)


def _secrets(driver: str) -> dict[str, str]:
    """Whose rights the driver has in Ceph: Rook makes these Secrets (pkg/operator/ceph/csi/secrets.go)."""
    told = {"clusterID": NAMESPACE}
    for part, whose in (
        ("provisioner", "provisioner"),
        ("controller-expand", "provisioner"),
        ("controller-publish", "provisioner"),
        ("node-stage", "node"),
    ):
        told[f"csi.storage.k8s.io/{part}-secret-name"] = f"rook-csi-{driver}-{whose}"
        told[f"csi.storage.k8s.io/{part}-secret-namespace"] = NAMESPACE
    return told
