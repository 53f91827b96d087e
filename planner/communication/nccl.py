"""Time of a collective operation: latency + size / algorithm bandwidth, of the ways that large messages take.

There is no size at which NCCL changes over: the way that takes least time is taken. Source: NCCL 2.30.7, src/tuning.
PAT and the protocols for small messages are left out: with them, none of the published runs that the forecast is held
against changes by a thousandth, and what it is wrong by lies in the GPUs' own rates. So messages below about 1 MB are
thought to take longer than they do.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import log2

from planner.communication.group import Collective, Group, bus_factor

_BASE_US, _NVLINK_US, _PCIE_US, _NETWORK_US = 8.4, 3.4, 5.7, 14.0
"""An operation, and a step of a ring over NVLink, PCIe and the network (src/tuning/cost_model.cc, ring, Simple)."""
_TREE_US = 4.0
"""A step of a tree inside a node; over the network it is as long as a ring's."""
_NVLS_US, _TREE_STEP_US, _SUM_US = 25.0, 20.9, 18.0
"""Sums in NVLink's switches, a step of the tree between nodes, and the fabric's switches (the same, NVLS)."""
_POST_US = 1.0
"""What a processor takes to post a transfer to a peer."""


class Algorithm(StrEnum):
    """How NCCL carries an operation out. PAIRWISE is a transfer to each peer, for which NCCL chooses no algorithm.

    NVLS adds up in the NVLink switches, NVLS_TREE does so on each node and goes over a tree between nodes, COLLNET adds
    up in the network's switches (SHARP).
    """

    RING = "ring"
    TREE = "tree"
    NVLS = "nvls"
    NVLS_TREE = "nvls-tree"
    COLLNET = "collnet"
    PAIRWISE = "pairwise"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """An operation as it was reckoned; its bandwidth in GB/s."""

    algorithm: Algorithm
    seconds: float
    bus_gb_per_s: float


def choices(collective: Collective, group: Group) -> tuple[Algorithm, ...]:
    """The ways that the operation can take in this group."""
    if collective in (Collective.ALL_TO_ALL, Collective.SEND_RECEIVE):
        return (Algorithm.PAIRWISE,)
    found = [Algorithm.RING]
    if collective is Collective.ALL_REDUCE:
        found.append(Algorithm.TREE)
        if group.nvls:
            found.append(Algorithm.NVLS_TREE if group.outside else Algorithm.NVLS)
        if group.sharp:
            found.append(Algorithm.COLLNET)
    return tuple(found)


def reached_gb_per_s(collective: Collective, algorithm: Algorithm, group: Group) -> float:
    """Bus bandwidth of the operation at a size that leaves latency behind.

    Summed up by the network's switches, data cross the cards once each way and not twice, so that these count double.
    """
    match algorithm:
        case Algorithm.RING:
            return group.ring_gb_per_s
        case Algorithm.TREE:
            return group.tree_gb_per_s * bus_factor(collective, group.ranks)
        case Algorithm.NVLS:
            return group.nvls_gb_per_s
        case Algorithm.NVLS_TREE:
            return group.nvls_tree_gb_per_s
        case Algorithm.COLLNET:
            inside = group.nvls_gb_per_s or (group.inside_gb_per_s if group.per_domain > 1 else float("inf"))
            return min(inside, 2 * group.outside.gb_per_s) if group.outside else inside
        case Algorithm.PAIRWISE:
            return _pairwise(collective, group)


def _pairwise(collective: Collective, group: Group) -> float:
    """What a GPU sends to others of its domain and, through its share of the cards, to those outside.

    Both flow at the same time. A transfer between two GPUs of different domains has one GPU's share.
    """
    inside = group.inside_gb_per_s
    if group.outside is None:
        return inside
    card = group.outside.gb_per_s / group.per_domain
    if collective is Collective.SEND_RECEIVE:
        return min(inside, card) if group.per_domain > 1 else card
    near, far = group.per_domain - 1, group.ranks - group.per_domain
    return (group.ranks - 1) / max(near / inside, far / card)


def latency_us(collective: Collective, algorithm: Algorithm, group: Group) -> float:
    """Microseconds of an operation without data.

    Each of a ring's n-1 steps (twice as many for all-reduce) goes over NVLink or, N-1 of them, over the network, whose
    own latency counts twice, as a large message is flushed.
    """
    step = _NVLINK_US if group.nvlink else _PCIE_US
    added = 2 * group.outside.latency_us if group.outside else 0.0
    over, height = group.domains - 1, int(log2(group.domains))
    match algorithm:
        case Algorithm.RING:
            rounds = 2 if collective is Collective.ALL_REDUCE else 1
            return _BASE_US + rounds * ((group.ranks - 1 - over) * step + over * (_NETWORK_US + added))
        case Algorithm.TREE:
            return _BASE_US + 2 * ((group.per_domain - 1) * _TREE_US + height * (_NETWORK_US + added))
        case Algorithm.NVLS:
            return _NVLS_US
        case Algorithm.NVLS_TREE:
            return _NVLS_US + 2 * height * (_TREE_STEP_US + added)
        case Algorithm.COLLNET:
            return _NVLS_US + _SUM_US + added
        case Algorithm.PAIRWISE:
            peers = group.ranks - 1 if collective is Collective.ALL_TO_ALL else 1
            return _BASE_US + (_NETWORK_US + added if over else step) + peers * _POST_US


def timing(collective: Collective, size_bytes: float, group: Group, algorithm: Algorithm) -> Timing:
    """The operation by one of its `choices`. A group of one has nothing to do and takes no time."""
    factor = bus_factor(collective, group.ranks)
    if factor == 0:
        return Timing(algorithm=algorithm, seconds=0.0, bus_gb_per_s=0.0)
    rate = reached_gb_per_s(collective, algorithm, group) / factor
    seconds = latency_us(collective, algorithm, group) * 1e-6 + size_bytes / (rate * 1e9)
    return Timing(algorithm=algorithm, seconds=seconds, bus_gb_per_s=size_bytes / seconds / 1e9 * factor)


def fastest(collective: Collective, size_bytes: float, group: Group) -> Timing:
    """The operation as NCCL would carry it out: the way that takes least time."""
    ways = (timing(collective, size_bytes, group, each) for each in choices(collective, group))
    return min(ways, key=lambda each: each.seconds)
