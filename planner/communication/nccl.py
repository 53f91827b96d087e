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
    NVLS_TREE_CHANNEL_GB_PER_S,
    PAT_NETWORK_PART,
    PAT_PART,
    PAT_RANK_US,
    POST_US,
    RING_PART,
    TREE_CHANNEL_GB_PER_S,
    TREE_OF_RING,
    TREE_PART,
    architecture,
)
from planner.communication.group import (
    Group,
    Network,
    inside_gb_per_s,
    nvls_channel_gb_per_s,
    ring_gb_per_s,
)

_ALL_REDUCE = Collective.ALL_REDUCE


def reached_gb_per_s(collective: Collective, algorithm: Algorithm, protocol: Protocol, group: Group) -> float:
    """Algorithm bandwidth of the operation at a size that leaves latency behind."""
    match algorithm:
        case Algorithm.RING:
            return algorithm_gb_per_s(collective, group.ranks, RING_PART[protocol] * ring_gb_per_s(group))
        case Algorithm.TREE:
            return _tree(protocol, group) / 2
        case Algorithm.PAT:
            return PAT_PART * ring_gb_per_s(group)
        case Algorithm.PAIRWISE:
            return _pairwise(collective, group)
        case Algorithm.NVLS | Algorithm.NVLS_TREE | Algorithm.COLLNET:
            return algorithm_gb_per_s(_ALL_REDUCE, group.ranks, in_switches_gb_per_s(algorithm, group))


def in_switches_gb_per_s(algorithm: Algorithm, group: Group) -> float:
    """Bus bandwidth of an all-reduce that switches do the sums of.

    Summed up by the network's switches, data cross the cards once each way and not twice, so that these count double.
    """
    heads, network = group.per_domain, group.network
    inside = heads * nvls_channel_gb_per_s(group)
    if group.domains == 1 or network is None:
        return inside
    if algorithm is Algorithm.NVLS_TREE:
        return heads * _nvls_tree_channel(group, network)
    if algorithm is Algorithm.COLLNET:
        inside = inside_gb_per_s(group) if group.per_domain > 1 else float("inf")
    return min(inside, 2 * network.gb_per_s)


def _nvls_tree_channel(group: Group, network: Network) -> float:
    """A pair of nodes needs no inner nodes of the tree, so that each card's both ways count."""
    few = group.domains == 2
    most = NVLS_TREE_CHANNEL_GB_PER_S[architecture(group.gpu)][0 if few else 1]
    card = network.gb_per_s / group.per_domain
    return min(nvls_channel_gb_per_s(group), card * (2 if few else 1), most)


def _tree(protocol: Protocol, group: Group) -> float:
    """Channels have a limit of their own; on one node there are enough of them not to reach it."""
    rate = TREE_OF_RING * ring_gb_per_s(group)
    if group.network and group.domains > 1:
        most = TREE_CHANNEL_GB_PER_S[architecture(group.gpu)][0 if group.domains == 2 else 1]
        rate = min(rate, most * group.network.nics)
    return TREE_PART[protocol][1 if group.domains > 1 else 0] * rate


def _pairwise(collective: Collective, group: Group) -> float:
    """What a GPU sends to others of its domain and, through its share of the cards, to those outside.

    Both flow at the same time. A transfer between two GPUs of different domains has one GPU's share.
    """
    inside, network = inside_gb_per_s(group), group.network
    if group.domains == 1 or network is None:
        return algorithm_gb_per_s(collective, group.ranks, inside)
    card = network.gb_per_s / group.per_domain
    if collective is Collective.SEND_RECEIVE:
        return min(inside, card) if group.per_domain > 1 else card
    near = (group.per_domain - 1) / group.ranks
    far = (group.ranks - group.per_domain) / group.ranks
    return 1 / max(near / inside, far / card)


_US = 1e-6
_GB = 1e9
_PARTS = (Collective.ALL_GATHER, Collective.REDUCE_SCATTER)
_PAIRS = (Collective.ALL_TO_ALL, Collective.SEND_RECEIVE)


@dataclass(frozen=True, kw_only=True)
class Timing:
    """An operation as it was reckoned; its bandwidth in GB/s."""

    algorithm: Algorithm
    protocol: Protocol
    seconds: float
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
        return Timing(algorithm=algorithm, protocol=protocol, seconds=0.0, bus_gb_per_s=0.0)
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
        bus_gb_per_s=bus_gb_per_s(collective, group.ranks, reached),
    )


def fastest(collective: Collective, size_bytes: float, group: Group) -> Timing:
    """The operation as NCCL would carry it out: with the pair that takes least time."""
    return min(
        (timing(collective, size_bytes, group, *pair) for pair in choices(collective, group)),
        key=lambda each: each.seconds,
    )
