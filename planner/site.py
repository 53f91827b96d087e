"""The machines of a site as the plan passes them on: one entry for each, and what all of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from planner.home import RUNS
from planner.storage.lustre_targets import LustrePlan, plan_lustre
from planner.storage.redundancy import Redundancy, copies_or_parity
from planner.teams import plan_teams

if TYPE_CHECKING:
    from planner.pool_types import MetalPoolPlan
    from settings.inventory import Controllers, Hosts, Inventory, Member
    from settings.metal_storage import Ceph
    from settings.model import MetalSettings

StorageRole = Literal["oss", "mds", "osd", "nfs"]


@dataclass(frozen=True, kw_only=True)
class HostPlan:
    """A machine. It is of a `pool`, or serves `storage`; `control_plane` machines are of a system pool as well.

    `disks` are for scratch or storage, and formatted only where `may_format`; a machine that is
    taken out leaves the cluster only where it `may_reset`. `rails` are PCI addresses in rail order,
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


@dataclass(frozen=True, kw_only=True)
class StorePlan:
    """An object store that speaks S3, the stack's bucket there, and the addresses it answers at."""

    endpoint: str
    bucket: str
    cidrs: tuple[str, ...]


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
class SensorsPlan:
    """Who reads sensors of the controllers, and the key of the stack file that has the password."""

    user: str
    secret: str


@dataclass(frozen=True, kw_only=True)
class ControllersPlan:
    """How management controllers are asked over Redfish. `authority` is a certificate as PEM. `sensors` is None where
    nobody watches them.
    """

    user: str
    port: int
    authority: str | None
    sensors: SensorsPlan | None = None


@dataclass(frozen=True, kw_only=True)
class LokiPlan:
    """Loki, which takes logs over HTTP."""

    host: str
    port: int


@dataclass(frozen=True, kw_only=True)
class SitePlan:
    """The machines, how they are reached, and the ranges of addresses that they share.

    `endpoint` is the address of the Kubernetes API. `driver` says who owns the drivers of GPUs and cards, `gds` whether
    the operator loads that of GPUDirect Storage. `leaving` are serials of machines that may leave the cluster, whether
    they are among the `hosts` still or not any more. `homes` are namespaces whose people have directories of their own,
    none without a server of homes.
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
    controllers: ControllersPlan | None
    switches: tuple[SwitchPlan, ...]
    leaving: tuple[str, ...]
    shared_files: MountPlan | None
    object_store: StorePlan | None
    logs: LokiPlan | None
    ceph: CephPlan | None
    lustre: LustrePlan | None
    homes: tuple[str, ...]

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
        return tuple(host for host in self.hosts if host.pool or host.storage == "osd")

    @property
    def control_plane(self) -> tuple[HostPlan, ...]:
        """The machines of the control plane in the order in which they join it."""
        return tuple(host for host in self.hosts if host.control_plane)

    def of_pool(self, pool: str) -> tuple[HostPlan, ...]:
        """The machines of a node pool."""
        return tuple(host for host in self.hosts if host.pool == pool)


def plan_site(settings: MetalSettings, pools: Mapping[str, MetalPoolPlan], lnet: str | None = None) -> SitePlan | None:
    """The machines of the inventory; None without one. The first of system pools are the control plane's.

    `lnet` is the network type of Lustre's ports, None where they are not known.
    """
    inventory, platform = settings.inventory, settings.platform
    if inventory is None:
        return None
    system = {name for name, pool in pools.items() if pool.role == "system"}
    first = control_plane_names(inventory, system, platform.control_plane_nodes)
    hosts = tuple(_host(hosts, member, first, inventory.allow_reset) for hosts, member in inventory.members())
    served = settings.storage.lustre if inventory.shared_files is None else None
    lustre = plan_lustre(served, hosts, lnet) if served and lnet else None
    return SitePlan(
        name=platform.site,
        user=inventory.user,
        port=inventory.port,
        endpoint=inventory.endpoint,
        driver=inventory.driver,
        gds=inventory.gds,
        management_cidr=platform.management_cidr,
        bmc_cidr=platform.bmc_cidr,
        pod_cidr=platform.pod_cidr,
        service_cidr=platform.service_cidr,
        rail_cidr=settings.fabric.rail_cidr,
        time_servers=inventory.time_servers,
        hosts=hosts,
        controllers=_controllers(inventory.controllers) if inventory.controllers else None,
        switches=tuple(
            SwitchPlan(name=each.name, rack=each.rack, unit=each.unit, guid=each.guid)
            for each in inventory.switch_members()
        ),
        leaving=inventory.allow_reset,
        shared_files=_mount(settings, inventory, lustre),
        object_store=_store(settings, inventory),
        logs=LokiPlan(**inventory.logs.model_dump()) if inventory.logs else None,
        ceph=_ceph(settings.storage.ceph) if settings.storage.ceph else None,
        lustre=lustre,
        homes=(RUNS, *(team.namespace for team in plan_teams(settings))) if settings.storage.home else (),
    )


def asked_for_sensors(inventory: Inventory) -> int:
    """How many controllers are."""
    if inventory.controllers is None or inventory.controllers.sensors is None:
        return 0
    return sum(member.bmc is not None for _, member in inventory.members())


def _controllers(asked: Controllers) -> ControllersPlan:
    sensors = SensorsPlan(**asked.sensors.model_dump()) if asked.sensors else None
    return ControllersPlan(user=asked.user, port=asked.port, authority=asked.authority, sensors=sensors)


def _ceph(ceph: Ceph) -> CephPlan:
    return CephPlan(
        redundancy=copies_or_parity(ceph.replicas, ceph.erasure),
        failure_domain=ceph.failure_domain,
        monitors=ceph.monitors,
        osd_memory_gib=ceph.osd_memory_gib,
        public_cidr=ceph.public_cidr,
        cluster_cidr=ceph.cluster_cidr,
        bucket=ceph.bucket,
    )


def _mount(settings: MetalSettings, inventory: Inventory, served: LustrePlan | None) -> MountPlan | None:
    """What somebody else serves, or what the machines of the inventory do."""
    shared, lustre = inventory.shared_files, settings.storage.lustre
    if lustre and served and served.source:
        return MountPlan(kind="lustre", source=served.source, stripes=lustre.stripe_count)
    if shared is None:
        return None
    stripes = lustre.stripe_count if lustre and shared.kind == "lustre" else None
    return MountPlan(kind=shared.kind, source=shared.source, stripes=stripes)


def _store(settings: MetalSettings, inventory: Inventory) -> StorePlan | None:
    """The site's own store, or Ceph's, which answers on every machine of Ceph's."""
    if inventory.object_store:
        return StorePlan(**inventory.object_store.model_dump())
    ceph = settings.storage.ceph
    if ceph is None or ceph.bucket is None:
        return None
    answering = [member.address for hosts, member in inventory.members() if hosts.storage == "osd"]
    return StorePlan(
        endpoint=f"http://rook-ceph-rgw-{CEPH_STORE}.{CEPH_NAMESPACE}.svc:{CEPH_STORE_PORT}",
        bucket=ceph.bucket,
        cidrs=tuple(f"{address}/32" for address in answering),
    )


def control_plane_names(inventory: Inventory, system: set[str], count: int) -> Sequence[str]:
    """The first machines of system pools: those that the control plane runs on."""
    return [member.name for hosts, member in inventory.members() if hosts.pool in system][:count]


def _host(hosts: Hosts, member: Member, first: Sequence[str], leaving: Sequence[str]) -> HostPlan:
    return HostPlan(
        name=member.name,
        pool=hosts.pool,
        storage=hosts.storage,
        control_plane=member.name in first,
        address=member.address,
        host_key=member.host_key,
        serial=member.serial,
        bmc=member.bmc,
        bmc_fingerprint=member.bmc_fingerprint,
        mac=member.mac,
        rack=member.rack,
        unit=member.unit,
        management_nic=hosts.management_nic,
        rails=hosts.rails,
        os_disk=hosts.os_disk,
        disks=hosts.disks,
        storage_addresses=member.storage_addresses,
        first_target=member.first_target,
        partner=member.partner,
        may_format=member.serial is not None and member.serial in hosts.allow_format,
        may_reset=member.serial is not None and member.serial in leaving,
    )
