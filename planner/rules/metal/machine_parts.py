"""What is in the machines of an inventory: disks, drivers, ports, each for one purpose."""

import re
from collections import Counter
from collections.abc import Iterable

from catalogue.network_types import NicRole, of_role
from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.findings import Observation
from planner.rules.metal.machines import ranges
from settings.inventory import Hosts

_NO_ADDRESS = re.compile(r"lo|ib\w*|rail\d+")
"""Names of the loopback and of InfiniBand, and those that the compute ports get."""


@metal_rule(
    "B09",
    each=ranges,
    formula="every serial of allowFormat is one of serials",
    source="dmidecode(8): a system's serial number",
)
def format_without_serial(_: MetalDraft, hosts: Hosts) -> Iterable[Observation]:
    """A disk is formatted only on a machine whose serial number the inventory lists, because an address may belong to
    another machine tomorrow.
    """
    if strange := sorted(set(hosts.allow_format) - set(hosts.serials)):
        yield Observation(
            path="allowFormat",
            sentence=f"no machine of {hosts.name} has the serial {', '.join(strange)}",
            remedy="list the machines' serials under serials, and allow those that may be formatted",
            inputs={"allowed": str(len(hosts.allow_format)), "serials": str(len(hosts.serials))},
        )


@metal_rule(
    "B09 G12",
    each=ranges,
    formula="osDisk not in disks; disks each once",
    source="mkfs.xfs(8), mdadm(8): what lies on a device is lost",
)
def disk_of_the_system(_: MetalDraft, hosts: Hosts) -> Iterable[Observation]:
    """The operating system's disk is not used as scratch or storage, and no disk is named twice."""
    twice = sorted(disk for disk, count in Counter(hosts.disks).items() if count > 1)
    said = [f"{disk} is there twice" for disk in twice]
    if hosts.os_disk in hosts.disks:
        said.append(f"{hosts.os_disk} holds the operating system")
    if said:
        yield Observation(
            path="disks",
            sentence=", ".join(said),
            remedy="take it off the list",
            inputs={"disks": str(len(hosts.disks))},
        )


@metal_warning(
    "B09",
    each=ranges,
    formula="machines of pools with drives of their own name disks",
    source="the drives of the server's row in the catalogue",
)
def scratch_unnamed(draft: MetalDraft, hosts: Hosts) -> Iterable[Observation]:
    """Drives that nobody names stay empty, and what pods write fills the disk of the operating system."""
    pool = draft.pools.get(hosts.pool or "")
    if pool and pool.nvme and not hosts.disks:
        drives = f"{pool.nvme.count} drives of {pool.nvme.size_gb} GB"
        yield Observation(
            path="disks",
            sentence=f"{pool.hardware} has {drives}, and {hosts.name} names none",
            remedy="name the drives that pods may fill, by /dev/disk/by-path",
            inputs={"drives": str(pool.nvme.count), "named": "0"},
        )


@metal_rule(
    "D05 L05",
    formula="driver: host on DGX systems, and where the management card has RDMA",
    source="NVIDIA Network Operator release notes, limitations (DGX); Mellanox/network-operator issue 2176",
)
def driver_in_containers(draft: MetalDraft) -> Iterable[Observation]:
    """Containers own no driver of a DGX system, whose image brings it, nor of a card that carries the machine's own
    address: it goes away while the driver is loaded, and the node with it."""
    inventory = draft.settings.inventory
    if inventory is None or inventory.driver == "host":
        return
    for name, pool in draft.pools.items():
        cards = [group.nic.name for group in of_role(pool.server.nics, NicRole.MANAGEMENT) if group.nic.rdma]
        dgx = pool.server.name.startswith("DGX ")
        if pool.gpus_per_node and (dgx or cards):
            why = "is a DGX system" if dgx else f"is reached through its {cards[0]}"
            yield Observation(
                path="inventory.driver",
                sentence=f"{pool.hardware} of pool {name} {why}, and containers would load its drivers anew",
                remedy="set it to host, and have the drivers in the machines' image",
                subject=name,
                inputs={"server": pool.hardware},
            )


@metal_rule(
    "B10",
    each=ranges,
    formula="rails are as many as the server's compute ports; none manages",
    source="the cards of the server's row in the catalogue",
)
def rails_of_the_server(draft: MetalDraft, hosts: Hosts) -> Iterable[Observation]:
    """What is named as a rail is a compute port: with one too many, a card of storage or management is among them."""
    pool = draft.pools.get(hosts.pool or "")
    if pool and hosts.rails and len(hosts.rails) != pool.rails:
        yield Observation(
            path="rails",
            sentence=f"names {len(hosts.rails)} ports, and {pool.hardware} has {pool.rails} compute ports",
            remedy="name the compute ports alone, in rail order, or leave the key out",
            inputs={"named": str(len(hosts.rails)), "compute ports": str(pool.rails)},
        )
    if twice := sorted(port for port, count in Counter(hosts.rails).items() if count > 1):
        yield Observation(
            path="rails",
            sentence=f"{', '.join(twice)} is there twice",
            remedy="name each port once",
            inputs={"named": str(len(hosts.rails))},
        )
    nic = hosts.management_nic or ""
    if _NO_ADDRESS.fullmatch(nic) or any(_by_path(port).match(nic) for port in hosts.rails):
        yield Observation(
            path="managementNic",
            sentence=f"{nic} is the loopback or the name of a rail, which carries nothing but the fabric",
            remedy="name the interface of the machine's own address",
            inputs={"interface": nic},
        )


def _by_path(port: str) -> re.Pattern[str]:
    """The name that systemd gives the Ethernet interface at a PCI address: enp24s0f0np0 at 0000:18:00.0."""
    domain, bus, slot, function = (int(part, 16) for part in re.split("[:.]", port))
    where = f"P{domain}" if domain else ""
    return re.compile(rf"en{where}p{bus}s{slot}" + (rf"f{function}(np\d+)?$" if function else r"(f0)?(np\d+)?$"))


@metal_warning(
    "F04",
    formula="an address is not the only one of timeServers",
    source="RFC 8633, section 3.2: nothing shows that the only source of time is wrong",
)
def time_server_alone(draft: MetalDraft) -> Iterable[Observation]:
    """Machines do not follow one clock alone, wherever it goes. A name may stand for several servers."""
    servers = draft.settings.inventory.time_servers if draft.settings.inventory else ()
    if len(servers) == 1 and servers[0].replace(".", "").isdigit():
        yield Observation(
            path="inventory.timeServers",
            sentence=f"{servers[0]} is the only clock: if it is wrong, all machines are; if it fails, they drift apart",
            remedy="name a second and a third server, or a name that stands for several",
            inputs={"servers": servers[0]},
        )
