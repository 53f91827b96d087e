"""Time of a collective operation: latency + size / algorithm bandwidth, as NCCL's own cost model reckons it.

Which algorithm and protocol are best follows from that for each size, group and network; there is no size at which NCCL
changes over. Source: NCCL 2.30.7, src/tuning. Its corrections of trees' rate by size, and of ring latency where many
nodes are full, are left out: they make the estimate jump where the size doubles.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log2

from planner.communication.collectives import (
    Algorithm,
    Collective,
    Protocol,
    algorithm_gb_per_s,
    bus_factor,
    bus_gb_per_s,
)
from planner.communication.constants import (
    COLLNET_ARITY_US,
    LATENCIES_US,
    PAT_NETWORK_PART,
    PAT_RANK_US,
    POST_US,
)
from planner.communication.group import Group
from planner.communication.rates import reached_gb_per_s

_US = 1e-6
_GB = 1e9
_PARTS = (Collective.ALL_GATHER, Collective.REDUCE_SCATTER)
_PAIRS = (Collective.ALL_TO_ALL, Collective.SEND_RECEIVE)


@dataclass(frozen=True, kw_only=True)
class Timing:
    """An operation of `size_bytes` as it was reckoned; bandwidths in GB/s."""

    algorithm: Algorithm
    protocol: Protocol
    seconds: float
    algorithm_gb_per_s: float
    bus_gb_per_s: float


def choices(collective: Collective, group: Group) -> Iterator[tuple[Algorithm, Protocol]]:
    """The pairs of algorithm and protocol that NCCL has for the operation in this group."""
    for algorithm, protocol in LATENCIES_US:
        if _exists(collective, algorithm, group):
            yield algorithm, protocol


def _exists(collective: Collective, algorithm: Algorithm, group: Group) -> bool:
    reduces = collective is Collective.ALL_REDUCE
    match algorithm:
        case Algorithm.PAIRWISE:
            return collective in _PAIRS
        case Algorithm.RING:
            return collective not in _PAIRS
        case Algorithm.TREE:
            return reduces
        case Algorithm.NVLS:
            return reduces and group.nvls and (group.domains == 1 or group.sharp)
        case Algorithm.NVLS_TREE:
            return reduces and group.nvls and group.domains > 1
        case Algorithm.COLLNET:
            return reduces and group.sharp and group.domains > 1
        case Algorithm.PAT:
            return collective in _PARTS and group.domains == group.ranks > 1


def latency_us(collective: Collective, algorithm: Algorithm, protocol: Protocol, group: Group) -> float:
    """Microseconds of an operation without data."""
    row = LATENCIES_US[algorithm, protocol]
    inside = row.nvlink if group.nvlink else row.pcie
    network = _network_us(algorithm, protocol, group)
    height = int(log2(group.domains))
    others = group.per_domain - 1
    across = network if group.domains > 1 else 0.0
    match algorithm:
        case Algorithm.RING:
            return row.base + _ring_steps_us(collective, protocol, group, inside, network)
        case Algorithm.TREE:
            return row.base + 2 * (others * inside + height * network)
        case Algorithm.NVLS:
            return inside + across
        case Algorithm.NVLS_TREE:
            return inside + 2 * height * network
        case Algorithm.COLLNET:
            return row.base + 2 * (min(1, others) * inside + others * COLLNET_ARITY_US) + network
        case Algorithm.PAT:
            return row.base + height * network * PAT_NETWORK_PART + group.ranks * PAT_RANK_US
        case Algorithm.PAIRWISE:
            peers = group.ranks - 1 if collective is Collective.ALL_TO_ALL else 1
            return row.base + (across or inside) + peers * POST_US[group.processor]


def _ring_steps_us(collective: Collective, protocol: Protocol, group: Group, inside: float, network: float) -> float:
    """Each of n-1 steps (twice as many for all-reduce) goes over NVLink or, N-1 of them, over the network.

    On several nodes a step takes no less than posting it to the network takes.
    """
    if group.domains > 1:
        inside = max(inside, POST_US[group.processor] * (3 if protocol is Protocol.SIMPLE else 1))
    rounds = 2 if collective is Collective.ALL_REDUCE else 1
    over_network = group.domains - 1
    return rounds * ((group.ranks - 1 - over_network) * inside + over_network * network)


def _network_us(algorithm: Algorithm, protocol: Protocol, group: Group) -> float:
    """A step over the network. Simple also flushes, and with one GPU per node a ring's step is as long as a tree's."""
    exposed = algorithm is Algorithm.RING and group.per_domain == 1
    row = LATENCIES_US[Algorithm.TREE if exposed else algorithm, protocol]
    added = group.network.latency_us if group.network else 0.0
    return row.network + added * (2 if protocol is Protocol.SIMPLE else 1)


def timing(
    collective: Collective,
    size_bytes: float,
    group: Group,
    algorithm: Algorithm = Algorithm.RING,
    protocol: Protocol = Protocol.SIMPLE,
    *,
    bus: float | None = None,
) -> Timing:
    """The operation with this algorithm and protocol; `bus` is its bus bandwidth in GB/s where it was measured.

    A group of one has nothing to do and takes no time. Raises ValueError for a pair that `choices` does not list.
    """
    if bus_factor(collective, group.ranks) == 0:
        return Timing(algorithm=algorithm, protocol=protocol, seconds=0.0, algorithm_gb_per_s=0.0, bus_gb_per_s=0.0)
    if (algorithm, protocol) not in LATENCIES_US or not _exists(collective, algorithm, group):
        raise ValueError(f"NCCL has no {collective} by {algorithm} and {protocol} in such a group")
    if bus is None:
        rate = reached_gb_per_s(collective, algorithm, protocol, group)
    else:
        rate = algorithm_gb_per_s(collective, group.ranks, bus)
    seconds = latency_us(collective, algorithm, protocol, group) * _US + size_bytes / (rate * _GB)
    reached = size_bytes / seconds / _GB
    return Timing(
        algorithm=algorithm,
        protocol=protocol,
        seconds=seconds,
        algorithm_gb_per_s=reached,
        bus_gb_per_s=bus_gb_per_s(collective, group.ranks, reached),
    )


def fastest(collective: Collective, size_bytes: float, group: Group) -> Timing:
    """The operation as NCCL would carry it out: with the pair that takes least time."""
    return min(
        (timing(collective, size_bytes, group, *pair) for pair in choices(collective, group)),
        key=lambda each: each.seconds,
    )
