"""Collective operations, and the two bandwidths that they are measured in.

The algorithm bandwidth is an operation's size over its time. The bus bandwidth is that times what each link has to move
per byte, so that it compares with the link's own rate whatever the number of GPUs is. The size is a rank's buffer; for
all-gather, reduce-scatter and all-to-all it is the larger one, with the parts of all ranks. Source: nccl-tests,
doc/PERFORMANCE.md.
"""

from enum import StrEnum


class Collective(StrEnum):
    """An operation of a group of GPUs."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    SEND_RECEIVE = "send-receive"


class Algorithm(StrEnum):
    """How NCCL carries an operation out. PAIRWISE is a transfer to each peer, for which NCCL chooses no algorithm.

    NVLS adds up in the NVLink switches, NVLS_TREE does so on each node and goes over a tree between nodes, COLLNET adds
    up in the network's switches (SHARP). PAT is for one GPU per node.
    """

    RING = "ring"
    TREE = "tree"
    NVLS = "nvls"
    NVLS_TREE = "nvls-tree"
    COLLNET = "collnet"
    PAT = "pat"
    PAIRWISE = "pairwise"


class Protocol(StrEnum):
    """How NCCL hands data over: with a flag in every 8 or 128 bytes (no waiting), or in large chunks (full rate)."""

    LL = "ll"
    LL128 = "ll128"
    SIMPLE = "simple"


_BOTH_HALVES = (Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_TO_ALL)


def bus_factor(collective: Collective, ranks: int) -> float:
    """Bus bandwidth over algorithm bandwidth: 2(n-1)/n for all-reduce, (n-1)/n where parts are exchanged, else 1.

    Raises ValueError below one rank.
    """
    if ranks < 1:
        raise ValueError(f"{ranks} ranks exchange nothing")
    if collective is Collective.ALL_REDUCE:
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if collective in _BOTH_HALVES else 1.0


def bus_gb_per_s(collective: Collective, ranks: int, algorithm_gb_per_s_: float) -> float:
    """Bus bandwidth in GB/s of an operation that was measured at so much algorithm bandwidth."""
    return algorithm_gb_per_s_ * bus_factor(collective, ranks)


def algorithm_gb_per_s(collective: Collective, ranks: int, bus_gb_per_s_: float) -> float:
    """Algorithm bandwidth in GB/s that a bus bandwidth allows. Raises ValueError where nothing is exchanged."""
    factor = bus_factor(collective, ranks)
    if factor == 0:
        raise ValueError(f"an {collective} of one rank moves nothing")
    return bus_gb_per_s_ / factor
