"""Node pools: settings and rows of hardware to numbers per node and per pool."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

from catalogue.metal_types import Server
from catalogue.types import Gpu, Instance, MigProfile, UsageClass
from planner.blocks import BlockPlan, BlockShare, block_times, nodes_on, together
from planner.interfaces import (
    addressed_pods,
    addresses_per_node,
    branch_interfaces,
    efa_count,
    eni_pods,
    layout,
    max_pods,
    pod_addresses_per_node,
)
from planner.nodes import (
    METAL_MAX_PODS,
    allocatable_cpu_millicores,
    allocatable_memory_mib,
    metal_allocatable_memory_mib,
    plan_scaled,
    plan_spot,
)
from planner.placement import wants_placement_group
from planner.pool_types import AwsPoolPlan, HeldPlan, MetalPoolPlan, PoolPlan, profile
from planner.replacement import repair, surge, update_strategy
from planner.storage.fsx import efa_interfaces
from planner.types import AwsTotals, Totals
from settings.aws_pools import AwsPool
from settings.metal import MetalPool
from settings.pools import Pool


def plan_aws_pools(
    pools: Iterable[AwsPool],
    instances: Mapping[str, Instance],
    zones: int,
    today: date,
    *,
    lustre_efa: bool = False,
    apart: bool = False,
    prefixes: bool = False,
    grouped: bool = False,
) -> dict[str, AwsPoolPlan]:
    """The pools whose instance type is in the catalogue, by name. A block's nodes are there while it runs only.

    System pools lie in all `zones`, the others in one. `lustre_efa`: the shared file system speaks EFA. `apart`:
    pods have subnets of their own; `prefixes`: their addresses come in blocks of 16; `grouped`: some of them have
    security groups of their own.
    """
    wanted = list(pools)
    idle = idle_instances(wanted)
    planned = {
        pool.name: _on_aws(
            pool,
            instances,
            zones if pool.role == "system" else 1,
            today,
            idle.get(pool.name, 0),
            apart=apart,
            prefixes=prefixes,
            grouped=grouped,
        )
        for pool in wanted
        if pool.instance_type in instances
    }
    if not lustre_efa:
        return planned
    return {
        name: replace(pool, lustre_efa=efa_interfaces(pool.instance.type, pool.efa)) for name, pool in planned.items()
    }


def idle_instances(pools: Sequence[AwsPool]) -> dict[str, int]:
    """Instances that are held and not run, by the first pool that names their reservation."""
    idle: dict[str, int] = {}
    first: dict[str, str] = {}
    for pool in pools:
        if held := pool.capacity_reservation:
            name = first.setdefault(held.id, pool.name) if held.id else pool.name
            idle[name] = idle.get(name, held.count) - pool.count
    return {name: max(count, 0) for name, count in idle.items()}


def plan_metal_pools(pools: Iterable[MetalPool], servers: Mapping[str, Server]) -> dict[str, MetalPoolPlan]:
    """The pools whose server is in the catalogue, by name."""
    return {pool.name: _in_racks(pool, servers[pool.server]) for pool in pools if pool.server in servers}


def totals(pools: Iterable[PoolPlan]) -> Totals:
    """Sums over the pools."""
    planned = list(pools)
    return Totals(nodes=sum(pool.count for pool in planned), gpus=sum(pool.gpus for pool in planned))


def aws_totals(pools: Iterable[AwsPoolPlan]) -> AwsTotals:
    """Sums over the pools of a stack on AWS."""
    planned = list(pools)
    both = totals(planned)
    return AwsTotals(nodes=both.nodes, gpus=both.gpus, efa_interfaces=sum(pool.efa * pool.count for pool in planned))


_AS_ASKED = {"name", "role", "exclusive_cpus", "root_volume_gib", "ami", "ami_family", "parallel_pulls"}


def _on_aws(
    pool: AwsPool,
    instances: Mapping[str, Instance],
    zones: int,
    today: date,
    idle: int,
    *,
    apart: bool,
    prefixes: bool,
    grouped: bool,
) -> AwsPoolPlan:
    """Only training pools join the fabric: a service's replica lives on one node, where EFA would cost addresses."""
    instance, scaled, spot = instances[pool.instance_type], plan_scaled(pool, instances), plan_spot(pool, instances)
    offered = scaled or spot
    types = offered.types if offered else (instance,)
    usage = UsageClass(pool.capacity)
    fabric = pool.role == "training" and instance.efa_max > 0
    interfaces = layout(instance, fabric)
    efa = efa_count(interfaces)
    branches = branch_interfaces(instance, interfaces, apart=apart) if grouped else 0
    addressed = addressed_pods(instance, interfaces, apart=apart, prefixes=prefixes, trunk=branches > 0)
    held = pool.capacity_reservation
    full = usage is UsageClass.CAPACITY_BLOCK or held is not None
    strategy = update_strategy(training=pool.role == "training", block=full)
    return AwsPoolPlan(
        **pool.model_dump(include=_AS_ASKED),
        hardware=instance.type,
        gpu=instance.gpu,
        count=pool.most,
        gpus_per_node=instance.gpu_count,
        gpus=instance.gpu_count * pool.most,
        nvme=instance.nvme,
        instance=instance,
        interfaces=interfaces,
        efa=efa,
        # EKS' own number wins on its images only.
        max_pods=min(max_pods(instance), addressed) if pool.ami else max_pods(instance),
        addressed_pods=addressed,
        branch_interfaces=branches,
        addresses_per_node=max(addresses_per_node(each, interfaces, apart=apart, prefixes=prefixes) for each in types),
        pod_addresses_per_node=max(pod_addresses_per_node(each, interfaces, prefixes=prefixes) for each in types)
        if apart
        else 0,
        prefixes=prefixes,
        allocatable_cpu_millicores=allocatable_cpu_millicores(instance.vcpu, exclusive=pool.exclusive_cpus),
        allocatable_memory_mib=allocatable_memory_mib(instance, eni_pods(instance), efa),
        mig=_cut(pool, instance.gpu),
        time_slices=pool.time_slices or 1,
        usage=usage,
        capacity_type=usage.value.upper().replace("-", "_"),
        placement_group=wants_placement_group(efa, usage) and (held is None or held.create),
        update_strategy=strategy,
        surge=0 if scaled else surge(strategy, pool.count, zones),
        repair=repair(pool.count, gpus=instance.gpu is not None) if pool.repair and not scaled else None,
        block=_block(pool, instance, today),
        capacity_reservation=held.id if held else None,
        held=HeldPlan(count=held.count, ends=_midnight_after(held.end)) if held and held.create else None,
        idle=idle,
        scaled=scaled,
        spot=spot,
        sandbox=pool.sandbox,
        sandboxed=pool.sandbox is not None,
    )


def _midnight_after(last: date | None) -> datetime | None:
    return datetime.combine(last + timedelta(days=1), time(), UTC) if last else None


def _block(pool: AwsPool, instance: Instance, today: date) -> BlockPlan | None:
    if not pool.booked:
        return None
    shares = tuple(
        BlockShare(
            group=f"{pool.name}-{number}" if pool.reservations else pool.name,
            reservation=block.id,
            times=block_times(block.start, block.end, ultraserver=instance.ultraserver),
            count=count,
            nodes=nodes_on(count, block.start, block.end, today),
            max_unhealthy=repair(count, gpus=instance.gpu is not None).max_unhealthy,
        )
        for number, (block, count) in enumerate(pool.booked, 1)
    )
    zone, _ = pool.booked[0]
    return BlockPlan(shares=shares, zone_id=zone.zone, times=together([each.times for each in shares]))


_OF_RACKS = {"name", "role", "count", "gpu_clock_mhz", "gpu_power_w", "exclusive_cpus"}
"""What the plan of a pool of servers has as the stack file says it."""


def _in_racks(pool: MetalPool, server: Server) -> MetalPoolPlan:
    return MetalPoolPlan(
        **pool.model_dump(include=_OF_RACKS),
        hardware=server.name,
        gpu=server.gpu,
        gpus_per_node=server.gpu_count,
        gpus=server.gpu_count * pool.count,
        nvme=server.nvme,
        server=server,
        rails=server.rails,
        most=pool.most,
        sandboxed=pool.sandbox,
        allocatable_cpu_millicores=allocatable_cpu_millicores(server.cpu.threads, exclusive=pool.exclusive_cpus),
        allocatable_memory_mib=metal_allocatable_memory_mib(server.memory_gib, METAL_MAX_PODS),
        mig=_cut(pool, server.gpu),
        time_slices=pool.time_slices or 1,
    )


def _cut(pool: Pool, gpu: Gpu | None) -> MigProfile | None:
    """The pool's MIG profile, if its GPU has one of that name."""
    return profile(gpu, pool.mig) if gpu is not None and pool.mig is not None else None
