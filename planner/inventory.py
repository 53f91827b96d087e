"""The machines of the inventory, as the plan passes them on."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from planner.pool_types import MetalPoolPlan
from planner.site import (
    CEPH_NAMESPACE,
    CEPH_STORE,
    CEPH_STORE_PORT,
    CephPlan,
    HostPlan,
    MountPlan,
    SitePlan,
    SwitchPlan,
)
from planner.storage.lustre_targets import LustrePlan, plan_lustre
from planner.storage.types import copies_or_parity
from planner.teams import RUNS, plan_teams
from settings.inventory import Hosts, Inventory, Member
from settings.metal_storage import Ceph
from settings.model import MetalSettings
from settings.site import SiteStore


def plan_site(settings: MetalSettings, pools: Mapping[str, MetalPoolPlan], lnet: str | None = None) -> SitePlan | None:
    """The machines of the inventory; None without one. The first of system pools are the control plane's.

    `lnet` is the network type of Lustre's ports, None where they are not known.
    """
    inventory, platform = settings.inventory, settings.platform
    if inventory is None:
        return None
    system = {name for name, pool in pools.items() if pool.role == "system"}
    first = _control_plane(inventory, system, platform.control_plane_nodes)
    hosts = tuple(_host(hosts, member, first, inventory) for hosts, member in inventory.members())
    served = settings.storage.lustre if inventory.shared_files is None else None
    lustre = plan_lustre(served, hosts, lnet) if served and lnet else None
    return SitePlan(
        name=platform.site,
        **inventory.model_dump(include={"user", "port", "endpoint", "driver", "gds", "time_servers"}),
        **platform.model_dump(include={"management_cidr", "bmc_cidr", "pod_cidr", "service_cidr"}),
        rail_cidr=settings.fabric.rail_cidr,
        hosts=hosts,
        controllers=inventory.controllers,
        switches=tuple(
            SwitchPlan(name=each.name, rack=each.rack, unit=each.unit, guid=each.guid)
            for each in inventory.switch_members()
        ),
        leaving=inventory.allow_reset,
        shared_files=_mount(settings, inventory, lustre),
        object_store=_store(settings, inventory),
        logs=inventory.logs,
        ceph=_ceph(settings.storage.ceph) if settings.storage.ceph else None,
        lustre=lustre,
        homes=(RUNS, *(team.namespace for team in plan_teams(settings))) if settings.storage.home else (),
        slurm_pools=settings.slurm.pools,
    )


def asked_for_sensors(inventory: Inventory) -> int:
    """How many management controllers are asked for their sensors."""
    if inventory.controllers is None or inventory.controllers.sensors is None:
        return 0
    return sum(member.bmc is not None for _, member in inventory.members())


def lustre_machines(inventory: Inventory) -> int:
    """How many of its machines serve Lustre."""
    return sum(hosts.storage in ("oss", "mds") for hosts, _ in inventory.members())


def _ceph(ceph: Ceph) -> CephPlan:
    said = {"failure_domain", "monitors", "osd_memory_gib", "public_cidr", "cluster_cidr", "bucket"}
    return CephPlan(redundancy=copies_or_parity(ceph.replicas, ceph.erasure), **ceph.model_dump(include=said))


def _mount(settings: MetalSettings, inventory: Inventory, served: LustrePlan | None) -> MountPlan | None:
    """What somebody else serves, or what the machines of the inventory do."""
    shared, lustre = inventory.shared_files, settings.storage.lustre
    if lustre and served and served.source:
        return MountPlan(kind="lustre", source=served.source, stripes=lustre.stripe_count)
    if shared is None:
        return None
    stripes = lustre.stripe_count if lustre and shared.kind == "lustre" else None
    return MountPlan(kind=shared.kind, source=shared.source, stripes=stripes)


def _store(settings: MetalSettings, inventory: Inventory) -> SiteStore | None:
    """The site's own store, or Ceph's, which answers on every machine of Ceph's."""
    if inventory.object_store:
        return inventory.object_store
    ceph = settings.storage.ceph
    if ceph is None or ceph.bucket is None:
        return None
    answering = [member.address for hosts, member in inventory.members() if hosts.storage == "osd"]
    return SiteStore.model_construct(
        endpoint=f"http://rook-ceph-rgw-{CEPH_STORE}.{CEPH_NAMESPACE}.svc:{CEPH_STORE_PORT}",
        bucket=ceph.bucket,
        cidrs=tuple(f"{address}/32" for address in answering),
    )


def _control_plane(inventory: Inventory, system: set[str], count: int) -> Sequence[str]:
    """The first machines of system pools: those that the control plane runs on."""
    return [member.name for hosts, member in inventory.members() if hosts.pool in system][:count]


def _host(hosts: Hosts, member: Member, first: Sequence[str], inventory: Inventory) -> HostPlan:
    own = {key: value for key, value in asdict(member).items() if key != "place"}
    alike = {"pool", "storage", "management_nic", "rails", "os_disk", "disks"}
    return HostPlan(
        **own,
        **hosts.model_dump(include=alike),
        control_plane=member.name in first,
        may_format=member.serial is not None and member.serial in hosts.allow_format,
        may_reset=member.serial is not None and member.serial in inventory.allow_reset,
        drained=member.serial is not None and member.serial in inventory.drained,
    )
