"""The custom resources that Rook makes a Ceph cluster of.

Sources: Rook documentation v1.20, "CephCluster CRD", "CephBlockPool CRD", "CephFilesystem CRD", "CephObjectStore CRD";
Ceph documentation, "Hardware Recommendations" (memory of daemons), "Erasure code" (CephFS keeps its first pool in
copies).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

METADATA, DATA = "replicated", "erasure-coded"
"""Names of the pools of files: the first one has copies, and the second, where there is parity, holds the data."""


@dataclass(frozen=True, kw_only=True)
class CephSpec:
    """`copies` of metadata and volumes, and of data too unless that is in parts with `erasure` (data, parity). The
    parts of an object are on as many machines or racks. `disks` are the drives of each node, by paths that last.
    """

    image: str
    disks: Mapping[str, Sequence[str]]
    copies: int
    erasure: tuple[int, int] | None
    failure_domain: Literal["host", "rack"]
    monitors: int
    osd_memory_gib: int
    public_cidr: str | None
    cluster_cidr: str | None
    labels: Mapping[str, str]
    tolerations: Sequence[Mapping[str, str]]


def cluster(spec: CephSpec) -> dict[str, Any]:
    """Of CephCluster. Daemons use their machines' own network, so that no overlay is between a client and a drive. By
    default Rook would take every drive of every node.

    Ceph takes half of a limit or more for its caches, so that OSDs ask for all that they may have.
    """
    ranges = {
        key: [cidr] for key, cidr in (("public", spec.public_cidr), ("cluster", spec.cluster_cidr)) if cidr is not None
    }
    memory = f"{spec.osd_memory_gib}Gi"
    return {
        "cephVersion": {"image": spec.image, "allowUnsupported": False},
        # Kernels before 7.0 know no other kind of key (deploy/examples/cluster.yaml).
        "security": {"cephx": {"csi": {"keyType": "aes"}}},
        "dataDirHostPath": "/var/lib/rook",
        "mon": {"count": spec.monitors, "allowMultiplePerNode": False},
        "mgr": {"count": 2, "allowMultiplePerNode": False},
        "dashboard": {"enabled": False},
        "crashCollector": {"disable": False},
        "network": {
            "provider": "host",
            **({"addressRanges": ranges} if ranges else {}),
            "connections": {"requireMsgr2": True},
        },
        "placement": {"all": placement(spec)},
        "resources": {
            "mon": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}},
            "mgr": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "4Gi"}},
            "osd": {"requests": {"cpu": "1", "memory": memory}, "limits": {"memory": memory}},
        },
        "priorityClassNames": {
            "mon": "system-node-critical",
            "osd": "system-node-critical",
            "mgr": "system-cluster-critical",
        },
        "storage": {
            "useAllNodes": False,
            "useAllDevices": False,
            "nodes": [
                {"name": node, "devices": [{"name": disk} for disk in spec.disks[node]]} for node in sorted(spec.disks)
            ],
        },
        "disruptionManagement": {"managePodBudgets": True},
        # Neither drives nor data go with the resource.
        "cleanupPolicy": {"confirmation": "", "allowUninstallWithVolumes": False},
    }


def placement(spec: CephSpec) -> dict[str, Any]:
    """On the machines of Ceph, and nowhere else."""
    rules = [{"key": key, "operator": "In", "values": [value]} for key, value in sorted(spec.labels.items())]
    needed = {"nodeSelectorTerms": [{"matchExpressions": rules}]}
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": needed},
        "tolerations": [dict(each) for each in spec.tolerations],
    }


def copied(spec: CephSpec) -> dict[str, Any]:
    """A pool in copies. Fewer than two would be none."""
    return {
        "failureDomain": spec.failure_domain,
        "replicated": {"size": spec.copies, "requireSafeReplicaSize": spec.copies > 1},
    }


def held(spec: CephSpec) -> dict[str, Any]:
    """A pool of data as the stack file says."""
    if spec.erasure is None:
        return copied(spec)
    data, parity = spec.erasure
    return {
        "failureDomain": spec.failure_domain,
        "erasureCoded": {"dataChunks": data, "codingChunks": parity},
    }


def filesystem(spec: CephSpec) -> dict[str, Any]:
    """Of CephFilesystem: one server of metadata at work and one that follows it, on different machines."""
    pools = [{"name": METADATA, **copied(spec)}]
    pools += [{"name": DATA, **held(spec)}] if spec.erasure else []
    apart = {
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["rook-ceph-mds"]}]},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {
        "metadataPool": copied(spec),
        "dataPools": pools,
        "preserveFilesystemOnDelete": True,
        "metadataServer": {
            "activeCount": 1,
            "activeStandby": True,
            "placement": {
                **placement(spec),
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
            },
            "resources": {"requests": {"cpu": "2", "memory": "8Gi"}, "limits": {"memory": "16Gi"}},
            "priorityClassName": "system-cluster-critical",
        },
    }


def object_store(spec: CephSpec, port: int) -> dict[str, Any]:
    """Of CephObjectStore: a gateway on two machines, which answers at their addresses."""
    return {
        "metadataPool": copied(spec),
        "dataPool": held(spec),
        "preservePoolsOnDelete": True,
        "gateway": {
            "port": port,
            "instances": 2,
            "placement": placement(spec),
            "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}},
            "priorityClassName": "system-cluster-critical",
        },
    }
