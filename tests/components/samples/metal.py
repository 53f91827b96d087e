"""Samples of machines on racks and what stands on them."""

from collections.abc import Mapping
from typing import Any

from components.metal.ceph import Ceph, CephArgs, ObjectsSpec
from components.metal.ceph_specs import CephSpec
from components.metal.credentials import Credentials, CredentialsArgs
from components.metal.etcd_snapshots import EtcdSnapshots, EtcdSnapshotsArgs
from components.metal.host import Host, HostArgs, Login
from components.metal.local_volumes import LocalVolumes, LocalVolumesArgs
from components.metal.object_store import StoreKey, StoreKeyArgs
from components.metal.pool import Overseer, Pool, PoolArgs
from components.metal.sensors import Controller, Sensors, SensorsArgs
from components.platform.taints import Taint
from components.storage.aws_cli import AwsCli
from tests.components.samples.common import Make, done, of

LOGIN = Login(user="ops", port=2222, private_key="-----BEGIN OPENSSH PRIVATE KEY-----")
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"


def sensors_args(**changes: Any) -> SensorsArgs:
    """Arguments of what reads the sensors of two controllers, one of them by its fingerprint."""
    known: dict[str, Any] = {
        "namespace": "monitoring",
        "image": "python:3.13",
        "files": {"sensors.py": "import ssl"},
        "controllers": [
            Controller(node="dgx-01", address="10.20.4.21", port=443, fingerprint="0A:1B"),
            Controller(node="dgx-02", address="10.20.4.22", port=8443, fingerprint=None),
        ],
        "authority": "-----BEGIN CERTIFICATE-----",
        "user": "sensors",
        "password": "secret-of-sensors",
        "after": [done("cluster")],
    }
    return SensorsArgs(**{**known, **changes})


def host_args(**changes: Any) -> HostArgs:
    """Arguments of a machine."""
    known: dict[str, Any] = {
        "login": LOGIN,
        "address": "10.20.0.21",
        "host_key": HOST_KEY,
        "text": "run_concerns checks\n",
        "after": [done()],
    }
    return HostArgs(**{**known, **changes})


def machines_args(**changes: Any) -> PoolArgs:
    """Arguments of a pool with one machine of its own and one of the control plane's."""
    known: dict[str, Any] = {
        "hosts": {"dgx-01": host_args()},
        "overseer": Overseer(login=LOGIN, address="10.20.0.11", host_key=HOST_KEY),
        "network": done("network"),
        "standing": {"cp-1": done("cp-1")},
    }
    return PoolArgs(**{**known, **changes})


def ceph_args(**changes: Any) -> CephArgs:
    known: dict[str, Any] = {
        "namespace": "rook-ceph",
        "spec": CephSpec(
            image="quay.io/ceph/ceph:v20.2.4",
            disks={"osd-1": ["/dev/disk/by-path/a"], "osd-2": ["/dev/disk/by-path/a", "/dev/disk/by-path/b"]},
            copies=3,
            erasure=(4, 2),
            failure_domain="rack",
            monitors=5,
            osd_memory_gib=12,
            public_cidr="10.22.0.0/24",
            cluster_cidr="10.23.0.0/24",
            labels={"gpucluster/role": "storage"},
            tolerations=[Taint(key="gpucluster/role", value="storage").toleration],
        ),
        "image": "registry.k8s.io/kubectl:v1.36.3",
        "objects": ObjectsSpec(name="objects", port=7480, bucket="bucket-1", key_id="AKIAEXAMPLE", key="not-a-secret"),
        "operators": [done()],
        "nodes": done("nodes"),
        "snapshots": done("snapshots"),
    }
    return CephArgs(**{**known, **changes})


def etcd_snapshots_args(**changes: Any) -> EtcdSnapshotsArgs:
    """Arguments of what copies snapshots to an object store."""
    known: dict[str, Any] = {
        "image": "registry.k8s.io/etcd:3.6.8-0",
        "copier": AwsCli(image="aws:2", env={"AWS_ENDPOINT_URL": "https://s3.example.com"}),
        "granted": "object-store",
        "uri": "s3://bucket/etcd",
        "every_seconds": 6 * 3600,
    }
    return EtcdSnapshotsArgs(**{**known, **changes})


SAMPLES: Mapping[str, Make] = {
    "host": of(Host, host_args),
    "machines": of(Pool, machines_args),
    "credentials": of(
        Credentials, lambda: CredentialsArgs(login=LOGIN, address="10.20.0.11", host_key=HOST_KEY, after=[done()])
    ),
    "local-volumes": of(LocalVolumes, lambda: LocalVolumesArgs(provisioner=done())),
    "etcd-snapshots": of(EtcdSnapshots, etcd_snapshots_args),
    "ceph": of(Ceph, ceph_args),
    "store-key": of(StoreKey, lambda: StoreKeyArgs(namespace="training", key_id="AKIAEXAMPLE", key="not-a-secret")),
    "sensors": of(Sensors, sensors_args),
}
