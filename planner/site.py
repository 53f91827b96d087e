"""The machines of a site as the plan passes them on: one entry for each, and what all of them share."""

from dataclasses import dataclass
from typing import Literal

from planner.storage.lustre_targets import LustrePlan
from planner.storage.types import Redundancy
from settings.site import Controllers, Loki, SiteStore

StorageRole = Literal["oss", "mds", "osd", "nfs"]


@dataclass(frozen=True, kw_only=True)
class HostPlan:
    """A machine. It is of a `pool`, or serves `storage`; `control_plane` machines are of a system pool as well.

    `disks` are for scratch or storage, and formatted only where `may_format`; a machine that is
    taken out leaves the cluster only where it `may_reset`. The kubelet of a node takes another CPU policy only where it
    is `drained`. `rails` are PCI addresses in rail order,
    empty where the machine finds them by their type. `first_target` numbers its targets in Lustre, `partner` reaches
    their disks too.
    """

    name: str
    pool: str | None
    storage: StorageRole | None
    control_plane: bool
    address: str
    host_key: str
    serial: str | None
    bmc: str | None
    bmc_fingerprint: str | None
    mac: str | None
    rack: str | None
    unit: int | None
    management_nic: str | None
    rails: tuple[str, ...]
    os_disk: str | None
    disks: tuple[str, ...]
    storage_addresses: tuple[str, ...]
    first_target: int | None
    partner: str | None
    may_format: bool
    may_reset: bool
    drained: bool = False


@dataclass(frozen=True, kw_only=True)
class SwitchPlan:
    """A switch of the compute fabric, called as in the cable list, and the GUID that it has on the fabric."""

    name: str
    rack: str | None
    unit: int | None
    guid: int | None


@dataclass(frozen=True, kw_only=True)
class MountPlan:
    """The shared file system as nodes mount it. `stripes` are the targets of a new file on Lustre, None where its
    layout is left as it is.
    """

    kind: Literal["lustre", "nfs"]
    source: str
    stripes: int | None = None


CEPH_NAMESPACE, CEPH_STORE, CEPH_STORE_PORT = "rook-ceph", "objects", 7480
"""Where Ceph runs in the cluster, its object store there, and the port of that on each of Ceph's machines."""


@dataclass(frozen=True, kw_only=True)
class CephPlan:
    """Ceph as Rook runs it: the parts of an object are on as many hosts or racks (`failure_domain`).

    `public_cidr` and `cluster_cidr` are None where the machines' own addresses are used.
    """

    redundancy: Redundancy
    failure_domain: Literal["host", "rack"]
    monitors: int
    osd_memory_gib: int
    public_cidr: str | None
    cluster_cidr: str | None
    bucket: str | None

    @property
    def copies(self) -> int:
        """Of what cannot have parity, metadata and volumes: as many losses are survived as elsewhere."""
        return self.redundancy.parity + 1


@dataclass(frozen=True, kw_only=True)
class SitePlan:
    """The machines, how they are reached, and the ranges of addresses that they share.

    `endpoint` is the address of the Kubernetes API. `driver` says who owns the drivers of GPUs and cards, `gds` whether
    the operator loads that of GPUDirect Storage. `leaving` are serials of machines that may leave the cluster, whether
    they are among the `hosts` still or not any more. `homes` are namespaces whose people have directories of their own,
    none without a server of homes. Machines of `slurm_pools` are prepared, and are Slurm's instead of the cluster's.
    """

    name: str
    user: str
    port: int
    endpoint: str
    driver: Literal["host", "container"]
    gds: bool
    management_cidr: str
    bmc_cidr: str
    pod_cidr: str
    service_cidr: str
    rail_cidr: str | None
    time_servers: tuple[str, ...]
    hosts: tuple[HostPlan, ...]
    controllers: Controllers | None
    switches: tuple[SwitchPlan, ...]
    leaving: tuple[str, ...]
    shared_files: MountPlan | None
    object_store: SiteStore | None
    logs: Loki | None
    ceph: CephPlan | None
    lustre: LustrePlan | None
    homes: tuple[str, ...]
    slurm_pools: tuple[str, ...] = ()

    @property
    def home_server(self) -> HostPlan | None:
        """The machine that serves people's own files; None without one."""
        return next((host for host in self.hosts if host.storage == "nfs"), None)

    @property
    def storage_nodes(self) -> tuple[HostPlan, ...]:
        """Machines of Ceph, which are nodes of the cluster."""
        return tuple(host for host in self.hosts if host.storage == "osd")

    @property
    def nodes(self) -> tuple[HostPlan, ...]:
        """Every machine that joins the cluster."""
        return tuple(
            host for host in self.hosts if (host.pool and host.pool not in self.slurm_pools) or host.storage == "osd"
        )

    @property
    def slurm_nodes(self) -> tuple[HostPlan, ...]:
        """Machines that run Slurm's jobs."""
        return tuple(host for host in self.hosts if host.pool in self.slurm_pools)

    @property
    def control_plane(self) -> tuple[HostPlan, ...]:
        """The machines of the control plane in the order in which they join it."""
        return tuple(host for host in self.hosts if host.control_plane)

    def of_pool(self, pool: str) -> tuple[HostPlan, ...]:
        """The machines of a node pool."""
        return tuple(host for host in self.hosts if host.pool == pool)
