"""Rates that an operation approaches as its size grows, by algorithm and protocol, in GB/s of algorithm bandwidth."""

from planner.communication.collectives import Algorithm, Collective, Protocol, algorithm_gb_per_s
from planner.communication.constants import (
    LL_NETWORK_GB_PER_S,
    LL_NODE_GB_PER_S,
    NVLS_TREE_CHANNEL_GB_PER_S,
    PAT_PART,
    RING_LL128_PART,
    RING_LL_PART,
    TREE_CHANNEL_GB_PER_S,
    TREE_LL128_PART,
    TREE_LL_PART,
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
            return algorithm_gb_per_s(collective, group.ranks, _ring(protocol, group))
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
    return min(inside if algorithm is Algorithm.NVLS else _ring_inside(group), 2 * network.gb_per_s)


def _nvls_tree_channel(group: Group, network: Network) -> float:
    """A pair of nodes needs no inner nodes of the tree, so that each card's both ways count."""
    few = group.domains == 2
    most = NVLS_TREE_CHANNEL_GB_PER_S[architecture(group.gpu)][0 if few else 1]
    card = network.gb_per_s / group.per_domain
    return min(nvls_channel_gb_per_s(group), card * (2 if few else 1), most)


def _ring_inside(group: Group) -> float:
    return inside_gb_per_s(group) if group.per_domain > 1 else float("inf")


def _ring(protocol: Protocol, group: Group) -> float:
    rate = ring_gb_per_s(group)
    match protocol:
        case Protocol.LL:
            return min(RING_LL_PART * rate, _ll_most(group))
        case Protocol.LL128:
            return RING_LL128_PART * rate
        case Protocol.SIMPLE:
            return rate


def _tree(protocol: Protocol, group: Group) -> float:
    """Channels have a limit of their own; on one node there are enough of them not to reach it."""
    rate = TREE_PART * ring_gb_per_s(group)
    if group.network and group.domains > 1:
        most = TREE_CHANNEL_GB_PER_S[architecture(group.gpu)][0 if group.domains == 2 else 1]
        rate = min(rate, most * group.network.nics)
    match protocol:
        case Protocol.LL:
            return min(TREE_LL_PART * rate, _ll_most(group))
        case Protocol.LL128:
            return TREE_LL128_PART[0 if group.domains == 1 else 1] * rate
        case Protocol.SIMPLE:
            return rate


def _ll_most(group: Group) -> float:
    if group.domains == 1:
        return LL_NODE_GB_PER_S[architecture(group.gpu)]
    return LL_NETWORK_GB_PER_S[group.processor][0 if group.domains == 2 else 1]


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
