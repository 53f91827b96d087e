"""Management controllers, rows of hardware, Slurm's machines, the Kubernetes version."""

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network

from catalogue.echo import echo
from catalogue.site import meant
from catalogue.versions import END_OF_LIFE, KUBERNETES
from planner.draft import MetalDraft, metal_rule
from planner.findings import Observation
from planner.rules.metal.machines import ranges
from settings.inventory import Hosts


def _open(draft: MetalDraft) -> Iterator[tuple[str, str]]:
    inventory, ceph = draft.settings.inventory, draft.settings.storage.ceph
    if inventory is not None and inventory.object_store is not None:
        for index, cidr in enumerate(inventory.object_store.cidrs):
            yield f"inventory.objectStore.cidrs[{index}]", cidr
    for key, found in (("publicCidr", ceph.public_cidr if ceph else None), ("clusterCidr", ceph and ceph.cluster_cidr)):
        if found:
            yield f"storage.ceph.{key}", found


@metal_rule(
    "Y14 F06",
    each=_open,
    formula="no range that pods may reach shares an address with bmcCidr",
    source="NSA and CISA, Harden Baseboard Management Controllers (June 2023): establish an isolated VLAN",
)
def controllers_reachable(draft: MetalDraft, cidr: str) -> Iterable[Observation]:
    """What network policies let pods speak with holds no management controller: object store and Ceph are elsewhere."""
    controllers = IPv4Network(draft.settings.platform.bmc_cidr)
    if IPv4Network(cidr).overlaps(controllers):
        yield Observation(
            sentence=f"pods may speak with {cidr}, which overlaps platform.bmcCidr {controllers}",
            remedy="name the addresses of that service alone, or move it out of the controllers' network",
            subject=cidr,
            inputs={"range": cidr, "bmcCidr": str(controllers)},
        )


@metal_rule(
    "F06 B15",
    each=ranges,
    formula="controllers.authority, or bmcFingerprints of each range with bmc",
    source="DMTF DSP0266, Redfish specification, Security details: TLS with self-signed certificates at delivery",
)
def controller_certificate(draft: MetalDraft, hosts: Hosts) -> Iterable[Observation]:
    """A controller that is asked shows a certificate that is known: whoever takes its address would get the password of
    all of them."""
    inventory = draft.settings.inventory
    if inventory is None or inventory.controllers is None or inventory.controllers.authority is not None:
        return
    if hosts.bmc is not None and not hosts.bmc_fingerprints:
        yield Observation(
            path="bmcFingerprints",
            sentence=f"the controllers of {hosts.name} have no known certificate, and would never be asked",
            remedy="name the SHA-256 of each, or who signed them (inventory.controllers.authority)",
            inputs={"bmc": hosts.bmc},
        )


@metal_rule(
    "B19 F06",
    formula="controllers.sensors only with monitoring and with a range that has bmc",
    source="Definition of the stack file",
)
def controller_sensors(draft: MetalDraft) -> Iterable[Observation]:
    """Sensors are read where Prometheus is told of them, of controllers that have an address."""
    inventory = draft.settings.inventory
    if inventory is None or inventory.controllers is None or inventory.controllers.sensors is None:
        return
    if draft.settings.monitoring is None:
        yield Observation(
            path="inventory.controllers.sensors",
            sentence="there is no section monitoring, so nobody would be told what the sensors say",
            remedy="add gpucluster:monitoring, or remove sensors",
        )
    elif all(hosts.bmc is None for _, hosts in ranges(draft)):
        yield Observation(
            path="inventory.controllers.sensors",
            sentence="no machine of the inventory has a controller with an address",
            remedy="name bmc of the machines in inventory.hosts, or remove sensors",
        )


@metal_rule("B01", formula="server in the catalogue's servers", source="Definition of the stack file")
def server_unknown(draft: MetalDraft) -> Iterable[Observation]:
    """Every pool's server is a row of the catalogue."""
    for index, pool in enumerate(draft.settings.pools):
        yield from _unknown(f"pools[{index}].server", "servers", pool.server, draft.catalogue.servers)


@metal_rule("B01", formula="switch in the catalogue's switches", source="Definition of the stack file")
def switch_unknown(draft: MetalDraft) -> Iterable[Observation]:
    """The fabric's switch is a row of the catalogue."""
    yield from _unknown("fabric.switch", "switches", draft.settings.fabric.switch, draft.catalogue.switches)


@metal_rule(
    "B01", formula="server and mdsServer in the catalogue's storage servers", source="Definition of the stack file"
)
def storage_server_unknown(draft: MetalDraft) -> Iterable[Observation]:
    """Storage servers are rows of the catalogue."""
    for each in draft.settings.storage.servers:
        yield from _unknown(f"storage.{each.key}", "storageServers", each.row, draft.catalogue.storage_servers)


def _unknown(path: str, table: str, name: str, known: Mapping[str, object]) -> Iterable[Observation]:
    if name not in known:
        yield Observation(
            path=path,
            sentence=f"the catalogue has no {echo(name)} among its {table}",
            remedy=f"{meant(name, known)} (gpucluster:catalogue.{table} adds rows)",
            subject=name,
        )


@metal_rule(
    "A03 W10",
    formula="slurm.pools only with a shared file system that machines mount",
    source="slurm.conf(5), StateSaveLocation: both controllers read and write it; jobs find scripts and images there",
)
def slurm_shared_files(draft: MetalDraft) -> Iterable[Observation]:
    """Slurm's state, scripts and checkpoints lie on a shared file system that every machine mounts itself."""
    if draft.slurms and draft.site and draft.site.shared_files is None:
        yield Observation(
            path="slurm.pools",
            sentence="Ceph's files are mounted by pods alone, and machines of Slurm have none"
            if draft.site.ceph
            else "machines of Slurm have no shared file system to mount",
            remedy="add inventory.sharedFiles or storage.lustre, or leave the pools to Kubernetes",
            inputs={"pools": str(len(draft.slurms))},
        )


@metal_rule(
    "A03 W04",
    formula="slurm.pools with GPUs only with inventory.driver: host",
    source="gres.conf(5), AutoDetect=nvml: slurmd asks the driver of its machine; NVIDIA GPU Operator documentation: "
    "driver containers are pods",
)
def slurm_driver(draft: MetalDraft) -> Iterable[Observation]:
    """Machines of Slurm have the driver of their GPUs themselves: no pod brings it."""
    there = [pool for pool in draft.slurms if pool.gpus_per_node]
    if there and draft.site and draft.site.driver != "host":
        yield Observation(
            path="inventory.driver",
            sentence=f"is {draft.site.driver}, and no pod brings a driver to machines of pool {there[0].name}, which "
            "are Slurm's",
            remedy="install the driver on the machines and take host, or leave the pool to Kubernetes",
            inputs={"pools": str(len(there))},
        )


@metal_rule(
    "KJ30 I03",
    formula="today <= end of life of kubernetesVersion",
    source="kubernetes.io, Releases: patch releases and end of life of each minor",
)
def kubernetes_ended(draft: MetalDraft) -> Iterable[Observation]:
    """The cluster's minor still gets patches: on premises nobody upgrades it by force."""
    minor, oldest = draft.settings.platform.kubernetes_version, min(END_OF_LIFE)
    ended = END_OF_LIFE.get(minor)
    if minor < oldest or (ended and ended < draft.today):
        when = ended.isoformat() if ended else f"before that of {oldest}, {END_OF_LIFE[oldest].isoformat()}"
        yield Observation(
            path="platform.kubernetesVersion",
            sentence=f"patches of Kubernetes {minor} ended: {when}",
            remedy=f"take {max(KUBERNETES)}",
            inputs={"version": minor, "end of life": when, "today": draft.today.isoformat()},
        )
