"""Which machines are near each other on the compute fabric, by the cables that the plan has."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from planner.fabric.cabling import links
from planner.fabric.design import FabricDesign, Names, names
from planner.fabric.plan import FabricPlan, on_fabric
from planner.pool_types import MetalPoolPlan
from planner.site import SitePlan

Above = Mapping[str, tuple[str, ...]]
"""By machine the switches above it, its leaf first, then a spine and a core where the fabric has them."""

TIERS = ("leaf", "spine", "core")
"""Kinds of switches, from machines upwards: the first is tier 1."""


@dataclass(frozen=True, kw_only=True)
class Domain:
    """What meets at a switch of this tier, after which it is called: machines at a leaf (tier 1), else domains of the
    tier below.
    """

    name: str
    tier: int
    members: tuple[str, ...]


def machines(site: SitePlan | None, pool: MetalPoolPlan) -> list[str]:
    """The pool's machines, as many as it counts: as the inventory calls them, else by pool and number."""
    racked = [host.name for host in site.of_pool(pool.name)] if site else []
    return racked if len(racked) == pool.count else [f"{pool.name}-{number}" for number in range(pool.count)]


def switches_above(fabric: FabricPlan | None, site: SitePlan | None, pools: Mapping[str, MetalPoolPlan]) -> Above:
    """The switches above each machine that the inventory names, in the first plane; nothing without machines."""
    if fabric is None or site is None:
        return {}
    design = fabric.growth.day_one
    nodes = [name for pool in on_fabric(pools.values()) for name in machines(site, pool)]
    return plugged_above(design, names(design, nodes=nodes))


def plugged_above(design: FabricDesign, named: Names) -> Above:
    """The first by name of what a machine, a leaf or a spine is plugged to: all leaves of a group, and all spines of a
    pod, reach the same machines.
    """
    first: dict[str, str] = {}
    for link in links(design, named):
        first[link.low] = min(first.get(link.low, link.high), link.high)

    def up(device: str) -> tuple[str, ...]:
        return (first[device], *up(first[device])) if device in first else ()

    return {name: up(name) for name in named.nodes}


def domains(above: Above) -> tuple[Domain, ...]:
    """Every domain, those of leaves first; none where all machines are at one leaf, and equally near."""
    found: dict[tuple[int, str], dict[str, None]] = {}
    for machine, path in above.items():
        for tier, (member, switch) in enumerate(pairwise((machine, *path)), 1):
            found.setdefault((tier, switch), {})[member] = None
    if sum(tier == 1 for tier, _ in found) < 2:
        return ()
    return tuple(Domain(name=name, tier=tier, members=tuple(found[tier, name])) for tier, name in sorted(found))


def most_within(above: Above, machines: Iterable[str], kind: str) -> int:
    """The most of these machines that are below one switch of a kind; all where the fabric has none so high."""
    tier = TIERS.index(kind)
    paths = [above.get(machine, ()) for machine in machines]
    counted = Counter(path[tier] if tier < len(path) else "" for path in paths)
    return max(counted.values(), default=0)
