"""What the fabric needs to run: a subnet manager, lossless Ethernet, addresses, switches that are there and reduce."""

from collections.abc import Iterable, Iterator

from catalogue.network_types import NicGroup, Switch
from planner.draft import MetalDraft, metal_rule
from planner.fabric.design import FabricDesign, names
from planner.fabric.plan import Asked, asked, compute_cards, joins, prefix_for_rails, rail_networks
from planner.fabric.topology import Growth
from planner.findings import Observation
from planner.pool_types import MetalPoolPlan
from planner.rules.known import known_pools


@metal_rule("E04", formula="pfc and ecn, if kind = roce", source="NVIDIA recommended network configuration for RoCE v2")
def roce_lossless(draft: MetalDraft) -> Iterable[Observation]:
    """RoCE runs on Ethernet that drops nothing: priority flow control and congestion notification, both."""
    fabric = draft.settings.fabric
    missing = [name for name, is_set in (("pfc", fabric.pfc), ("ecn", fabric.ecn)) if not is_set]
    if fabric.kind == "roce" and missing:
        yield Observation(
            path=f"fabric.{missing[0]}",
            sentence=f"RoCE without {' and '.join(missing)} loses packets where several nodes send to one, and a loss "
            "costs a round trip of everything behind it",
            remedy=f"configure {' and '.join(missing)} on the switches (make plan TABLE=switches), then set the keys",
        )


_ROCE_HEADERS = 96
ROCE_MTU = 4200
"""Bytes of a packet of RoCE v2 with 4096 of payload: headers take 96 (Linux, include/rdma/ib_addr.h, iboe_get_mtu)."""


@metal_rule(
    "E19",
    formula=f"mtu >= {ROCE_MTU}, if kind = roce; none, if kind = infiniband",
    source="Linux, include/rdma/ib_addr.h: iboe_get_mtu; opensm(8), partition configuration: mtu=5 is 4096",
)
def fabric_mtu(draft: MetalDraft) -> Iterable[Observation]:
    """Packets of RDMA hold 4096 bytes where the interface lets them through; InfiniBand's are the subnet manager's."""
    fabric = draft.settings.fabric
    if fabric.mtu is None:
        return
    if fabric.kind == "infiniband":
        yield Observation(
            path="fabric.mtu",
            sentence="on InfiniBand the subnet manager gives each partition its MTU (4096 bytes; IPoIB has 4 fewer), "
            "and no interface is set",
            remedy="remove the key; with opensm say mtu=5 in partitions.conf",
        )
    elif fabric.kind == "roce" and fabric.mtu < ROCE_MTU:
        payload = max((each for each in (256, 512, 1024, 2048) if each + _ROCE_HEADERS <= fabric.mtu), default=256)
        yield Observation(
            path="fabric.mtu",
            sentence=f"{fabric.mtu} bytes leave packets of RDMA {payload} of payload, not 4096",
            remedy=f"take {ROCE_MTU} or more, such as 9000, on switches too",
            inputs={"mtu": f"{fabric.mtu} bytes", "payload": f"{payload} bytes"},
        )


@metal_rule(
    "E04 F09",
    formula="rails x (nodes + 2, up to a power of 2) <= 2^(32 - prefix)",
    source="InfiniBand architecture specification, annex A17 (RoCE v2)",
)
def roce_rail_networks(draft: MetalDraft) -> Iterable[Observation]:
    """RoCE v2 is routed by IP address, and each rail has a network of its own."""
    fabric, ask = draft.settings.fabric, ask_of(draft)
    if fabric.kind != "roce" or ask is None or fabric.pod_devices != "sharedDevice":
        return
    rails, prefix = ask.demand.rails, prefix_for_rails(ask.demand.rails, ask.most)
    if fabric.rail_cidr is None:
        sentence = f"RoCE needs an address for each of {rails} ports of {ask.most} nodes, and no range is given"
    elif rail_networks(fabric.rail_cidr, rails, ask.most) is None:
        sentence = f"{fabric.rail_cidr} does not divide into {rails} networks for {ask.most} nodes each"
    else:
        return
    yield Observation(
        path="fabric.railCidr",
        sentence=sentence,
        remedy=f"give a private /{prefix}",
        inputs={"rails": str(rails), "nodes": str(ask.most)},
    )


@metal_rule(
    "FB05 E14",
    formula="subnetManager is not none if kind = infiniband, and none otherwise; switch only if it is managed",
    source="InfiniBand architecture specification: ports wait for a subnet manager",
)
def subnet_manager(draft: MetalDraft) -> Iterable[Observation]:
    """InfiniBand has a subnet manager: without one every port stays in INIT and no packet passes."""
    fabric, switch = draft.settings.fabric, switch_of(draft)
    manager = fabric.subnet_manager
    if fabric.kind != "infiniband":
        if manager != "none":
            yield Observation(
                path="fabric.subnetManager",
                sentence=f"{manager} manages InfiniBand subnets, and the fabric is {fabric.kind}",
                remedy="remove the key",
            )
    elif manager == "none":
        yield Observation(
            path="fabric.subnetManager",
            sentence="no subnet manager is named, so nothing gives the ports their addresses and all of them stay "
            "in INIT",
            remedy="take opensm or ufm" + (", or switch" if switch and switch.managed else ""),
        )
    elif manager == "switch" and switch and not switch.managed:
        yield Observation(
            path="fabric.subnetManager",
            sentence=f"{switch.name} is managed from outside and runs no subnet manager",
            remedy="take opensm or ufm, or the managed model",
            subject=switch.name,
        )


@metal_rule(
    "E11",
    formula="subnetManager = opensm or ufm, if sharp",
    source='NVIDIA SHARP deployment guide, "Setting up NVIDIA SHARP Environment": subnet managers of switches are off',
)
def sharp_manager(draft: MetalDraft) -> Iterable[Observation]:
    """Reductions in the network have an aggregation manager, which runs on a server beside the subnet manager."""
    fabric = draft.settings.fabric
    if fabric.sharp and fabric.subnet_manager == "switch":
        yield Observation(
            path="fabric.subnetManager",
            sentence="the aggregation manager of sharp runs beside a subnet manager on a server, and here it is the "
            "switch's own",
            remedy="take opensm or ufm and start sharp_am there, or remove fabric.sharp",
        )


@metal_rule(
    "E11",
    formula="the switch reduces in the network, if sharp",
    source="NVIDIA SHARP documentation; data sheets of the catalogue's switches",
)
def sharp_switch(draft: MetalDraft) -> Iterable[Observation]:
    """Reductions in the network are done by InfiniBand switches that can."""
    fabric, switch = draft.settings.fabric, switch_of(draft)
    if not fabric.sharp or switch is None or switch.sharp:
        return
    able = [row.name for row in draft.catalogue.switches.values() if row.sharp and row.link is switch.link]
    yield Observation(
        path="fabric.sharp",
        sentence=f"{switch.name} ({switch.generation.upper()}) cannot reduce in the network",
        remedy=f"remove the key{', or take one of ' + ', '.join(able) if able else ''}",
        subject=switch.name,
    )


@metal_rule(
    "E15",
    formula="names and GUIDs of inventory.switches are each of one switch of the cable list",
    source="make plan TABLE=cables: what is printed on the cables' labels",
)
def fabric_switch_unnamed(draft: MetalDraft) -> Iterable[Observation]:
    """A switch that is called otherwise than the cable list calls it, or twice, would not be found by its labels."""
    inventory, growth = draft.settings.inventory, growth_of(draft)
    if inventory is None:
        return
    there = _switches(growth.at_maximum) if growth else set()
    seen: set[str | int] = set()
    for each in inventory.switch_members():
        path = f"inventory.switches[{each.place}]"
        if each.name not in there:
            yield Observation(
                path=f"{path}.name",
                sentence=f"the fabric has no switch {each.name}",
                remedy=f"call switches as the cable list does: {_some(there)}",
                subject=each.name,
            )
        for key, value in (("name", each.name), ("guids", each.guid)):
            if value in seen:
                shown = f"{value:#018x}" if isinstance(value, int) else value
                yield Observation(
                    path=f"{path}.{key}",
                    sentence=f"two switches have {shown}",
                    remedy="correct one of the two",
                    subject=each.name,
                )
            if value is not None:
                seen.add(value)


def _switches(design: FabricDesign) -> set[str]:
    planes = [names(design, plane=plane) for plane in range(design.planes)]
    return {name for named in planes for name in (*named.leaves, *named.spines, *named.cores)}


def _some(there: set[str]) -> str:
    first = sorted(there)[:3]
    return (
        f"{', '.join(first)} and {len(there) - len(first)} more (make plan TABLE=cables)" if first else "there are none"
    )


def switch_of(draft: MetalDraft) -> Switch | None:
    """The fabric's switch, None where the catalogue does not have it."""
    return draft.catalogue.switches.get(draft.settings.fabric.switch)


def ask_of(draft: MetalDraft) -> Asked | None:
    """What the settings ask of the fabric, None where no node joins one."""
    return asked(draft.settings.fabric, draft.pools, draft.catalogue.switches)


def growth_of(draft: MetalDraft) -> Growth | None:
    """The fabric, None where there is none or it cannot be built."""
    ask = ask_of(draft)
    return ask.growth() if ask else None


def joined(draft: MetalDraft) -> Iterator[tuple[str, MetalPoolPlan]]:
    """Pools on the fabric, each with its settings path."""
    return ((path, plan) for path, _, plan in known_pools(draft) if joins(plan))


def cards_of(draft: MetalDraft) -> Iterator[tuple[str, MetalPoolPlan, NicGroup]]:
    """Compute cards on the fabric, each with the settings path of its pool's server."""
    for path, pool in joined(draft):
        for group in compute_cards(pool):
            yield f"{path}.server", pool, group
