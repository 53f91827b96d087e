"""The network of management controllers: who reaches a controller owns its machine."""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

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
            path="",
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
