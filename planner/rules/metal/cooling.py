"""Cooling: heat, flow and pumps. Heat is that of whole machines at full load."""

from collections.abc import Iterable
from math import ceil

from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.facility.power import carried_kw
from planner.findings import Observation
from settings.facility import MOST_FLOW_LPM

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
            remedy=f"order cooling for {ceil(needed)} kW, or take fewer nodes",
            inputs=plan.power.inputs() | {"cooling": f"{section.cooling.capacity_kw:g} kW"},
        )


@metal_rule(
    "H08 H09 PW08",
    formula="kW of the nodes <= flowLpm x deltaK x 4.18 / 60",
    source="Heat capacity of water, 4.18 kJ per litre and kelvin",
)
def coolant_flow(draft: MetalDraft) -> Iterable[Observation]:
    """The loop's flow carries the nodes' heat at the warming it is planned for."""
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
            f"nodes give off {plan.heat.liquid_kw:.1f} kW",
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
