"""Pools whose nodes may be of several offers, by Karpenter or by two node groups, and what that comes to at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from catalogue.types import Instance, Price, UsageClass

if TYPE_CHECKING:
    from settings.aws_pools import AwsPool

CONTROLLER_REQUEST = (500, 1024)
"""Millicores, and MiB, of a pod of its controller. Karpenter's own guide gives one a whole core (karpenter.sh, "Getting
Started"); half of it leaves two small system nodes the room for a copy of weights, and is no limit."""


@dataclass(frozen=True, kw_only=True)
class Offers:
    """What a pool's nodes may be: instances of `types`, the pool's own first, bought as `usages` say, the pool's own
    capacity first.

    `quota_instance` is the type that takes most of a quota: all nodes may be of it.
    """

    types: tuple[Instance, ...]
    usages: tuple[UsageClass, ...]

    @property
    def quota_instance(self) -> Instance:
        return max(self.types, key=lambda each: each.vcpu)

    @property
    def dearest(self) -> Price | None:
        """The dearest price of what it may take, in the range of all of them; None where a type has none.

        A spot instance whose price nobody recorded costs what it costs on demand at most: that is the most a request
        pays that names no price of its own (EC2 user guide, "How Spot Instances work").
        """
        found = [each.price(usage) or each.on_demand for each in self.types for usage in self.usages]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        most = max(known, key=lambda each: each.usd_per_hour)
        return replace(most, low=min(each.low for each in known), high=max(each.high for each in known))


@dataclass(frozen=True, kw_only=True)
class ScaledPlan(Offers):
    """What Karpenter may do for a pool: start any of the offers, up to `most` nodes and `gpus` GPUs. A node without
    pods goes after `empty_seconds`, each one after `max_days`.
    """

    most: int
    gpus: int
    empty_seconds: int
    max_days: int


@dataclass(frozen=True, kw_only=True)
class SpotPlan(Offers):
    """What the node groups of a pool on spot may take. Where nodes are missing for `wait_minutes`, the keeper asks for
    them in `group`, which is on demand, and after `again_hours` in the pool's own again; None = never.
    """

    group: str
    wait_minutes: int | None
    again_hours: int | None

    @property
    def falls_back(self) -> bool:
        """Whether there are two node groups, which the keeper fills."""
        return self.wait_minutes is not None


def plan_scaled(pool: AwsPool, instances: Mapping[str, Instance]) -> ScaledPlan | None:
    """What Karpenter may do for the pool; None where a node group keeps its nodes.

    Types that the catalogue does not have are left out: a rule names them.
    """
    if pool.karpenter is None:
        return None
    names = (pool.instance_type, *pool.karpenter.instance_types)
    own = UsageClass(pool.capacity)
    others = (UsageClass(each) for each in pool.karpenter.capacities)
    return ScaledPlan(
        types=tuple(instances[name] for name in names if name in instances),
        usages=tuple(dict.fromkeys((own, *others))),
        most=pool.most,
        gpus=pool.most * instances[pool.instance_type].gpu_count,
        empty_seconds=pool.karpenter.empty_seconds,
        max_days=pool.karpenter.max_days,
    )


def plan_spot(pool: AwsPool, instances: Mapping[str, Instance]) -> SpotPlan | None:
    """What a pool on spot may take beside its own type; None where nothing is said of that."""
    if pool.spot is None:
        return None
    names = (pool.instance_type, *pool.spot.instance_types)
    fallback = (UsageClass.ON_DEMAND,) if pool.spot.on_demand_minutes is not None else ()
    return SpotPlan(
        types=tuple(instances[name] for name in names if name in instances),
        usages=(UsageClass.SPOT, *fallback),
        group=f"{pool.name}-on-demand",
        wait_minutes=pool.spot.on_demand_minutes,
        again_hours=pool.spot.again_hours,
    )


def is_scaled(pools: Iterable[AwsPool]) -> bool:
    """Whether Karpenter keeps any of the pools."""
    return any(pool.karpenter is not None for pool in pools)
