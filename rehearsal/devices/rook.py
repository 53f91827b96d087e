"""Rook's operator while its pod runs: daemons of Ceph on the machines and drives that a CephCluster names.

Source: rook/rook v1.20.6, pkg/operator/ceph/cluster (mon/mon.go, osd/create.go: names, labels, one OSD for each drive
that is empty, others are passed over; cluster.go, controller.go: phases and messages), pkg/operator/ceph/cluster/osd/
status.go (`status.storage.osd.storeType`), csi/secrets.go, pool, file, object, object/user, object/bucket (phases; a
user's key may come from Secrets; fields of a claim that the operator's settings do not name are refused). Ceph's
complaints: Ceph documentation, "Health checks". No daemon speaks with another one: Ceph is as healthy as its pods.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rehearsal.devices import rook_objects as objects
from rehearsal.devices.reconciling import Reconciling
from rehearsal.kube.client import ApiError
from rehearsal.kubelet.hosts import Racked
from rehearsal.kubelet.program import Launch

Object = dict[str, Any]
MANAGER = "rook-ceph-operator"
API, CLAIM_API = "ceph.rook.io/v1", "objectbucket.io/v1alpha1"
SETTINGS, ALLOWED = "rook-ceph-operator-config", "ROOK_OBC_ALLOW_ADDITIONAL_CONFIG_FIELDS"
WAITING, READY, FAILED = "Progressing", "Ready", "ReconcileFailed"


class RookOperator(Reconciling):
    """Compares clusters, and what is asked of them, with what is there."""

    NAME = MANAGER

    def __init__(self, launch: Launch) -> None:
        self._said: dict[str, Any] = {}
        self._made: set[str] = set()
        super().__init__(launch)

    def _reconcile(self) -> None:
        clusters = self._all(API, "CephCluster")
        for cluster in clusters:
            self._cluster(cluster)
        there = any((each.get("status") or {}).get("phase") == READY for each in clusters)
        judges: Mapping[str, Callable[[Object], str]] = {
            "CephBlockPool": lambda _: READY,
            "CephFilesystem": self._filesystem,
            "CephFilesystemSubVolumeGroup": self._group,
            "CephObjectStore": self._store,
            "CephObjectStoreUser": self._user,
        }
        for kind, judge in judges.items():
            for each in self._all(API, kind):
                self._tell(each, {"phase": judge(each) if there else WAITING})
        for claim in self._all(CLAIM_API, "ObjectBucketClaim"):
            self._claim(claim)

    def _failed(self) -> None:
        self._said.clear()
        self._made.clear()

    # -- a cluster

    def _cluster(self, cluster: Object) -> None:
        nodes = [each["metadata"] for each in self._world.stores["nodes"].all()]
        allowed = sorted(each["name"] for each in nodes if objects.takes(cluster, each.get("labels") or {}))
        drives = list(self._drives(cluster))
        for each in objects.daemons(cluster, allowed, drives):
            self._make(each)
        mons = self._running(objects.mons(cluster, allowed))
        osds = self._running(objects.osd(number) for number in range(len(drives)))
        domains = {self._domain(cluster, drives[number][0]) for number in range(len(drives))}
        wanted = int(cluster["spec"]["mon"]["count"])
        pools = [each["spec"] for each in self._all(API, "CephBlockPool")]
        health = objects.health(mons, wanted, osds, len(drives), pools, len(domains))
        ready = mons > wanted // 2
        self._tell(cluster, objects.cluster_status(cluster, ready=ready, health=health, osds=osds))
        if ready:
            for secret in objects.driver_secrets(cluster):
                self._make(secret)

    def _drives(self, cluster: Object) -> Iterator[tuple[str, str]]:
        """Node and drive of every OSD: drives on the list that are there, and empty."""
        for node in cluster["spec"]["storage"].get("nodes") or []:
            host = self._world.hosts.get(node["name"])
            for device in node.get("devices") or []:
                if isinstance(host, Racked) and device["name"] in host.empty:
                    yield node["name"], device["name"]

    def _domain(self, cluster: Object, node: str) -> str:
        """Where an OSD is, in the failure domain that pools name; without a label, its host."""
        labels = ((self._world.find("nodes", node) or {}).get("metadata") or {}).get("labels") or {}
        racks = any(each["spec"].get("failureDomain") == "rack" for each in self._all(API, "CephBlockPool"))
        return str(labels.get("topology.rook.io/rack", "default")) if racks and cluster else node

    # -- what is asked of it

    def _filesystem(self, asked: Object) -> str:
        name = asked["metadata"]["name"]
        made = [objects.daemon_of(asked, "mds", f"rook-ceph-mds-{name}-{each}") for each in "ab"]
        return self._served(made)

    def _store(self, asked: Object) -> str:
        name, gateway = asked["metadata"]["name"], asked["spec"]["gateway"]
        made = objects.daemon_of(asked, "rgw", f"rook-ceph-rgw-{name}-a", replicas=int(gateway.get("instances") or 1))
        self._make(objects.gateway_service(asked))
        return self._served([made])

    def _served(self, made: list[Object]) -> str:
        """Whether the daemons run that serve it. They run the cluster's image."""
        cluster = next(iter(self._all(API, "CephCluster")))
        for each in made:
            pod = each["spec"]["template"]["spec"]
            pod["containers"][0]["image"] = cluster["spec"]["cephVersion"]["image"]
            self._make(each)
        names = [each["metadata"]["name"] for each in made]
        return READY if self._running(names) == len(names) else WAITING

    def _group(self, asked: Object) -> str:
        return self._phase("CephFilesystem", asked["spec"]["filesystemName"])

    def _user(self, asked: Object) -> str:
        for key in asked["spec"].get("keys") or []:
            for part in ("accessKeyRef", "secretKeyRef"):
                secret = self._world.find("secrets", key[part]["name"], self._namespace)
                if key[part]["key"] not in ((secret or {}).get("data") or {}):
                    return FAILED
        return self._phase("CephObjectStore", asked["spec"]["store"])

    def _claim(self, claim: Object) -> None:
        spec, told = claim["spec"], (self._world.find("configmaps", SETTINGS, self._namespace) or {}).get("data") or {}
        allowed = str(told.get(ALLOWED) or "").split(",")
        kind = self._world.kube.get("storage.k8s.io/v1", "StorageClass", spec.get("storageClassName") or "")
        extra = spec.get("additionalConfig") or {}
        if kind is None or kind["provisioner"] != f"{self._namespace}.ceph.rook.io/bucket":
            return
        store = (kind.get("parameters") or {}).get("objectStoreName", "")
        owner = extra.get("bucketOwner")
        bound = (
            set(extra) <= set(allowed)
            and self._phase("CephObjectStore", store) == READY
            and (owner is None or self._phase("CephObjectStoreUser", owner) == READY)
        )
        if bound:
            for each in objects.bucket(claim, store, self._namespace):
                self._make(each)
        self._tell(claim, {"phase": "Bound" if bound else "Pending"})

    # -- the cluster around

    def _all(self, api: str, kind: str) -> list[Object]:
        found = self._world.kube.list(api, kind, namespace=self._namespace)
        return [each for each in found if not each["metadata"].get("deletionTimestamp")]

    def _phase(self, kind: str, name: str) -> str:
        found = self._world.kube.get(API, kind, name, self._namespace)
        return str(((found or {}).get("status") or {}).get("phase") or WAITING)

    def _running(self, names: Iterator[str] | list[str]) -> int:
        """How many of the Deployments have all their pods."""
        found = (self._world.find("deployments", name, self._namespace) or {} for name in names)
        return sum(
            1
            for each in found
            if each
            and int((each.get("status") or {}).get("readyReplicas") or 0) >= int(each["spec"].get("replicas", 1))
        )

    def _make(self, obj: Object) -> None:
        key = f"{obj['kind']}/{obj['metadata']['name']}/{obj['metadata'].get('ownerReferences')}"
        if key not in self._made:
            self._world.kube.apply(obj, MANAGER, force=True)
            self._made.add(key)

    def _tell(self, obj: Object, status: Mapping[str, Any]) -> None:
        """The status, where it is another one than before. What is gone meanwhile is told nothing."""
        meta = obj["metadata"]
        observed = {"observedGeneration": meta.get("generation", 1)} if obj["kind"] != "ObjectBucketClaim" else {}
        wanted = {**observed, **status}
        if self._said.get(meta["uid"]) == wanted:
            return
        try:
            self._world.kube.patch(
                obj["apiVersion"], obj["kind"], meta["name"], meta["namespace"], {"status": wanted}, "status"
            )
        except ApiError as error:
            if error.code != 404:
                raise
        self._said[meta["uid"]] = wanted
