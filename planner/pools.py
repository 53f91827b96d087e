"""Node pools: settings and instance rows to numbers per node and per pool."""

from collections.abc import Iterable, Mapping

from catalogue.types import Instance
from planner.interfaces import addresses_per_node, efa_count, layout, max_pods
from planner.nodes import allocatable_cpu_millicores, allocatable_memory_mib
from planner.types import PoolPlan, Totals
from settings.model import Pool


def plan_pools(pools: Iterable[Pool], instances: Mapping[str, Instance]) -> dict[str, PoolPlan]:
    """The pools whose instance type is in the catalogue, by name."""
    return {pool.name: _plan(pool, instances[pool.instance_type]) for pool in pools if pool.instance_type in instances}


def totals(pools: Iterable[PoolPlan]) -> Totals:
    """Sums over the pools."""
    planned = list(pools)
    return Totals(
        nodes=sum(pool.count for pool in planned),
        gpus=sum(pool.gpus for pool in planned),
        efa_interfaces=sum(pool.efa * pool.count for pool in planned),
    )


def _plan(pool: Pool, instance: Instance) -> PoolPlan:
    """Only training pools join the fabric: a service's replica lives on one node, where EFA would cost addresses."""
    fabric = pool.role == "training" and instance.efa_max > 0
    interfaces = layout(instance, fabric)
    efa = efa_count(interfaces)
    pods = max_pods(instance, interfaces)
    return PoolPlan(
        name=pool.name,
        role=pool.role,
        instance=instance,
        count=pool.count,
        gpus_per_node=instance.gpu_count,
        gpus=instance.gpu_count * pool.count,
        interfaces=interfaces,
        efa=efa,
        max_pods=pods,
        addresses_per_node=addresses_per_node(instance, interfaces),
        allocatable_cpu_millicores=allocatable_cpu_millicores(instance),
        allocatable_memory_mib=allocatable_memory_mib(instance, pods, efa),
        placement_group=fabric,
    )
