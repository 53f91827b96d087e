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

API = "ceph.rook.io/v1"
CLUSTER, POOL, FILES, SHARED = "rook-ceph", "volumes", "files", "shared"
"""Names of the cluster, the pool of volumes, the file system, and the part of it that all namespaces share."""

BLOCK_CLASS, FILE_CLASS, BUCKET_CLASS = "ceph-block", "ceph-filesystem", "ceph-bucket"
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
    when it begins.
    """

    namespace: pulumi.Input[str]
    spec: CephSpec
    image: str
    objects: ObjectsSpec | None
    operators: Sequence[pulumi.Resource]
    nodes: pulumi.Resource


class Ceph(Component):
    """The cluster. `healthy` exists when Ceph has every drive and says that all is well, `block` is its storage class,
    the default one, `shared` what files shared by all namespaces need, and `bucket` resolves when it may be used.
    """

    healthy: k8s.batch.v1.Job
    block: pulumi.Output[str]
    shared: pulumi.Resource
    bucket: pulumi.Output[str] | None

    def __init__(self, name: str, args: CephArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._args = args
        cluster = self._object(
            "cluster", "CephCluster", CLUSTER, ceph_specs.cluster(args.spec), [*args.operators, args.nodes]
        )
        self.healthy = self._wait(cluster)
        self.block = self._volumes()
        self.shared = self._files()
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
        buckets = name == BUCKET_CLASS
        default = {"storageclass.kubernetes.io/is-default-class": "true"} if name == BLOCK_CLASS else {}
        return k8s.storage.v1.StorageClass(
            self.named(role),
            k8s.storage.v1.StorageClassInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=name, annotations=default),
                provisioner=provisioner,
                parameters=dict(parameters),
                reclaim_policy="Retain" if buckets else "Delete",
                allow_volume_expansion=not buckets,
            ),
            self.child(depends_on=[after]),
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
        return made.metadata.name.apply(str)

    def _files(self) -> pulumi.Resource:
        spec = self._args.spec
        made = self._object("files", "CephFilesystem", FILES, ceph_specs.filesystem(spec), [self.healthy])
        pool = f"{FILES}-{ceph_specs.DATA if spec.erasure else ceph_specs.METADATA}"
        self._class("filesystem", FILE_CLASS, CEPHFS, {"fsName": FILES, "pool": pool, **_secrets("cephfs")}, made)
        group = {"name": SHARED, "filesystemName": FILES, "dataPoolName": pool}
        return self._object("shared", "CephFilesystemSubVolumeGroup", f"{FILES}-{SHARED}", group, [made])

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
