"""Pools on spot that may fall back: which of two node groups is asked for the nodes. Decisions only, no calls.

The two ask for the pool's nodes together, never for more. What one does not get in time, the other is asked for: a
node group is on spot or on demand, and retries without end (EKS user guide, "Managed node group capacity types").
Cluster Autoscaler waits 15 minutes before it turns to another group (its FAQ, max-node-provision-time).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sweep.ends import written


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A pool of `nodes` nodes, by its node groups, as the stack file has it; `again_hours` None = never."""

    spot: str
    on_demand: str
    nodes: int
    wait_minutes: float
    again_hours: float | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Spot":
        """From the function's task. Raises TypeError for what is not one."""
        return cls(**given)


@dataclass(frozen=True)
class Seen:
    """What a node group asks for, the instances that it has, and the most that it may ask for."""

    wanted: int
    there: int
    most: int


@dataclass(frozen=True, kw_only=True)
class Waits:
    """What is remembered of a pool: since when nodes are missing where they are asked for now, and since when any is
    on demand; None where that is not so.
    """

    missing: datetime | None = None
    paid: datetime | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Waits":
        """From the record. Raises ValueError for what is not one."""
        return cls(**{key: datetime.fromisoformat(given[key]) for key in ("missing", "paid") if given.get(key)})

    def written(self) -> dict[str, str]:
        """As it is kept."""
        known = {"missing": self.missing, "paid": self.paid}
        return {key: written(when) for key, when in known.items() if when}


@dataclass(frozen=True, kw_only=True)
class Move:
    """What one look brings about: what the groups are to ask for, None as they do, what is kept, what people hear."""

    sizes: tuple[int, int] | None = None
    waits: Waits = field(default_factory=Waits)
    news: str = ""


def move(pool: Spot, spot: Seen, paid: Seen, waits: Waits, now: datetime) -> Move:
    """Which group is to ask for what, `spot` first. Of a new number of nodes those that are there stay, on spot before
    those on demand, and what is more is asked for on spot.
    """
    if not paid.wanted:
        waits = replace(waits, paid=None)  # off hours, or somebody, took them
    if spot.wanted + paid.wanted != pool.nodes:
        kept = min(paid.wanted, max(0, pool.nodes - spot.there))
        return Move(sizes=(pool.nodes - kept, kept), waits=replace(waits, missing=now))
    if paid.wanted and waits.paid and pool.again_hours and now >= waits.paid + timedelta(hours=pool.again_hours):
        news = f"pool {pool.spot}: {paid.wanted} nodes on demand go, and are asked for on spot again"
        return Move(sizes=(pool.nodes, 0), waits=Waits(missing=now), news=news)
    if spot.there >= spot.wanted and paid.there >= paid.wanted:
        return Move(waits=replace(waits, missing=None))
    since = waits.missing or now
    if now < since + timedelta(minutes=pool.wait_minutes):
        return Move(waits=replace(waits, missing=since))
    lacks_spot = spot.there < spot.wanted
    sizes = (spot.there, pool.nodes - spot.there) if lacks_spot else (pool.nodes - paid.there, paid.there)
    first = (waits.paid or now) if sizes[1] else None
    lacking = sizes[1] - paid.wanted if lacks_spot else sizes[0] - spot.wanted
    there, other = ("on spot", "on demand") if lacks_spot else ("on demand", "on spot")
    news = f"pool {pool.spot}: {lacking} nodes are not to be had {there} since {since:%H:%M} UTC; asked for {other}"
    return Move(sizes=sizes, waits=Waits(missing=now, paid=first), news=news)
