"""Bills of materials and cable lists as CSV."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import chain

from planner.cost.amounts import Amount
from planner.fabric.cables import planes
from planner.fabric.cabling import HEADING, links, row
from planner.fabric.lossless import checklist
from planner.fabric.plan import FabricPlan, on_fabric
from planner.fabric.room import Racking, arranged
from planner.metal_types import MetalPlan
from planner.types import AwsPlan

_BILL = ("part", "item", "count", "spares", "paid", "USD each", "from", "to", "USD", "from", "to", "note")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


def bill(plan: AwsPlan | MetalPlan) -> str:
    """Every line of the bill of materials."""
    return _written(_BILL, _bill(plan))


def cables(plan: AwsPlan | MetalPlan) -> str | None:
    """Every cable of the compute fabric and of the networks beside it, from port to port; None where there is none.

    Lengths of the fabric's are those of a room whose leaves stand in the midst of their nodes.
    """
    if not isinstance(plan, MetalPlan) or (plan.fabric is None and not plan.networks):
        return None
    return _written(HEADING, chain(_cables(plan, plan.fabric) if plan.fabric else (), _beside(plan)))


def switches(plan: AwsPlan | MetalPlan) -> str | None:
    """What each switch of the compute fabric is set to, in its makers' words; None where there is none."""
    if not isinstance(plan, MetalPlan) or plan.fabric is None:
        return None
    heading, *rows = checklist(plan, plan.fabric)
    return _written(heading, rows)


def _beside(plan: MetalPlan) -> Iterator[Sequence[object]]:
    """Cables of the other networks; where their switches stand is the room's, so that they have no lengths."""
    for network in plan.networks:
        for link in network.links():
            yield row(link, switch_ports_per_cage=network.ports_per_cage)


def _bill(plan: AwsPlan | MetalPlan) -> Iterator[Sequence[object]]:
    for line in plan.bom.lines:
        each, all_ = _amount(line.each), _amount(line.cost)
        yield str(line.part), line.item, f"{line.count:g}", line.spares, str(line.basis), *each, *all_, line.note


def _amount(amount: Amount | None) -> tuple[str, str, str]:
    if amount is None:
        return "", "", ""
    return f"{amount.usd:.2f}", f"{amount.low:.2f}", f"{amount.high:.2f}"


def _cables(plan: MetalPlan, fabric: FabricPlan) -> Iterator[Sequence[object]]:
    pools = on_fabric(plan.pools.values())
    design = fabric.growth.day_one
    racking = Racking(
        nodes=max([1, *(rack.nodes for rack in plan.facility.racks)]),
        node_units=max(pool.server.rack_units for pool in pools),
        switch_units=fabric.switch.rack_units,
    )
    for named in planes(plan, fabric):
        positions = arranged(design, named, racking)
        for link in links(design, named, positions):
            yield row(link, switch_ports_per_cage=fabric.radix.ports_per_cage)


def _written(heading: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([_plain(cell) for cell in each] for each in rows)
    return text.getvalue()


def _plain(cell: object) -> str:
    """The cell as text that no spreadsheet computes."""
    text = str(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text
