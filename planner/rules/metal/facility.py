"""The room: power, racks, circuits, batteries, cooling. It counts whole machines at full load, not GPUs."""

from collections.abc import Iterable
from math import ceil, floor

from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.facility.plan import FacilityPlan
from planner.facility.power import carried_kw, ups_minutes
from planner.facility.racks import CROWDED_NODES, FILL, nodes_per_rack
from planner.findings import Observation
from planner.nodes import GRACE_S, STOPPING_S
from planner.wording import enough
from settings.facility import MOST_COOLING_KW, MOST_FLOW_LPM, MOST_RACK_KW

_WARM_LOOP_K = 15.0
_MARGIN = 1e-9


@metal_rule(
    "H02 PW02 PW07",
    formula="machines' power x (1 + margin) <= capacityKw; 1 ton = 3.517 kW",
    source="Power drawn becomes heat; ton of refrigeration: NIST Special Publication 811",
)
def cooling_capacity(draft: MetalDraft) -> Iterable[Observation]:
    """Cooling carries away what all machines draw, and the margin."""
    plan, section = draft.facility, draft.settings.facility
    needed = plan.power.it_kw * (1 + section.margin)
    if needed > section.cooling.capacity_kw + _MARGIN:
        yield Observation(
            path="facility.cooling.capacityKw",
            sentence=f"the machines give off {plan.power.it_kw:.1f} kW ({plan.cooling_tons:.1f} tons; nodes "
            f"{plan.power.nodes_kw:.1f} kW), with margin {needed:.1f}, and cooling carries "
            f"{section.cooling.capacity_kw:g} kW",
            remedy=(f"set it to {ceil(needed)}, or " if needed <= MOST_COOLING_KW else "") + "take fewer nodes",
            inputs=plan.power.inputs() | {"cooling": f"{section.cooling.capacity_kw:g} kW"},
        )


@metal_rule(
    "H08 H09 PW08",
    formula="kW to liquid (85 % with cold plates, all in a bath) <= flowLpm x deltaK x 4.18 / 60",
    source="Heat capacity of water, 4.18 kJ per litre and kelvin; Definition of planner.facility.power.heat",
)
def coolant_flow(draft: MetalDraft) -> Iterable[Observation]:
    """The loop's flow carries what cold plates or baths take of the nodes' heat, at the warming it is planned for."""
    plan, cooling = draft.facility, draft.settings.facility.cooling
    if not plan.heat.liquid_kw:
        return
    missing = [key for key, value in (("flowLpm", cooling.flow_lpm), ("deltaK", cooling.delta_k)) if value is None]
    if cooling.flow_lpm is None or cooling.delta_k is None:
        yield Observation(
            path=f"facility.cooling.{missing[0]}",
            sentence=f"nodes give {plan.heat.liquid_kw:.1f} kW to a liquid whose {' and '.join(missing)} are not known",
            remedy=f"add {' and '.join(missing)}",
            inputs={"heat": f"{plan.heat.liquid_kw:.1f} kW"},
        )
        return
    carried = carried_kw(cooling.flow_lpm, cooling.delta_k)
    if carried < plan.heat.liquid_kw - _MARGIN:
        yield Observation(
            path="facility.cooling.flowLpm",
            sentence=f"{cooling.flow_lpm:g} litres per minute carry {carried:.1f} kW at {cooling.delta_k:g} K, and the "
            f"nodes give it {plan.heat.liquid_kw:.1f} kW",
            remedy=_more_flow(plan.litres_per_minute or 0),
            inputs={
                "flow": f"{cooling.flow_lpm:g} litres per minute",
                "warming": f"{cooling.delta_k:g} K",
                "heat": f"{plan.heat.liquid_kw:.1f} kW",
            },
        )


def _more_flow(needed: float) -> str:
    """What to do where the flow is too small; no loop has more litres per minute than a stack file takes."""
    warmer = "let the water warm more"
    return f"set it to {ceil(needed)}, or {warmer}" if needed <= MOST_FLOW_LPM else f"{warmer}, or take fewer nodes"


@metal_warning(
    "H08 HW18",
    formula="deltaK <= 15",
    source="Open Compute Project, cold plate guidelines: about 1.5 litres per minute and kW, which warms water by 10 K",
)
def coolant_loops(draft: MetalDraft) -> Iterable[Observation]:
    """Flow and warming are of the nodes' own loop (about 40 to 45 C), not of the room's chilled water (12 to 15 C)."""
    cooling = draft.settings.facility.cooling
    if cooling.kind != "air" and cooling.delta_k is not None and cooling.delta_k > _WARM_LOOP_K:
        yield Observation(
            path="facility.cooling.deltaK",
            sentence=f"{cooling.delta_k:g} K is more than water warms in a node; it looks like the difference between "
            "the room's chilled water and the nodes' loop",
            remedy="type what the nodes' own loop gains between inlet and outlet, 5 to 10 K",
            inputs={"warming": f"{cooling.delta_k:g} K", "limit": f"{_WARM_LOOP_K:g} K"},
        )


@metal_warning("H09 T13", formula="pumps >= 2", source="Definition of the planner: N+1 pumps")
def coolant_pumps(draft: MetalDraft) -> Iterable[Observation]:
    """A loop has a second pump: without flow, GPUs shut down within seconds."""
    cooling = draft.settings.facility.cooling
    if draft.facility.heat.liquid_kw and (cooling.pumps or 0) < 2:
        yield Observation(
            path="facility.cooling.pumps",
            sentence=f"the nodes' loop has {cooling.pumps or 'no known'} pump, and stops with it",
            remedy="take 2, one of them standing by",
            inputs={"pumps": str(cooling.pumps or 0)},
        )


_NEC = "NEC 210.20 and 215.3: continuous load at most 80 % of a breaker"


@metal_rule(
    "H01 H02 H03 PW01 PW02 PW04 PW07",
    formula="(nodes + switches + storage + control + pumps) x (1 + margin) <= racks x powerKw",
    source="Maxima of the catalogue's rows",
)
def power_delivery(draft: MetalDraft) -> Iterable[Observation]:
    """The room delivers what all machines draw at full load, and the margin."""
    power, racks = draft.facility.power, draft.settings.facility.racks
    there = racks.count * racks.power_kw
    if power.planned_kw <= there + _MARGIN:
        return
    yield Observation(
        path="facility.racks.powerKw",
        sentence=f"the machines draw up to {power.draw_kw:.1f} kW (nodes {power.nodes_kw:.1f}, of which GPUs alone "
        f"{power.gpus_kw:.1f}; switches {power.switches_kw:.1f}, storage {power.storage_kw:.1f}, control "
        f"{power.control_kw:.1f}, pumps {power.pumps_kw:.1f}), with margin {power.planned_kw:.1f}, and {racks.count} "
        f"racks get {there:.1f} kW",
        remedy=_more_power(draft.facility, racks.count),
        inputs=power.inputs() | {"delivered": f"{there:.1f} kW"},
    )


def _more_power(plan: FacilityPlan, racks: int) -> str:
    """What each rack is to get, where there are racks for so much; fuller ones have more strips, and these a switch."""
    needed, each = ceil(plan.power.planned_kw), floor(plan.power.planned_kw / racks) + 1
    if plan.misfits or each > MOST_RACK_KW:
        return f"order racks for {needed} kW in all, or take fewer nodes"
    return f"set it to {each}, {needed} kW in all, or take fewer nodes"


@metal_rule(
    "B20 H16 PW09", formula="racks filled to their units and to 80 % of their power <= racks.count", source=_NEC
)
def rack_count(draft: MetalDraft) -> Iterable[Observation]:
    """All machines fit into the racks: a rack is full by its units or at 80 % of its power, whichever comes first."""
    plan, racks = draft.facility, draft.settings.facility.racks
    if plan.misfits:
        yield Observation(
            path="facility.racks.powerKw",
            sentence=f"an empty rack of {racks.units} units and {racks.power_kw:g} kW, of which {FILL:.0%} may be "
            f"drawn, is too small for {_listed(plan.misfits)}",
            remedy="take racks with more power or units",
            inputs={"units": str(racks.units), "power": f"{racks.power_kw:g} kW"},
        )
    if len(plan.racks) > racks.count:
        units, kw = sum(rack.units for rack in plan.racks), sum(rack.kw for rack in plan.racks)
        yield Observation(
            path="facility.racks.count",
            sentence=f"machines of {units} units and {kw:.1f} kW fill {len(plan.racks)} racks of {racks.units} units "
            f"and {FILL:.0%} of {racks.power_kw:g} kW{_per_rack(draft)}, and there are {racks.count}",
            remedy=f"take {len(plan.racks)} racks, or racks with more power",
            inputs={
                "machines": f"{units} U, {kw:.1f} kW",
                "racks": str(racks.count),
                "power": f"{racks.power_kw:g} kW",
            },
        )


@metal_warning(
    "H16",
    formula="GPU nodes of a rack <= 4",
    source="NVIDIA DGX SuperPOD data center design: up to four systems per rack",
)
def rack_crowded(draft: MetalDraft) -> Iterable[Observation]:
    """Above four GPU nodes in a rack, air flow, weight and cables decide, which the planner does not know."""
    fullest = max(draft.facility.racks, key=lambda rack: rack.nodes, default=None)
    if fullest is not None and fullest.nodes > CROWDED_NODES:
        yield Observation(
            path="facility.racks.units",
            sentence=f"a rack would hold {fullest.nodes} GPU nodes and draw {fullest.kw:.1f} kW, and reference designs "
            f"stop at {CROWDED_NODES}, where air flow, weight and cables begin to decide",
            remedy=f"plan for {CROWDED_NODES} (lower units or powerKw), or have the rack's maker confirm it",
            inputs={"nodes": str(fullest.nodes), "draw": f"{fullest.kw:.1f} kW"},
        )


@metal_rule(
    "H04 H17 PW03",
    formula="draw on each feed alone <= circuits x volts x amperes x (sqrt 3 if three phases) x 0.8",
    source=_NEC,
)
def circuit_load(draft: MetalDraft) -> Iterable[Observation]:
    """Every circuit carries the machines on it, on each feed alone."""
    plan, section = draft.facility, draft.settings.facility
    inputs = {"circuit": f"{plan.circuit_kw:.1f} kW", "circuits per rack and feed": str(section.circuits_per_rack)}
    overloads = [name for rack in plan.racks for name in rack.overloads]
    if overloads:
        yield Observation(
            path="facility.circuit",
            sentence=f"circuits of {plan.circuit_kw:.1f} kW are too small for {_listed(overloads)}, even with one for "
            "each cord on a feed",
            remedy="take larger circuits (three phases, or more amperes)",
            inputs=inputs,
        )
        return
    worst = max(plan.racks, key=lambda rack: rack.circuits, default=None)
    if worst is not None and worst.circuits > section.circuits_per_rack:
        short = sum(rack.circuits > section.circuits_per_rack for rack in plan.racks)
        yield Observation(
            path="facility.circuitsPerRack",
            sentence=f"a rack of {worst.kw:.1f} kW with {worst.nodes} GPU nodes takes {worst.circuits} circuits of "
            f"{plan.circuit_kw:.1f} kW on each feed, and has {section.circuits_per_rack} ({short} of "
            f"{len(plan.racks)} racks are short)",
            remedy=f"take {worst.circuits} circuits a rack, or larger ones",
            inputs=inputs | {"rack": f"{worst.kw:.1f} kW"},
        )


@metal_warning("H05 T13", formula="feeds >= 2", source="Uptime Institute, Tier Standard: Topology (distribution paths)")
def single_feed(draft: MetalDraft) -> Iterable[Observation]:
    """With one feed a tripped breaker or a switched-off supply takes whole racks."""
    if draft.settings.facility.feeds == 1:
        yield Observation(
            path="facility.feeds",
            sentence="every rack hangs on one feed, so redundant power supplies have nothing to switch to",
            remedy="take 2 feeds, or accept the loss of racks",
            inputs={"feeds": "1"},
        )


@metal_rule(
    "H06 PW06",
    formula="kWh >= covered kW x minutes / 60",
    source="Energy is power x time; Definition of the stack file (facility.ups)",
)
def ups_energy(draft: MetalDraft) -> Iterable[Observation]:
    """The batteries power what they cover for as long as the stack file asks."""
    plan, ups = draft.facility, draft.settings.facility.ups
    if ups is None or plan.ups_kwh is None or not plan.ups_load_kw or ups.kwh >= plan.ups_kwh - _MARGIN:
        return
    covers = "everything" if ups.covers == "all" else "control plane, storage and switches"
    yield Observation(
        path="facility.ups.kwh",
        sentence=f"{covers} draws {plan.ups_load_kw:.1f} kW, which takes {plan.ups_kwh:.1f} kWh for {ups.minutes:g} "
        f"minutes; {ups.kwh:g} kWh last {ups_minutes(ups.kwh, plan.ups_load_kw):.1f}",
        remedy=f"set it to {enough(plan.ups_kwh, 1).removesuffix('.0')}"
        + (", or cover control only and let the nodes go down" if ups.covers == "all" else ", or ask fewer minutes"),
        inputs={"load": f"{plan.ups_load_kw:.1f} kW", "minutes": f"{ups.minutes:g}", "energy": f"{ups.kwh:g} kWh"},
    )


@metal_warning(
    "H06",
    formula=f"minutes >= {(GRACE_S['training'] + STOPPING_S) // 60}, if they cover all",
    source="Kubernetes, Node Shutdowns (shutdownGracePeriod); Definition of planner.nodes",
)
def ups_outlasts_saves(draft: MetalDraft) -> Iterable[Observation]:
    """Nodes on batteries stop in order: their runs have time to save, and machines to end."""
    ups, wanted = draft.settings.facility.ups, (GRACE_S["training"] + STOPPING_S) / 60
    if ups is not None and ups.covers == "all" and ups.minutes < wanted:
        yield Observation(
            path="facility.ups.minutes",
            sentence=f"{ups.minutes:g} minutes are too short for runs to save ({GRACE_S['training']} s after the "
            "signal) and machines to stop",
            remedy=f"set it to {wanted:g} or more, or cover control only: a run goes on from its last checkpoint",
        )


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _per_rack(draft: MetalDraft) -> str:
    racks = draft.settings.facility.racks
    nodes = [pool.server for pool in draft.pools.values() if pool.gpus_per_node]
    if not nodes:
        return ""
    largest = max(nodes, key=lambda server: server.max_w)
    fits = nodes_per_rack(largest.rack_units, largest.max_w / 1000, racks.units, racks.power_kw)
    return f" ({fits} x {largest.name} each)"
