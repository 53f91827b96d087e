"""What Rook makes of its custom resources, and what Ceph says of itself then. Pure.

Sources: as in `rehearsal.devices.rook`.
"""

import base64
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rehearsal.devices.operands import owner

Object = dict[str, Any]
COMPLAINTS = ("MON_DOWN", "OSD_DOWN", "TOO_FEW_OSDS", "PG_DEGRADED")
DEFAULT_SIZE = 3
"""`osd_pool_default_size` (Ceph documentation, "Pool, PG and CRUSH config reference")."""


def takes(cluster: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether `placement.all` lets daemons onto a node with these labels."""
    affinity = ((cluster["spec"].get("placement") or {}).get("all") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or []
    if not terms:
        return True
    return any(
        all(labels.get(rule["key"]) in (rule.get("values") or []) for rule in term.get("matchExpressions") or [])
        for term in terms
    )


def mons(cluster: Mapping[str, Any], nodes: Sequence[str]) -> list[str]:
    """The Deployments of monitors: one on each node, as many as asked for and can be had."""
    return [f"rook-ceph-mon-{letter}" for letter, _ in _placed(int(cluster["spec"]["mon"]["count"]), nodes)]


def osd(number: int) -> str:
    """The Deployment of an OSD."""
    return f"rook-ceph-osd-{number}"


def _placed(count: int, nodes: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(string.ascii_lowercase[:count], nodes, strict=False)


def daemons(cluster: Mapping[str, Any], nodes: Sequence[str], drives: Sequence[tuple[str, str]]) -> Iterator[Object]:
    """Monitors and managers, each on a node of its own, and an OSD for each drive, on the drive's node."""
    spec = cluster["spec"]
    for kind, count in (("mon", int(spec["mon"]["count"])), ("mgr", int((spec.get("mgr") or {}).get("count") or 1))):
        for letter, node in _placed(count, nodes):
            yield _on(cluster, kind, f"rook-ceph-{kind}-{letter}", node)
    for number, (node, device) in enumerate(drives):
        made = _on(cluster, "osd", osd(number), node)
        made["metadata"]["labels"]["ceph-osd-id"] = str(number)
        container = made["spec"]["template"]["spec"]["containers"][0]
        container["env"] = [{"name": "ROOK_BLOCK_PATH", "value": device}]
        yield made


def _on(cluster: Mapping[str, Any], kind: str, name: str, node: str) -> Object:
    made = daemon_of(cluster, kind, name)
    pod = made["spec"]["template"]["spec"]
    pod["nodeSelector"] = {"kubernetes.io/hostname": node}
    pod["containers"][0]["image"] = cluster["spec"]["cephVersion"]["image"]
    return made


def daemon_of(resource: Mapping[str, Any], kind: str, name: str, *, replicas: int = 1) -> Object:
    """A Deployment that belongs to a resource, with what that says of such daemons. Its image is the cluster's."""
    spec = resource["spec"]
    own = spec.get("metadataServer") or spec.get("gateway") or {}
    placement = own.get("placement") or (spec.get("placement") or {}).get("all") or {}
    resources = own.get("resources") or (spec.get("resources") or {}).get(kind) or {}
    # Rook's key of a priority is the daemon's kind in a cluster, and a field elsewhere.
    priority = own.get("priorityClassName") or (spec.get("priorityClassNames") or {}).get(kind)
    labels = {"app": f"rook-ceph-{kind}", "ceph_daemon_id": name.rpartition("-")[2]}
    affinity = {key: placement[key] for key in ("nodeAffinity", "podAntiAffinity") if key in placement}
    pod = {
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "tolerations": placement.get("tolerations") or [],
        "containers": [{"name": kind, "image": "", "resources": resources}],
        **({"affinity": affinity} if affinity else {}),
        **({"priorityClassName": priority} if priority else {}),
    }
    meta = {"name": name, "namespace": resource["metadata"]["namespace"], "ownerReferences": [owner(resource)]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**meta, "labels": dict(labels)},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {**labels, "rook": name}},
            "strategy": {"type": "Recreate"},
            "template": {"metadata": {"labels": {**labels, "rook": name}}, "spec": pod},
        },
    }


def health(
    mons: int, wanted: int, osds: int, drives: int, pools: Sequence[Mapping[str, Any]], domains: int
) -> dict[str, Object]:
    """What Ceph complains of, by its codes: `mons` of `wanted` and `osds` of `drives` run, and pools want so many
    parts of an object in as many failure domains, of which there are `domains`.
    """
    found = {}
    if mons < wanted:
        found["MON_DOWN"] = f"{wanted - mons}/{wanted} mons down"
    if osds < drives:
        found["OSD_DOWN"] = f"{drives - osds} osds down"
    if osds < DEFAULT_SIZE:
        found["TOO_FEW_OSDS"] = f"OSD count {osds} < osd_pool_default_size {DEFAULT_SIZE}"
    if any(_width(pool) > domains for pool in pools):
        found["PG_DEGRADED"] = "Degraded data redundancy: 32 pgs undersized"
    return {code: {"severity": "HEALTH_WARN", "message": message} for code, message in found.items()}


def _width(pool: Mapping[str, Any]) -> int:
    coded = pool.get("erasureCoded") or {}
    parts = int(coded.get("dataChunks") or 0) + int(coded.get("codingChunks") or 0)
    return parts or int((pool.get("replicated") or {}).get("size") or 1)


def cluster_status(cluster: Mapping[str, Any], *, ready: bool, health: Mapping[str, Object], osds: int) -> Object:
    """The status of a CephCluster. Rook calls it ready when its monitors agree, whatever Ceph says of its health.

    It is merged into the one before: None takes out what is no more.
    """
    if not ready:
        return {"phase": "Progressing", "state": "Creating", "message": "Configuring Ceph Mons"}
    return {
        "phase": "Ready",
        "state": "Created",
        "message": "Cluster created successfully",
        "version": {"image": cluster["spec"]["cephVersion"]["image"]},
        "ceph": {
            "health": "HEALTH_WARN" if health else "HEALTH_OK",
            "details": {code: health.get(code) for code in COMPLAINTS},
        },
        "storage": {"deviceClasses": [{"name": "nvme"}], "osd": {"storeType": {"bluestore": osds or None}}},
    }


def driver_secrets(cluster: Mapping[str, Any]) -> Iterator[Object]:
    """The rights of the drivers in Ceph."""
    for kind in ("rbd", "cephfs"):
        for part in ("provisioner", "node"):
            name = f"rook-csi-{kind}-{part}"
            key = base64.b64encode(name.encode()).decode()
            yield _secret(cluster, name, "kubernetes.io/rook", {"userID": f"csi-{kind}-{part}", "userKey": key})


def _secret(of: Mapping[str, Any], name: str, kind: str, data: Mapping[str, str]) -> Object:
    meta = {"name": name, "namespace": of["metadata"]["namespace"], "ownerReferences": [owner(of)]}
    return {"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": meta, "stringData": dict(data)}


def gateway_service(store: Mapping[str, Any]) -> Object:
    """The Service of an object store's gateway."""
    meta, name = store["metadata"], f"rook-ceph-rgw-{store['metadata']['name']}"
    port = {"name": "http", "port": store["spec"]["gateway"]["port"], "protocol": "TCP"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": meta["namespace"], "ownerReferences": [owner(store)]},
        "spec": {"selector": {"app": "rook-ceph-rgw", "rook": f"{name}-a"}, "ports": [port]},
    }


def bucket(claim: Mapping[str, Any], store: str, namespace: str) -> Iterator[Object]:
    """What a claim's owner gets, by the claim's name: where the bucket is, and a key."""
    meta, spec = claim["metadata"], claim["spec"]
    told = {
        "BUCKET_HOST": f"rook-ceph-rgw-{store}.{namespace}.svc",
        "BUCKET_NAME": spec.get("bucketName") or meta["name"],
    }
    place = {"name": meta["name"], "namespace": meta["namespace"], "ownerReferences": [owner(claim)]}
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place, "data": told}
    key = {"AWS_ACCESS_KEY_ID": f"key-{meta['name']}", "AWS_SECRET_ACCESS_KEY": f"secret-{meta['uid']}"}
    yield _secret(claim, meta["name"], "Opaque", key)
