"""Machines of an inventory: each is listed once, has a place, and has one purpose."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network

from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.findings import Observation
from planner.site import HostPlan
from settings.inventory import Hosts, Member
from settings.switches import SwitchMember


def ranges(draft: MetalDraft) -> Iterator[tuple[str, Hosts]]:
    """The entries of the inventory, each a range of machines, with their settings paths."""
    inventory = draft.settings.inventory
    return ((f"inventory.hosts[{place}]", hosts) for place, hosts in enumerate(inventory.hosts if inventory else ()))


def machines(draft: MetalDraft) -> Iterator[tuple[str, Member, Hosts]]:
    """The machines one by one, with the settings path of the entry that each is of, and that entry."""
    inventory = draft.settings.inventory
    there = inventory.members() if inventory else ()
    return ((f"inventory.hosts[{member.place}]", member, hosts) for hosts, member in there)


def _hosts(draft: MetalDraft) -> tuple[HostPlan, ...]:
    return draft.site.hosts if draft.site else ()


@metal_rule(
    "F08",
    formula="machines of a pool = its count; machines that serve storage = its servers",
    source="the counts of pools and servers, which power, fabric and addresses are planned for",
)
def machines_counted(draft: MetalDraft) -> Iterable[Observation]:
    """Every node and every server of the file system is a machine of the inventory, and no machine is of a pool that
    there is not."""
    if draft.settings.inventory is None:
        return
    wanted = {f"pool {pool.name}": (pool.count, f"pools[{i}].count") for i, pool in enumerate(draft.settings.pools)}
    for each in draft.settings.storage.servers:
        before = wanted.get(f"storage {each.role}", (0, ""))[0]
        wanted[f"storage {each.role}"] = (before + each.count, f"storage.{each.key.partition('.')[0]}")
    there = Counter(f"pool {host.pool}" if host.pool else f"storage {host.storage}" for host in _hosts(draft))
    for what in sorted(wanted.keys() | there.keys()):
        count, path = wanted.get(what, (0, "inventory.hosts"))
        if count != there[what]:
            declared = f"the stack file declares {count}" if what in wanted else f"the stack file has no {what}"
            yield Observation(
                path=path,
                sentence=f"the inventory has {there[what]} machines of {what}, and {declared}",
                remedy="name the machines that are missing, or correct pool, storage or count",
                subject=what,
                inputs={"machines": str(there[what]), "declared": str(count)},
            )


@metal_rule(
    "F08 B15",
    formula="names, addresses, serials and keys are each of one machine",
    source="Kubernetes documentation, Nodes: names are unique; sshd(8): a host key is one machine's",
)
def machine_twice(draft: MetalDraft) -> Iterable[Observation]:
    """No two machines share a name, an address, a serial number, a host key or an Ethernet address: of two entries for
    one machine the second would be prepared over the first."""
    seen: dict[tuple[str, str], str] = {}
    for path, member, _ in machines(draft):
        found = {
            "name": member.name,
            "address": member.address,
            "bmc": member.bmc,
            "serials": member.serial,
            "macs": member.mac,
            "hostKeys": member.host_key,
        }
        for key, value in found.items():
            # An address of the hosts' is none of their management controllers, either.
            kind = "address" if key == "bmc" else key
            if value is None:
                continue
            if (kind, value) in seen:
                other = seen[kind, value]
                shown = f"{value[:40]}..." if len(value) > 40 else value
                both = "two machines have" if other == member.name else f"{other} and {member.name} both have"
                yield Observation(
                    path=f"{path}.{key}",
                    sentence=f"{both} {shown}",
                    remedy="correct one of the two",
                    subject=member.name,
                    inputs={key: shown, "machines": f"{other}, {member.name}"},
                )
            seen.setdefault((kind, value), member.name)


@metal_rule(
    "B15",
    formula="units of a rack are each taken by one machine, and it has them",
    source="EIA-310: a unit of a rack holds one device",
)
def rack_unit_twice(draft: MetalDraft) -> Iterable[Observation]:
    """No two machines or switches stand in one place, and none above the rack's last unit."""
    taken: dict[tuple[str, int], str] = {}
    most = draft.settings.facility.racks.units
    for path, device, height in _standing(draft):
        if device.rack is None or device.unit is None:
            continue
        top = device.unit + height - 1
        units = f"units {device.unit} to {top}" if height > 1 else f"unit {top}"
        if top > most:
            yield Observation(
                path=path,
                sentence=f"{device.name} takes {units} of rack {device.rack}, which has {most}",
                remedy="place it lower",
                subject=device.name,
                inputs={"top": str(top), "units": str(most)},
            )
        others = {taken[place] for unit in range(device.unit, top + 1) if (place := (device.rack, unit)) in taken}
        for other in sorted(others):
            yield Observation(
                path=path,
                sentence=f"{device.name} takes {units} of rack {device.rack}, which {other} takes",
                remedy="correct racks or units",
                subject=device.name,
                inputs={"rack": device.rack, "units": f"{device.unit} to {top}"},
            )
        taken |= {(device.rack, unit): device.name for unit in range(device.unit, top + 1)}


def _standing(draft: MetalDraft) -> Iterator[tuple[str, Member | SwitchMember, int]]:
    """What stands in racks: the path of its units, itself, and how many units it takes."""
    for path, member, hosts in machines(draft):
        yield f"{path}.units", member, _height(draft, hosts)
    inventory, switch = draft.settings.inventory, draft.catalogue.switches.get(draft.settings.fabric.switch)
    for each in inventory.switch_members() if inventory else ():
        yield f"inventory.switches[{each.place}].units", each, switch.rack_units if switch else 1


def _height(draft: MetalDraft, hosts: Hosts) -> int:
    """Units of a machine; 1 where its row is not known, which another rule says."""
    if hosts.pool is not None:
        pool = draft.pools.get(hosts.pool)
        return pool.server.rack_units if pool else 1
    rows = draft.catalogue.storage_servers
    return next(
        (
            rows[each.row].rack_units
            for each in draft.settings.storage.servers
            if each.role == hosts.storage and each.row in rows
        ),
        1,
    )


@metal_rule(
    "F08 F06",
    each=machines,
    formula="address in managementCidr, bmc in bmcCidr",
    source="the ranges of the platform, which firewall rules and network policies name",
)
def machine_elsewhere(draft: MetalDraft, member: Member, _hosts: Hosts) -> Iterable[Observation]:
    """Machines have addresses of the management network, and their controllers those of the controllers' own, which
    pods cannot reach."""
    ranges = {
        "address": ("managementCidr", draft.settings.platform.management_cidr),
        "bmc": ("bmcCidr", draft.settings.platform.bmc_cidr),
    }
    for key, value in (("address", member.address), ("bmc", member.bmc)):
        name, cidr = ranges[key]
        if value is not None and IPv4Address(value) not in IPv4Network(cidr):
            yield Observation(
                path=key,
                sentence=f"{member.name} has {value}, which is not in platform.{name} {cidr}",
                remedy=f"give it an address of {cidr}, or correct the range",
                inputs={"address": value, "range": cidr},
            )


@metal_rule(
    "F08",
    formula="endpoint in managementCidr, and no machine's",
    source="kube-vip documentation, Static Pods: the address is moved between control plane nodes by gratuitous ARP",
)
def api_address(draft: MetalDraft) -> Iterable[Observation]:
    """The address of the API is one of the management network that nobody else has: neighbours are asked for it, and it
    moves from machine to machine."""
    inventory, platform = draft.settings.inventory, draft.settings.platform
    if inventory is None:
        return
    address = IPv4Address(inventory.endpoint)
    others = {
        "platform.podCidr": platform.pod_cidr,
        "platform.serviceCidr": platform.service_cidr,
        "platform.bmcCidr": platform.bmc_cidr,
        **({"fabric.railCidr": draft.settings.fabric.rail_cidr} if draft.settings.fabric.rail_cidr else {}),
    }
    inside = [f"in {path} {cidr}" for path, cidr in others.items() if address in IPv4Network(cidr)]
    own = IPv4Network(platform.management_cidr)
    if address not in own:
        inside.append(f"not in platform.managementCidr {own}")
    elif address in (own.network_address, own.broadcast_address):
        inside.append(f"the first or the last address of platform.managementCidr {own}, which no machine has")
    inside += [
        f"the address of {host.name}" for host in _hosts(draft) if inventory.endpoint in (host.address, host.bmc)
    ]
    if inside:
        yield Observation(
            path="inventory.endpoint",
            sentence=f"{address} is {', '.join(inside)}",
            remedy=f"take a free address of {platform.management_cidr}",
            inputs={"address": str(address)},
        )


@metal_warning(
    "KJ29",
    formula="control plane machines in a rack < a majority of them",
    source="etcd documentation, FAQ: failure tolerance by cluster size",
)
def control_plane_in_one_rack(draft: MetalDraft) -> Iterable[Observation]:
    """No rack holds a majority of the control plane: it would end with the rack's supply."""
    machines = draft.site.control_plane if draft.site else ()
    racks: Mapping[str, list[str]] = defaultdict(list)
    for host in machines:
        if host.rack is not None:
            racks[host.rack].append(host.name)
    for rack, names in sorted(racks.items()):
        if len(machines) > 1 and 2 * len(names) > len(machines):
            yield Observation(
                path="inventory.hosts",
                sentence=f"{', '.join(names)} of {len(machines)} control plane machines stand in rack {rack}",
                remedy="spread them over racks with supplies of their own",
                subject=rack,
                inputs={"in the rack": str(len(names)), "machines": str(len(machines))},
            )
