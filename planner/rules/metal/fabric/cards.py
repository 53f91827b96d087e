"""What is plugged together: cards, switches and cables of one kind and rate."""

from collections.abc import Iterable, Mapping

from catalogue.network_types import Link, NicGroup, Switch
from catalogue.units import gbyte_per_s
from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.fabric.cabling import Span, kinds, longest_m
from planner.fabric.plan import compute_cards
from planner.fabric.ports import radix
from planner.findings import Observation
from planner.pool_types import MetalPoolPlan
from planner.rules.known import placed_runs
from planner.rules.metal.fabric.service import cards_of, joined, switch_of
from planner.wording import one_of
from settings.workloads import TrainingRun

_NEGOTIATED = 'NVIDIA DGX SuperPOD cabling design guide, "Mixing Widths and Rates"'
_SPEAKS = {"infiniband": Link.INFINIBAND, "roce": Link.ETHERNET, "ethernet": Link.ETHERNET}


def _plugged(draft: MetalDraft) -> Iterable[tuple[str, MetalPoolPlan, NicGroup, Switch]]:
    """Compute cards that speak what the switch speaks."""
    switch = switch_of(draft)
    for path, pool, group in cards_of(draft):
        if switch and group.nic.link is switch.link:
            yield path, pool, group, switch


@metal_rule(
    "FB10 E22",
    formula="link of a card = link of the switch = link of the fabric's kind",
    source="Data sheets of the catalogue's switches and cards",
)
def fabric_link(draft: MetalDraft) -> Iterable[Observation]:
    """Switch and cards speak what the fabric is. A switch speaks one of InfiniBand and Ethernet, and no NVLink."""
    kind, switch = draft.settings.fabric.kind, switch_of(draft)
    if switch and switch.link is not _SPEAKS[kind]:
        fitting = [row.name for row in draft.catalogue.switches.values() if row.link is _SPEAKS[kind]]
        yield Observation(
            path="fabric.switch",
            sentence=f"{switch.name} is a switch for {_name(switch.link)}, and the fabric is {kind}",
            remedy=f"take {one_of(fitting)}, or another kind",
            subject=switch.name,
        )
    for path, pool, group in cards_of(draft):
        if group.nic.link is not _SPEAKS[kind]:
            yield Observation(
                path=path,
                sentence=f"the compute cards of {pool.hardware} ({group.nic.name}) speak {_name(group.nic.link)}, and "
                f"the fabric is {kind}",
                remedy="take a server with other cards, or another kind of fabric",
                subject=pool.name,
            )


@metal_rule("FB06 FB07 FB08 FB12", formula="rate of a card <= rate of a switch port", source=_NEGOTIATED)
def fabric_rate(draft: MetalDraft) -> Iterable[Observation]:
    """Switch ports are as fast as the cards: HDR cards on an EDR switch run at 100 Gb/s without any error."""
    for _, pool, group, switch in _plugged(draft):
        nic, port = group.nic, radix(switch, group.nic)
        if nic.gbit_per_s > port.gbit_per_s:
            fitting = [row.name for row in draft.catalogue.switches.values() if row.generation is nic.generation]
            yield Observation(
                path="fabric.switch",
                sentence=f"{switch.name} has {switch.ports} ports of {switch.gbit_per_s} Gb/s "
                f"({switch.generation.upper()}), and {nic.name} of {pool.hardware} has {nic.gbit_per_s}",
                remedy=f"take {' or '.join(fitting) or 'a switch as fast as the cards'}",
                subject=pool.name,
                inputs={"card": f"{nic.gbit_per_s} Gb/s", "switch port": f"{port.gbit_per_s} Gb/s"},
            )


@metal_warning("FB08 E02", each=_plugged, formula="rate of a card >= rate of a switch port", source=_NEGOTIATED)
def fabric_idle_rate(_: MetalDraft, pool: MetalPoolPlan, group: NicGroup, switch: Switch) -> Iterable[Observation]:
    """Switch ports are no faster than the cards, or their price buys nothing, and connectors differ."""
    nic, port = group.nic, radix(switch, group.nic)
    if nic.gbit_per_s < port.gbit_per_s:
        yield Observation(
            sentence=f"{nic.name} of {pool.hardware} has {nic.gbit_per_s} of the {port.gbit_per_s} Gb/s of a port "
            f"of {switch.name}, and needs cables from {switch.generation.upper()} to {nic.generation.upper()}",
            remedy=f"take cards of {port.gbit_per_s} Gb/s, or a switch of {nic.gbit_per_s} Gb/s",
            inputs={"card": f"{nic.gbit_per_s} Gb/s", "switch port": f"{port.gbit_per_s} Gb/s"},
        )


@metal_warning(
    "FB01 FB02 B10 B11",
    each=joined,
    formula="compute ports of a node >= its GPUs; GB/s of a node = ports x Gb/s / 8",
    source="NVIDIA DGX SuperPOD reference architecture: one compute port for each GPU",
)
def few_cards(_: MetalDraft, pool: MetalPoolPlan) -> Iterable[Observation]:
    """Every GPU has a card, or gradients of several GPUs pass through one."""
    nic = compute_cards(pool)[0].nic
    if pool.rails < pool.gpus_per_node:
        have, could = (gbyte_per_s(ports * nic.gbit_per_s) for ports in (pool.rails, pool.gpus_per_node))
        yield Observation(
            path="server",
            sentence=f"{pool.hardware} has {pool.rails} x {nic.gbit_per_s} Gb/s ({have:g} GB/s one way) for "
            f"{pool.gpus_per_node} GPUs; with a card for each it would have {could:g} GB/s",
            remedy="take a server with a compute card for each GPU, or keep jobs within a node",
            inputs={"ports": str(pool.rails), "GPUs": str(pool.gpus_per_node), "rate": f"{nic.gbit_per_s} Gb/s"},
        )


@metal_rule(
    "L07 FB01",
    each=placed_runs,
    formula="compute ports of a node >= 1 if nodes > 1",
    source="NCCL user guide, environment variables: without InfiniBand or RoCE, NCCL falls back to IP sockets",
)
def gang_without_fabric(_: MetalDraft, run: TrainingRun, pool: MetalPoolPlan) -> Iterable[Observation]:
    """A gang over several nodes has compute cards: without them its collectives run on the management network."""
    if pool.gpus_per_node and run.nodes > 1 and not pool.rails:
        rate = max((group.nic.gbit_per_s for group in pool.server.nics), default=0)
        yield Observation(
            path="pool",
            sentence=f"{run.nodes} nodes of {pool.hardware} have no compute card and would share "
            f"{rate} Gb/s ({gbyte_per_s(rate):g} GB/s) with everything else",
            remedy="take a server with compute cards, or one node",
            inputs={"rate": f"{rate} Gb/s", "nodes": str(run.nodes)},
        )


@metal_warning(
    "NC08",
    each=cards_of,
    formula="hcas of the compute cards are known, or the node has no other RDMA card",
    source="NCCL user guide, environment variables (NCCL_IB_HCA)",
)
def rdma_devices(draft: MetalDraft, pool: MetalPoolPlan, group: NicGroup) -> Iterable[Observation]:
    """NCCL gets the exact list of a node's compute devices where the node has other RDMA cards, too."""
    if draft.settings.fabric.kind == "ethernet":
        return
    others = [other.nic.name for other in pool.server.nics if other is not group and other.nic.rdma]
    if not group.hcas and others:
        yield Observation(
            sentence=f"the device names of {pool.hardware}'s {group.count} {group.nic.name} are not known, so NCCL "
            f"would use {others[0]} as well",
            remedy="copy the server to gpucluster:catalogue.servers and add hcas in the order of its GPUs, as "
            "ibdev2netdev shows them",
        )


@metal_rule(
    "E20 B13 FB08",
    formula="length <= longest of the kinds made for the port",
    source="NVIDIA LinkX cable and transceiver specifications; IEEE 802.3",
)
def cable_too_long(draft: MetalDraft) -> Iterable[Observation]:
    """There is a cable for the lengths that were measured."""
    switch, lengths = switch_of(draft), draft.settings.fabric.cable_lengths_m
    if switch is None:
        return
    measured: Mapping[str, tuple[Span, float | None]] = {
        "nodeToLeaf": (Span.NODE_LEAF, lengths.node_to_leaf),
        "leafToSpine": (Span.LEAF_SPINE, lengths.leaf_to_spine),
    }
    for key, (span, length_m) in measured.items():
        made = [(longest_m(span, kind), kind.kind) for kind in kinds(span, switch.generation)]
        if length_m is not None and made and length_m > max(made)[0]:
            longest, kind = max(made)
            yield Observation(
                path=f"fabric.cableLengthsM.{key}",
                sentence=f"{length_m:g} m are more than any {switch.generation.upper()} cable spans there; the longest "
                f"is {kind} with {longest:g} m",
                remedy=f"move racks together, or put leaves within {longest:g} m of their nodes",
                inputs={"length": f"{length_m:g} m", "longest": f"{longest:g} m"},
            )


def _name(link: Link) -> str:
    return {Link.INFINIBAND: "InfiniBand", Link.ETHERNET: "Ethernet"}[link]
