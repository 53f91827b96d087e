"""Planned values that dashboards draw beside measurements; units are in the names."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class PoolReference:
    """A pool with GPUs. `devices` is what pods can ask for on a node: its GPUs, or what MIG cuts them into.

    `watts_per_gpu` is the board's power limit. `fabric_gb_per_s` is what a node's cards carry one way together, and
    `bus_gb_per_s` the bus bandwidth of an all-reduce between nodes that a healthy pool reaches; None without a fabric,
    or where nobody told one. `usd_per_gpu_hour` None where no price is recorded.
    """

    name: str
    gpu: str
    nodes: int
    gpus: int
    devices: int
    watts_per_gpu: float
    fabric_gb_per_s: float | None = None
    bus_gb_per_s: float | None = None
    usd_per_gpu_hour: float | None = None


@dataclass(frozen=True, kw_only=True)
class RunReference:
    """A training run as planned, `gpus` of a pool.

    `tokens_per_s` is to be expected while it runs, `step_s` how long its steps then take, and `mfu` what that is of the
    GPUs' peak. `effective_part` is the effective training time ratio to expect. None where the run names no model, does
    not fit, or saves nothing.
    """

    name: str
    pool: str
    gpus: int
    tokens_per_s: float | None = None
    step_s: float | None = None
    mfu: float | None = None
    checkpoint_every_s: float | None = None
    checkpoint_pause_s: float | None = None
    effective_part: float | None = None


@dataclass(frozen=True, kw_only=True)
class ServiceReference:
    """A model service. `waiting_per_replica` is what its autoscaler aims at, None where replicas do not change.

    A single request gets `request_tokens_per_s` at most.
    """

    name: str
    pool: str
    gpus_per_replica: int
    min_replicas: int
    max_replicas: int
    request_tokens_per_s: float
    waiting_per_replica: int | None = None


@dataclass(frozen=True, kw_only=True)
class StorageReference:
    """The shared file system `kind`: GB/s one way for all clients together, decimal TB."""

    kind: str
    read_gb_per_s: float
    write_gb_per_s: float
    usable_tb: float


@dataclass(frozen=True, kw_only=True)
class References:
    """A stack as planned, by name. `usd_per_hour` is what all of it is expected to cost, `budget_usd_per_hour` what it
    may; `facility_kw` what the room gives on premises, `pue` with how much of it beside the machines. `rates`:
    the servers of the shared file system are asked for theirs.
    """

    nodes: int
    gpus: int
    pools: Mapping[str, PoolReference] = field(default_factory=dict)
    runs: Mapping[str, RunReference] = field(default_factory=dict)
    services: Mapping[str, ServiceReference] = field(default_factory=dict)
    storage: StorageReference | None = None
    queues: tuple[str, ...] = ()
    usd_per_hour: float | None = None
    budget_usd_per_hour: float | None = None
    facility_kw: float | None = None
    pue: float | None = None
    rates: bool = False
