"""Values that several rules about the fabric share."""

from collections.abc import Iterator

from catalogue.network_types import NicGroup, Switch
from planner.draft import MetalDraft
from planner.fabric.plan import Asked, asked, compute_cards, joins
from planner.fabric.topology import Growth
from planner.pool_types import MetalPoolPlan
from planner.rules.known import known_pools


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
