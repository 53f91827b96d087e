"""The plan's expectations, for rules and panels."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from monitoring.thresholds import Threshold


@dataclass(frozen=True, kw_only=True)
class PoolLimits:
    """A GPU pool whose nodes have `gpus_per_node` devices that pods can ask for."""

    name: str
    gpus_per_node: int


@dataclass(frozen=True, kw_only=True)
class MachineLimits:
    """Machines of `pool` have so many power supplies, and may be given air of `inlet_c` degrees Celsius at most; None
    where that is not known.
    """

    pool: str
    power_supplies: int
    inlet_c: int | None = None


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """A training run on `nodes` nodes of `pool`. `tokens_per_s` and `mfu` (0 to 1) are what the plan forecasts,
    `checkpoint_s` the seconds between saves; each is None where the stack file does not say enough to plan it.
    """

    name: str
    pool: str
    nodes: int
    tokens_per_s: float | None = None
    mfu: float | None = None
    checkpoint_s: int | None = None


@dataclass(frozen=True, kw_only=True)
class ServiceLimits:
    """A model service with `most` replicas at most, and `to_zero` where it has none while nobody asks."""

    name: str
    most: int
    to_zero: bool = False


@dataclass(frozen=True, kw_only=True)
class BlockLimits:
    """A capacity block of `pool`; at `leaves`, in UTC, its nodes are drained."""

    pool: str
    reservation: str
    leaves: datetime


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The stack's pools, machines whose controllers are asked, runs, services and capacity blocks. `thresholds`
    replaces those of the table, by failure and name.
    """

    pools: tuple[PoolLimits, ...] = ()
    machines: tuple[MachineLimits, ...] = ()
    runs: tuple[RunLimits, ...] = ()
    services: tuple[ServiceLimits, ...] = ()
    blocks: tuple[BlockLimits, ...] = ()
    thresholds: Mapping[tuple[str, str], Threshold] = field(default_factory=dict)
