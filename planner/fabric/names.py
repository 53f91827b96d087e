"""Names of a fabric's devices, as they stand on labels and in cable plans."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.fabric.design import FabricDesign, Topology


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names of a plane's devices by their number in the fabric."""

    nodes: Sequence[str]
    others: Sequence[str]
    leaves: Sequence[str]
    spines: Sequence[str]
    cores: Sequence[str]

    def __iter__(self) -> Iterator[str]:
        for group in (self.nodes, self.others, self.leaves, self.spines, self.cores):
            yield from group


def names(design: FabricDesign, *, plane: int = 0, nodes: Sequence[str] | None = None) -> Names:
    """Names of the devices: leaf-r3-02 is the leaf of rail 3 in the second group. A second plane's end in b."""
    suffix = "" if design.planes == 1 else "abcdefgh"[plane]
    demand, rails = design.demand, design.demand.rails
    if design.topology is Topology.RAIL_OPTIMISED:
        leaves = [f"leaf-r{leaf % rails}-{leaf // rails + 1:02}{suffix}" for leaf in range(design.leaves)]
    else:
        leaves = _numbered("leaf", design.leaves, suffix)
    return Names(
        nodes=nodes or _numbered("node", demand.nodes),
        others=[*_numbered("storage", demand.storage_ports), *_numbered("manager", demand.manager_ports)],
        leaves=leaves,
        spines=_numbered("spine", design.spines, suffix),
        cores=_numbered("core", design.cores, suffix),
    )


def _numbered(word: str, count: int, suffix: str = "") -> list[str]:
    width = max(2, len(str(count)))
    return [f"{word}-{number:0{width}}{suffix}" for number in range(1, count + 1)]
