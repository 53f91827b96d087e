"""Ceph as the platform's storage: Rook on the machines that are named for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from catalogue.metal_versions import (
    CEPH_CSI_DRIVERS,
    CEPH_IMAGE,
    ROOK_CEPH,
    SNAPSHOT_CONTROLLER_IMAGE,
    SNAPSHOT_CRDS,
    SNAPSHOTTER,
)
from catalogue.supply import Supply
from catalogue.versions import KUBECTL_IMAGE, WAIT_IMAGE
from components.metal.ceph import FILES, SHARED, Ceph, CephArgs, ObjectsSpec
from components.metal.ceph_specs import CephSpec
from components.metal.rook import CEPHFS, NAMESPACE, driver_values, operator_values
from components.platform.charts import Chart, ChartArgs
from components.platform.namespaces import Namespaces, NamespacesArgs, NamespaceSpec
from components.platform.network_rules import NetworkRules, NetworkRulesArgs, Rule
from components.platform.snapshot_controller import SnapshotController, SnapshotControllerArgs
from components.platform.taints import ROLE_KEY, tolerations_of_all_pools
from components.storage.ceph_claims import CephClaims, CephClaimsArgs
from components.storage.claims import ClaimSpec
from planner.site import CEPH_STORE, CEPH_STORE_PORT, CephPlan, SitePlan
from stacks.charts import chart_source
from stacks.metal_storage_node import ROLE, TAINT


@dataclass(frozen=True, kw_only=True)
class CephFiles:
    """Claims on the shared directory of CephFS; the file system holds `capacity_gib`."""

    capacity_gib: int
    shared: pulumi.Resource
    opts: pulumi.ResourceOptions

    def claims(self, name: str, claims: Sequence[ClaimSpec]) -> Mapping[tuple[str, str], pulumi.Output[str]]:
        args = CephClaimsArgs(
            driver=CEPHFS,
            namespace=NAMESPACE,
            filesystem=FILES,
            path=f"/volumes/{SHARED}",
            capacity_gib=self.capacity_gib,
            claims=claims,
            after=[self.shared],
        )
        return CephClaims(name, args, self.opts).names


def ceph_spec(ceph: CephPlan, site: SitePlan, supply: Supply) -> CephSpec:
    """The cluster as the plan has it."""
    parts = ceph.redundancy
    return CephSpec(
        image=supply.image(CEPH_IMAGE),
        disks={host.name: host.disks for host in site.storage_nodes},
        copies=ceph.copies,
        erasure=(parts.data, parts.parity) if parts.data > 1 else None,
        failure_domain=ceph.failure_domain,
        monitors=ceph.monitors,
        osd_memory_gib=ceph.osd_memory_gib,
        public_cidr=ceph.public_cidr,
        cluster_cidr=ceph.cluster_cidr,
        labels={ROLE_KEY: ROLE},
        tolerations=[TAINT.toleration],
    )


def deploy_ceph(
    spec: CephSpec,
    supply: Supply,
    nodes: pulumi.Resource,
    system: pulumi.Resource,
    objects: ObjectsSpec | None,
    rules: Sequence[Rule],
    inside: pulumi.ResourceOptions,
) -> Ceph:
    """Rook, the drivers of its volumes, and the cluster. `nodes` are its machines; operators run on `system` ones, and
    speak with whom the `rules` of their namespace say.
    """
    namespaces = NamespacesArgs(namespaces=[NamespaceSpec(name=NAMESPACE, pod_security="privileged")])
    names = Namespaces("ceph-namespaces", namespaces, inside).names
    NetworkRules("ceph-network-rules", NetworkRulesArgs(rules={NAMESPACE: rules}, names=names), inside)
    namespace = names[NAMESPACE]
    operator = Chart(
        "rook-ceph",
        ChartArgs(
            source=chart_source(ROOK_CEPH, supply),
            namespace=namespace,
            values=operator_values(),
            after=system,
        ),
        inside,
    ).release
    drivers = Chart(
        "ceph-csi-drivers",
        ChartArgs(
            source=chart_source(CEPH_CSI_DRIVERS, supply),
            namespace=namespace,
            values=driver_values(tolerations_of_all_pools([TAINT])),
            after=operator,
        ),
        inside,
    ).release
    snapshots = SnapshotControllerArgs(
        version=SNAPSHOTTER,
        crds=SNAPSHOT_CRDS,
        image=supply.image(SNAPSHOT_CONTROLLER_IMAGE),
        kubectl_image=supply.image(KUBECTL_IMAGE),
        fetch_image=supply.image(WAIT_IMAGE),
        namespace="kube-system",
        after=system,
    )
    args = CephArgs(
        namespace=namespace,
        spec=spec,
        image=supply.image(KUBECTL_IMAGE),
        objects=objects,
        operators=[operator, drivers],
        nodes=nodes,
        snapshots=SnapshotController("snapshot-controller", snapshots, inside).ready,
    )
    return Ceph("ceph", args, inside)


def objects_of(ceph: CephPlan, key_id: pulumi.Output[str], key: pulumi.Output[str]) -> ObjectsSpec | None:
    """Ceph's object store, where it has one."""
    if ceph.bucket is None:
        return None
    return ObjectsSpec(name=CEPH_STORE, port=CEPH_STORE_PORT, bucket=ceph.bucket, key_id=key_id, key=key)
