"""What joins the GPUs of a pool: NVLink or PCIe in a node, the fabric's cards between nodes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from catalogue.network_types import NicRole, of_role
from planner.communication.gates import Gate, gates_of
from planner.communication.group import EFA_LATENCY_US, NETWORK_PART, Cluster, Collective, Network
from planner.pool_types import AwsPoolPlan, MetalPoolPlan, PoolPlan
from settings.workloads import Training


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
