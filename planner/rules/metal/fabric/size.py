"""The compute fabric's size: ports now and after growth, oversubscription, the effect of a failure."""

from collections.abc import Iterable
from dataclasses import replace

from catalogue.network_types import NicRole
from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.fabric.cabling import worst_pair
from planner.fabric.design import Topology, bisection_gbit_per_s, injection_gbit_per_s, oversubscription
from planner.fabric.plan import Asked, compute_cards
from planner.fabric.ports import leaf_split
from planner.fabric.topology import most_nodes
from planner.findings import Observation
from planner.pool_types import MetalPoolPlan
from planner.rules.metal.fabric.service import ask_of, growth_of, joined
from planner.storage.limits import in_use

_MOST_PORTS = 4096
"""What fabric.storagePorts may be."""
_SUPERPOD = "NVIDIA DGX SuperPOD reference architecture, compute fabric"
_CAPACITY = "nodes <= units x (ports / 2 - spare); units = ports // rails, with three tiers ports // 2 // rails x ports"


@metal_rule("FB03 FB04 A07", formula=_CAPACITY, source=_SUPERPOD)
def fabric_too_small(draft: MetalDraft) -> Iterable[Observation]:
    """Nodes, storage, the subnet manager and spare ports fit on switches of this kind in this topology."""
    ask = ask_of(draft)
    if ask is None or ask.growth() or ask.growth(added=False):
        return
    section, demand = draft.settings.fabric, ask.demand
    topology = _topology(ask)
    down = leaf_split(ask.radix.ports, ask.oversubscription).down
    if topology is not Topology.SINGLE and demand.spare_leaf_ports >= down:
        yield Observation(
            path="fabric.spareLeafPorts",
            sentence=f"{demand.spare_leaf_ports} spare ports take all of the {down} that a leaf of "
            f"{ask.radix.ports} has for nodes",
            remedy=f"set it to at most {down - 1}",
            inputs={"spare": f"{demand.spare_leaf_ports} ports", "down": f"{down} ports"},
        )
        return
    yield Observation(
        path="fabric.switch" if section.topology == "auto" else "fabric.topology",
        sentence=f"{_wanted(ask)} are more than a {topology} fabric of {ask.switch.name} holds, which is "
        f"{_most(ask)} such nodes",
        remedy=_larger(topology),
        inputs={"endpoints": f"{demand.endpoints} ports", "switch": f"{ask.radix.ports} ports"},
    )


@metal_rule("A05 A07 FB13", formula=_CAPACITY, source=_SUPERPOD)
def fabric_growth(draft: MetalDraft) -> Iterable[Observation]:
    """The declared growth fits without building the fabric anew."""
    ask = ask_of(draft)
    if ask is None or ask.growth() or not ask.growth(added=False):
        return
    path, growing = next((path, pool) for path, pool in joined(draft) if pool.most > pool.count)
    yield Observation(
        path=f"{path}.maxCount",
        sentence=f"{ask.demand.nodes} nodes fit, and the {ask.most} declared ones do not: a {_topology(ask)} fabric "
        f"of {ask.switch.name} ends at {_most(ask)}",
        remedy=_larger(_topology(ask)),
        subject=growing.name,
        inputs={"declared": f"{ask.most} nodes", "largest": f"{_most(ask)} nodes"},
    )


@metal_warning(
    "FB03 A14",
    formula="min(ports x rate, uplinks x rate) / 2 >= ports x rate / 2",
    source="Bisection bandwidth: Dally and Towles 2004, Principles and Practices of Interconnection Networks",
)
def fabric_oversubscribed(draft: MetalDraft) -> Iterable[Observation]:
    """Half of the nodes reach the other half at full rate, or the stack file asks for less."""
    ask, growth = ask_of(draft), growth_of(draft)
    if ask is None or growth is None or oversubscription(growth.day_one) <= 1:
        return
    rate = ask.cards.nic.gbit_per_s
    carried = bisection_gbit_per_s(growth.day_one, rate, ask.radix.gbit_per_s)
    wanted = injection_gbit_per_s(growth.day_one, rate) / 2
    yield Observation(
        path="fabric.oversubscription",
        sentence=f"leaves have {oversubscription(growth.day_one):.3g} ports down for each up, so {carried:g} of "
        f"{wanted:g} Gb/s pass between halves of the nodes, and collectives across them slow down as much",
        remedy="set it to 1, or keep jobs within a leaf or rail",
        inputs={"bisection": f"{carried:g} Gb/s", "half of the cards": f"{wanted:g} Gb/s"},
    )


@metal_warning(
    "FB03 A14",
    formula="after the declared growth, ports down that are taken on the fullest leaf >= its uplinks",
    source="NVIDIA DGX SuperPOD reference architecture, compute fabric: as many ports up as down",
)
def fabric_uplinks_idle(draft: MetalDraft) -> Iterable[Observation]:
    """No links are bought between leaves and spines that the declared nodes cannot fill, unless somebody wants them."""
    ask, growth = ask_of(draft), growth_of(draft)
    if ask is None or growth is None or (ratio := oversubscription(growth.at_maximum)) >= 1:
        return
    most = growth.at_maximum
    others = ((each, other.at_maximum) for each in Topology if (other := replace(ask, topology=each).growth()))
    name, cheaper = min(others, key=lambda other: other[1].leaf_spine_cables)
    if cheaper.leaf_spine_cables < most.leaf_spine_cables:
        needs = str(cheaper.leaf_spine_cables) if cheaper.spines else "none, as one switch carries all nodes"
        yield Observation(
            path="fabric.topology",
            sentence=f"leaves have {1 / ratio:.3g} times the uplinks that {most.demand.nodes} nodes can fill: "
            f"{most.leaf_spine_cables} leaf-spine links are bought, and a {name} fabric needs {needs}",
            remedy=f"set it to {name}, declare the growth that fills the leaves, or waive this rule",
            inputs={"down for each up": f"{ratio:.3g}", "links": str(most.leaf_spine_cables)},
        )


@metal_warning(
    "FB03 A14",
    formula="links of two leaves by common spines >= uplinks of the smaller leaf",
    source=_SUPERPOD,
)
def fabric_uneven_spines(draft: MetalDraft) -> Iterable[Observation]:
    """Spines divide the uplinks of the leaves, so that each pair of leaves has what either sends up."""
    growth = growth_of(draft)
    if growth is None or growth.day_one.cores or (part := worst_pair(growth.day_one)) >= 1:
        return
    spines = growth.day_one.spines
    yield Observation(
        path="fabric.topology",
        sentence=f"{spines} spines do not divide the leaves' uplinks evenly: between two of the leaves pass {part:.0%} "
        "of what either sends up",
        remedy="declare growth (maxCount), for which all uplinks are plugged and divided evenly, or accept it",
        inputs={"spines": str(spines), "worst pair": f"{part:.3f}"},
    )


@metal_rule(
    "FB03",
    formula="storagePorts >= servers x storage ports of each",
    source="Definition of the stack file (fabric.storagePorts); ports of the catalogue's rows",
)
def fabric_storage_ports(draft: MetalDraft) -> Iterable[Observation]:
    """Storage that is on the compute fabric has ports there."""
    lustre = draft.settings.storage.lustre
    if lustre is None or lustre.network != "compute":
        return
    needed = 0
    for each in draft.settings.storage.servers:
        row = draft.catalogue.storage_servers.get(each.row)
        cards = in_use(row.nics, NicRole.STORAGE, lustre.nics_per_server if each.role == "oss" else None) if row else ()
        needed += each.count * (sum(group.ports for group in cards) or 1)
    there = draft.settings.fabric.storage_ports
    if there < needed:
        yield Observation(
            path="fabric.storagePorts",
            sentence=f"{lustre.count} object and {lustre.mds_count} metadata servers take {needed} ports of the "
            f"compute fabric, and {there} are kept for storage",
            remedy=(f"set storagePorts to {needed}, or " if needed <= _MOST_PORTS else "set ")
            + "storage.lustre.network to storage",
            inputs={"needed": f"{needed} ports", "kept": f"{there} ports"},
        )


@metal_warning(
    "FB05 E06",
    formula="planes >= 2 or spines >= 2, if lifecycle.protect",
    source="Definition of the planner: one failure stops a part",
)
def fabric_one_switch(draft: MetalDraft) -> Iterable[Observation]:
    """In production (lifecycle.protect) no single switch carries the whole fabric."""
    growth = growth_of(draft)
    if growth is None or not draft.settings.lifecycle.protect or growth.day_one.planes > 1:
        return
    design = growth.day_one
    if design.spines > 1:
        return
    what = "the only spine connects all leaves" if design.spines else "one switch carries the fabric"
    yield Observation(
        path="fabric.topology",
        sentence=f"{what}: when it fails, jobs on {design.demand.nodes} nodes stop",
        remedy="set redundant (cards with two ports), or take a topology with several spines",
        inputs={"nodes": str(design.demand.nodes), "spines": str(design.spines)},
    )


@metal_rule("E13", formula="ports of a card >= 2, if redundant", source="Data sheets of the catalogue's cards")
def fabric_planes(draft: MetalDraft) -> Iterable[Observation]:
    """A second plane reaches every card."""
    if not draft.settings.fabric.redundant:
        return
    for _, pool in joined(draft):
        single = [group.nic for group in compute_cards(pool) if group.nic.ports < 2]
        if single:
            yield Observation(
                path="fabric.redundant",
                sentence=f"a second plane needs a second port, and {single[0].name} of {pool.hardware} has 1",
                remedy="take servers whose compute cards have two ports, or one plane",
                subject=pool.name,
                inputs={"ports of a card": "1"},
            )


@metal_rule("E12 A14", formula="ports of a node >= 2, if topology = rail-optimised", source=_SUPERPOD)
def fabric_rails(draft: MetalDraft) -> Iterable[Observation]:
    """A rail-optimised fabric has rails: nodes with several ports."""
    ask = ask_of(draft)
    if ask and ask.topology is Topology.RAIL_OPTIMISED and ask.demand.rails == 1:
        yield Observation(
            path="fabric.topology",
            sentence="rails give each port of a node a leaf of its own, and these nodes have 1 port",
            remedy="take leaf-spine or auto",
            inputs={"ports of a node": "1"},
        )


@metal_warning(
    "E12", each=joined, formula="compute ports of a node >= most compute ports of any node", source=_SUPERPOD
)
def fabric_unlike_nodes(draft: MetalDraft, pool: MetalPoolPlan) -> Iterable[Observation]:
    """Nodes on one fabric have equally many ports, or some of the leaves' ports stay empty."""
    ask = ask_of(draft)
    widest = ask.demand.rails * ask.planes if ask else pool.rails
    if pool.rails < widest:
        yield Observation(
            path="server",
            sentence=f"{pool.hardware} has {pool.rails} compute ports where other nodes have {widest}; "
            f"{pool.count * (widest - pool.rails)} ports of the leaves stay empty",
            remedy="take servers with equally many cards, or make the pool an inference pool",
            inputs={"ports": str(pool.rails), "ports of others": str(widest)},
        )


def _topology(ask: Asked) -> Topology:
    """The topology that is wanted, or the largest there is for these nodes."""
    return ask.topology or max(Topology, key=lambda each: _holds(ask, each))


def _most(ask: Asked) -> int:
    return _holds(ask, _topology(ask))


def _holds(ask: Asked, topology: Topology) -> int:
    return most_nodes(ask.demand, ask.radix.ports, topology, oversubscription=ask.oversubscription)


def _wanted(ask: Asked) -> str:
    demand = ask.demand
    extra = {"storage": demand.storage_ports, "the subnet manager": demand.manager_ports}
    others = "".join(f", {ports} ports for {what}" for what, ports in extra.items() if ports)
    spare = f", {demand.spare_leaf_ports} spare ports on each leaf" if demand.spare_leaf_ports else ""
    return f"{demand.nodes} nodes with {demand.rails} ports each{others}{spare}"


def _larger(topology: Topology) -> str:
    if topology is Topology.SINGLE:
        return "take topology auto, which adds leaves and spines, or a switch with more ports"
    return "take a switch with more ports, fewer spare or storage ports, or fewer nodes"
