"""What joins the GPUs of a pool: NVLink or PCIe in a node, the fabric's cards between; and the tests of its nodes.

All-reduce, all-gather and reduce-scatter are those of nccl-tests, in GB/s of bus bandwidth, which every size and number
of GPUs shares; so are all-to-all and send-receive, where a run of the pool exchanges by them. A transfer between two
cards is ib_write_bw's with GPUDirect RDMA, in Gb/s one way, copies are those of nvbandwidth, in GB/s one way.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from catalogue.network_types import NicRole, of_role
from planner.communication.group import EFA_LATENCY_US, NETWORK_PART, Cluster, Collective, Group, Network
from planner.communication.thresholds import (
    GIB,
    Threshold,
    all_reduce_threshold,
    card_threshold,
    copy_thresholds,
    exchange_threshold,
    ring_threshold,
)
from planner.pool_types import AwsPoolPlan, MetalPoolPlan, PoolPlan
from settings.workloads import Training

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


@dataclass(frozen=True, kw_only=True)
class Switching:
    """What the fabric's switches do to traffic: `sharp` ones add up; `oversubscription` is ports down to ports up."""

    sharp: bool = False
    oversubscription: float = 1.0


def cluster_of(pool: PoolPlan, switching: Switching | None = None) -> Cluster | None:
    """The pool's nodes as groups of GPUs are cut from them; None without GPUs.

    Racks that share NVLink count by node: what joins their nodes is not set up here.
    """
    if pool.gpu is None or not pool.gpus_per_node:
        return None
    how = switching or Switching()
    network = _of_racks(pool, how) if isinstance(pool, MetalPoolPlan) else _on_aws(pool)
    return Cluster(gpu=pool.gpu, domain_gpus=pool.gpus_per_node, network=network)


def exchanges_of(training: Training, pool: str) -> frozenset[Collective]:
    """What runs of the pool exchange beside the operations that every run has."""
    here = [run.parallelism for run in training.runs if run.pool == pool]
    found = {Collective.ALL_TO_ALL} if any(each.expert > 1 for each in here) else set()
    return frozenset(found | ({Collective.SEND_RECEIVE} if any(each.pipeline > 1 for each in here) else set()))


def pool_gates(
    pools: Iterable[PoolPlan], switching: Switching | None = None, training: Training | None = None
) -> dict[str, tuple[Gate, ...]]:
    """What the nodes of each pool with several GPUs must reach, by the pool's name. `training` has the pools' runs.

    Pools whose GPUs are cut into slices have no collective operations. On AWS only EFA is held to a rate: TCP over the
    node's one interface reaches what else goes on leaves of it.
    """
    found = {}
    for pool in pools:
        cluster = cluster_of(pool, switching) if pool.gpus > 1 and pool.mig is None else None
        efa = isinstance(pool, AwsPoolPlan) and pool.efa > 0
        if cluster is not None:
            reached = cluster if efa or isinstance(pool, MetalPoolPlan) else replace(cluster, network=None)
            exchanges = exchanges_of(training, pool.name) if training else ()
            found[pool.name] = gates_of(reached, pool.count, efa=efa, exchanges=exchanges)
    return {name: gates for name, gates in found.items() if gates}


def _of_racks(pool: MetalPoolPlan, how: Switching) -> Network | None:
    """All compute ports at the slowest one's rate. Where leaves have fewer ports up than down, all traffic goes up."""
    groups = of_role(pool.server.nics, NicRole.COMPUTE)
    if not groups:
        return None
    return Network(
        nics=sum(group.ports for group in groups),
        gbit_per_s=min(group.nic.gbit_per_s for group in groups),
        sharp=how.sharp,
        part=NETWORK_PART / max(1.0, how.oversubscription),
    )


def _on_aws(pool: PoolPlan) -> Network | None:
    """EFA where the pool has it, each interface with its share of the node's rate; else one interface over TCP."""
    if not isinstance(pool, AwsPoolPlan):
        return None
    rate = pool.instance.network_gbit_per_s
    if pool.efa:
        return Network(nics=pool.efa, gbit_per_s=rate / pool.efa, latency_us=EFA_LATENCY_US)
    return Network(nics=1, gbit_per_s=rate)
