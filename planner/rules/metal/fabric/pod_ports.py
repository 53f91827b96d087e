"""What pods get of the fabric where they do not share its ports: virtual functions, or the ports themselves."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network

from planner.draft import MetalDraft, metal_rule
from planner.fabric.plan import joins, per_port, prefix_for_rails, rail_networks
from planner.findings import Observation
from planner.rules.metal.fabric.service import ask_of, cards_of
from planner.rules.metal.machines import ranges

MOST_VFS = 16
"""Virtual functions of a port of InfiniBand that the kernel can list: an answer of netlink holds no more."""

_OPERATOR = "NVIDIA Network Operator documentation, release notes, known limitations"


def own_ports(draft: MetalDraft) -> bool:
    """Whether pods get ports of their own."""
    return draft.settings.fabric.pod_devices != "sharedDevice"


@metal_rule(
    "L03 L04",
    formula="if podDevices is not sharedDevice: a pool joins the fabric, its kind is not ethernet, each compute card "
    "has RDMA",
    source="sriov-network-device-plugin, README (isRdma); Network Operator documentation, deployment examples",
)
def pod_devices_cards(draft: MetalDraft) -> Iterable[Observation]:
    """Cards whose ports go to pods are there, and have RDMA: over sockets pods use the cluster's own network."""
    mode, kind = draft.settings.fabric.pod_devices, draft.settings.fabric.kind
    if not own_ports(draft):
        return
    if kind == "ethernet":
        yield Observation(
            path="fabric.podDevices",
            sentence=f"{mode} hands ports of the fabric to pods, and on a fabric of kind ethernet NCCL takes sockets "
            "of the cluster's own network",
            remedy="remove the key, or take infiniband or roce with cards that have RDMA",
        )
        return
    found = list(cards_of(draft))
    if not found:
        yield Observation(
            path="fabric.podDevices",
            sentence=f"{mode} hands ports of the fabric to pods, and no training pool's servers have compute cards",
            remedy="remove the key, or take servers with compute cards",
        )
    for path, pool, group in found:
        if not group.nic.rdma:
            yield Observation(
                path=path,
                sentence=f"{group.nic.name} of {pool.hardware} has no RDMA, and nothing of it can be handed to pods "
                f"({mode})",
                remedy="take a server with cards of NVIDIA's, or remove fabric.podDevices",
                subject=pool.name,
            )


@metal_rule("L03", formula=f"vfsPerPort <= {MOST_VFS}, and 1 unless sriov", source=_OPERATOR)
def virtual_functions(draft: MetalDraft) -> Iterable[Observation]:
    """A port has no more virtual functions than the kernel can list, and some only where pods get them."""
    wanted, mode = draft.settings.fabric.vfs_per_port, draft.settings.fabric.pod_devices
    if wanted > 1 and mode != "sriov":
        yield Observation(
            path="fabric.vfsPerPort",
            sentence=f"asks for {wanted} virtual functions, and with podDevices: {mode} there are none",
            remedy="remove the key, or set podDevices: sriov",
        )
    elif wanted > MOST_VFS:
        yield Observation(
            path="fabric.vfsPerPort",
            sentence=f"asks for {wanted} virtual functions of a port, and the kernel lists {MOST_VFS} at most",
            remedy=f"take {MOST_VFS} or fewer; a pod that takes a whole node needs 1",
            inputs={"asked for": str(wanted), "most": str(MOST_VFS)},
        )


@metal_rule(
    "F09 L03",
    formula="ports x (nodes x pods of a port + 2, up to a power of 2) <= 2^(32 - prefix); no storageAddress inside",
    source="nvidia-k8s-ipam, pkg/ipam-controller/allocator: blocks of perNodeBlockSize, from the second address to the "
    "last but one",
)
def pod_port_addresses(draft: MetalDraft) -> Iterable[Observation]:
    """Each port of a node has a network for its pods, in which every node has a block; nobody else has addresses
    there."""
    fabric, ask = draft.settings.fabric, ask_of(draft)
    if not own_ports(draft) or ask is None:
        return
    each = per_port(fabric)
    needed = ask.most * each
    inputs = {"ports": str(ask.ports), "nodes": str(ask.most), "pods of a port": str(each)}
    if fabric.rail_cidr is None:
        sentence = f"pods need an address on each of {ask.ports} ports of {ask.most} nodes, and no range is given"
    elif rail_networks(fabric.rail_cidr, ask.ports, needed) is None:
        sentence = f"{fabric.rail_cidr} does not divide into {ask.ports} networks of {needed} pods each"
    else:
        yield from _taken(draft, IPv4Network(fabric.rail_cidr))
        return
    remedy = f"give a private /{prefix_for_rails(ask.ports, needed)}"
    yield Observation(path="fabric.railCidr", sentence=sentence, remedy=remedy, inputs=inputs)


def _taken(draft: MetalDraft, pods: IPv4Network) -> Iterable[Observation]:
    for path, hosts in ranges(draft):
        addresses = (each for member in hosts.members(0) for each in member.storage_addresses)
        inside = [each for each in addresses if IPv4Address(each) in pods]
        if inside:
            yield Observation(
                path=f"{path}.storageAddresses",
                sentence=f"{inside[0]} is in fabric.railCidr {pods}, whose addresses pods get",
                remedy="take addresses of another range",
                subject=hosts.name,
                inputs={"range": str(pods)},
            )


@metal_rule(
    "L03",
    formula="if podDevices is not sharedDevice: rails of each machine that joins, each address the same rail on all",
    source="SR-IOV Network Operator, SriovNetworkNodePolicy (pfNames); sriov-network-device-plugin, README "
    "(pciAddresses)",
)
def pod_ports_named(draft: MetalDraft) -> Iterable[Observation]:
    """Machines whose ports go to pods name them: rail 3 of a pod is rail 3 of its node, and plugged into leaf 3."""
    if not own_ports(draft):
        return
    seen: dict[str, int] = {}
    for path, hosts in ranges(draft):
        pool = draft.pools.get(hosts.pool or "")
        if pool is None or not joins(pool):
            continue
        if not hosts.rails:
            yield Observation(
                path=f"{path}.rails",
                sentence=f"is missing, and pods get each port of {hosts.name} by its number "
                f"(podDevices: {draft.settings.fabric.pod_devices})",
                remedy="name the PCI addresses of the compute ports in rail order (lspci -D; ibdev2netdev)",
                subject=hosts.name,
            )
        for number, address in enumerate(hosts.rails):
            if seen.setdefault(address, number) != number:
                yield Observation(
                    path=f"{path}.rails",
                    sentence=f"{address} is rail {number} here and rail {seen[address]} of other machines",
                    remedy="name the ports in one order on all machines, or give these a stack of their own",
                    subject=hosts.name,
                )
                break
