"""The switches that an inventory names are those of the fabric."""

from collections.abc import Iterable

from planner.draft import MetalDraft, metal_rule
from planner.fabric.design import FabricDesign, names
from planner.findings import Observation
from planner.rules.metal.fabric.joined import growth_of


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
