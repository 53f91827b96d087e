"""The compute fabric drawn: nodes, leaves, spines and cores with their cables."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from planner.fabric.cabling import SITE_NETWORK, links
from planner.fabric.design import FabricDesign, Topology, names
from planner.faces.page.elements import SERIES, Child, Markup, box, drawing, element, label, line

_SINGLE = 32
"""A tier of more devices is drawn in groups."""
_GROUPS = 16
_WIDTH, _LEFT, _ROW, _BOX = 760.0, 92.0, 112.0, 30.0
_GAP = 5.0
_LINE = 15.0
_COLOURS = {"site network": 6, "core": 3, "spine": 4, "leaf": 1, "other port": 6, "node": 0}
_PLURAL = {"leaf": "leaves"}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A box of the drawing: one device, or several that follow each other."""

    tier: str
    names: Sequence[str]
    x: float
    y: float
    width: float

    @property
    def centre(self) -> float:
        """Where its cables end."""
        return self.x + self.width / 2


def fabric_drawing(
    design: FabricDesign, *before: Child, name: str = "Compute fabric", kind: str = "fabric", uplinks: int = 0
) -> Markup:
    """One plane of the fabric as it is bought, `before` first, each leaf with `uplinks` to the site's own network.
    Cables between the same two boxes are one line."""
    rows = [_boxes("site network", (SITE_NETWORK,) * bool(uplinks), 1), *_rows(design)][not uplinks :]
    height = _ROW * (len(rows) - 1) + 2 * _BOX
    cells = [cell for index, row in enumerate(rows) for cell in _placed(row, index)]
    planes = f", one of {design.planes} equal planes" if design.planes > 1 else ""
    ends = "node" if kind == "fabric" else "port"
    said = ", ".join(counted for row in rows for counted in _counted(row, ends))
    return drawing(
        f"{kind}-drawing",
        f"{name}, {design.topology}{planes}",
        f"From the top: {said}. Each line stands for the cables between what it joins.",
        (_WIDTH, height),
        *before,
        element("g", *_cables(design, cells, uplinks), class_="links"),
        *map(_boxed, cells),
        *_captions(rows, ends),
        data_leaves=design.leaves,
        data_spines=design.spines,
        data_cores=design.cores,
        data_planes=design.planes,
        data_nodes=design.demand.nodes,
    )


_Row = list[tuple[str, Sequence[str]]]
"""Boxes beside each other: the tier of each, and the devices that it stands for."""


def _rows(design: FabricDesign) -> list[_Row]:
    """The tiers from the top. Ports of storage and of the subnet manager are one box beside the nodes."""
    named, rails = names(design), design.demand.rails
    unit = rails if design.topology is Topology.RAIL_OPTIMISED else 1
    pods = design.pods > 1
    rows = [
        _boxes("core", named.cores, 1),
        _boxes("spine", named.spines, design.spines_per_pod if pods else 1),
        _boxes("leaf", named.leaves, design.leaves_per_pod if pods else unit),
        [*_boxes("node", named.nodes, 1), *([("other port", named.others)] if named.others else [])],
    ]
    return [row for row in rows if row]


def _boxes(tier: str, devices: Sequence[str], whole: int) -> _Row:
    """A box for each device, or for so many times a `whole` that few boxes remain."""
    step = 1 if len(devices) <= _SINGLE else whole * ceil(ceil(len(devices) / whole) / _GROUPS)
    return [(tier, devices[first : first + step]) for first in range(0, len(devices), step)]


def _placed(row: _Row, index: int) -> Iterator[Cell]:
    pitch = (_WIDTH - _LEFT) / len(row)
    width = min(pitch - _GAP, 96.0)
    for place, (tier, devices) in enumerate(row):
        x = _LEFT + (place + 0.5) * pitch - width / 2
        yield Cell(tier=tier, names=devices, x=x, y=_ROW * index + _BOX / 2, width=width)


def _cables(design: FabricDesign, cells: Sequence[Cell], uplinks: int) -> Iterator[Markup]:
    owner = {name: cell_index for cell_index, cell in enumerate(cells) for name in cell.names}
    bundles = Counter((owner[each.low], owner[each.high], each.rail) for each in links(design, names(design)))
    for leaf in names(design).leaves if uplinks else ():
        bundles[owner[leaf], owner[SITE_NETWORK], None] += uplinks
    joined: Counter[tuple[int, int]] = Counter()
    rails: dict[tuple[int, int], set[int | None]] = {}
    for (low, high, rail), count in bundles.items():
        joined[low, high] += count
        rails.setdefault((low, high), set()).add(rail)
    most = max(joined.values(), default=1)
    for (low, high), count in joined.items():
        below, above, of = cells[low], cells[high], rails[low, high]
        rail = next(iter(of)) if len(of) == 1 else None
        yield line(
            below.centre,
            below.y,
            above.centre,
            above.y + _BOX,
            class_=f"link s{6 if rail is None else rail % SERIES}",
            stroke_width=f"{0.6 + 1.4 * count / most:.2f}",
            data_cables=count,
        )


def _boxed(cell: Cell) -> Markup:
    several = len(cell.names) > 1
    said = f"{cell.names[0]} to {cell.names[-1]}" if several else cell.names[0]
    colour = _COLOURS[cell.tier]
    short = f"x {len(cell.names)}" if several else cell.names[0].split("-", 1)[1]
    needed = 7.0 * len(short)
    shape = box(
        cell.x,
        cell.y,
        cell.width,
        _BOX,
        element("title", said),
        class_=f"c{colour}",
        rx="3",
        data_tier=cell.tier,
        data_count=len(cell.names),
    )
    words = label(cell.centre, cell.y + _BOX / 2 + 4, short, class_="on") if needed <= cell.width else None
    return element("g", shape, words)


def _captions(rows: Sequence[_Row], ends: str) -> Iterator[Markup]:
    for index, row in enumerate(rows):
        middle = _ROW * index + _BOX + 4
        said = _counted(row, ends)
        for place, counted in enumerate(said):
            yield label(0, middle + _LINE * (place - (len(said) - 1) / 2), counted, "start")


def _counted(row: _Row, ends: str) -> list[str]:
    """How many devices of each tier there are; the lowest are nodes, or ports of machines and switches."""
    counts: Counter[str] = Counter()
    for tier, devices in row:
        counts[ends if tier == "node" else tier] += len(devices)
    return [f"{count:,} {tier if count == 1 else _PLURAL.get(tier, f'{tier}s')}" for tier, count in counts.items()]
