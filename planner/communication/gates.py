"""Tests that a pool's nodes must pass before runs, each with its thresholds.

All-reduce, all-gather and reduce-scatter are those of nccl-tests, in GB/s of bus bandwidth, which every size and number
of GPUs shares; so are all-to-all and send-receive, where a run of the pool exchanges by them. A transfer between two
cards is ib_write_bw's with GPUDirect RDMA, in Gb/s one way, copies are those of nvbandwidth, in GB/s one way.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from planner.communication.group import Cluster, Collective, Group
from planner.communication.thresholds import (
    GIB,
    Threshold,
    all_reduce_threshold,
    card_threshold,
    copy_thresholds,
    exchange_threshold,
    ring_threshold,
)

SIZES_GIB = (1.0, 8.0, 16.0)
"""Messages: a quick one that is recorded, the least that shows a rate, and the one that most figures are for."""

EXCHANGES = (Collective.ALL_TO_ALL, Collective.SEND_RECEIVE)
"""Of experts with all others, and of a pipeline's stages with the next; out of place, so of one size that fits."""

_RINGS = (Collective.ALL_GATHER, Collective.REDUCE_SCATTER)


class Reach(StrEnum):
    """What a test goes through."""

    NODE = "inside a node"
    FABRIC = "between nodes"
    CARDS = "between two cards"


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A test and what its result must reach: pass from `threshold.warn` on, fail below `threshold.fail`.

    `size_gib` is the message of an operation of NCCL. `unit` is that of the threshold's rates.
    """

    test: str
    reach: Reach
    nodes: int
    gpus: int
    size_gib: float | None
    unit: str
    threshold: Threshold


def gates_of(
    cluster: Cluster, nodes: int, *, efa: bool = False, exchanges: Collection[Collective] = ()
) -> tuple[Gate, ...]:
    """The tests of so many nodes of a pool: each node alone, two of them, and all; between nodes also these exchanges.

    Nodes without a network of their own are tested alone.
    """
    return tuple(_gates(cluster, nodes, efa, exchanges))


def _gates(cluster: Cluster, nodes: int, efa: bool, exchanges: Collection[Collective]) -> Iterator[Gate]:
    several, network = cluster.domain_gpus > 1, cluster.network
    spans = dict.fromkeys(span for span in (2, nodes) if network is not None and 2 <= span <= nodes)
    for span in (*([1] if several else []), *spans):
        group = cluster.group(span * cluster.domain_gpus)
        for size in SIZES_GIB:
            threshold = all_reduce_threshold(group, size * GIB, efa=efa and span > 1)
            yield _operation(Collective.ALL_REDUCE, group, size, threshold)
        for collective in _RINGS if span > 1 else ():
            size = SIZES_GIB[-1]
            yield _operation(collective, group, size, ring_threshold(collective, group, size * GIB, efa=efa))
        for collective in EXCHANGES if span > 1 else ():
            if collective in exchanges:
                size = SIZES_GIB[1]
                yield _operation(collective, group, size, exchange_threshold(collective, group, size * GIB))
    if network is not None and not efa and nodes > 1:
        least = card_threshold(network.gbit_per_s)
        yield Gate(test="ib_write_bw", reach=Reach.CARDS, nodes=2, gpus=2, size_gib=None, unit="Gb/s", threshold=least)
    for other, least in copy_thresholds(cluster.gpu.name).items() if several else ():
        gpus, test = 1 if other == "host" else 2, f"copy with a {other}"
        yield Gate(test=test, reach=Reach.NODE, nodes=1, gpus=gpus, size_gib=None, unit="GB/s", threshold=least)


def _operation(collective: Collective, group: Group, size_gib: float, threshold: Threshold) -> Gate:
    return Gate(
        test=str(collective),
        reach=Reach.NODE if group.domains == 1 else Reach.FABRIC,
        nodes=group.domains,
        gpus=group.ranks,
        size_gib=size_gib,
        unit="GB/s",
        threshold=threshold,
    )
