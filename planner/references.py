"""The numbers of a plan that dashboards draw beside what is measured."""

from dataclasses import replace

from catalogue.types import Gpu
from monitoring.dashboards.references import (
    PoolReference,
    References,
    RunReference,
    ServiceReference,
    StorageReference,
)
from planner.communication.group import Collective
from planner.interconnect import Reach, cluster_of
from planner.metal_types import MetalPlan
from planner.monitoring.types import watches_files
from planner.pool_types import PoolPlan
from planner.storage.types import StoragePlan
from planner.throughput import TYPICAL_MFU
from planner.types import AwsPlan, Plan
from planner.workload_types import RunPlan, ServicePlan

_BITS = 8


def references(plan: Plan) -> References:
    """Of any plan. Money, power and storage are the platform's: what nobody told is None."""
    known = References(
        nodes=plan.totals.nodes,
        gpus=plan.totals.gpus,
        pools={name: _pool(plan, pool, pool.gpu) for name, pool in plan.pools.items() if pool.gpu},
        runs={name: _run(run) for name, run in plan.runs.items()},
        services={name: _service(service) for name, service in plan.services.items()},
        queues=tuple(queue.name for queue in plan.queues),
        budget_usd_per_hour=plan.ownership.max_hourly_usd,
        rates=watches_files(plan.monitoring),
    )
    if isinstance(plan, AwsPlan):
        return replace(known, storage=_storage(plan.storage), usd_per_hour=plan.prices.hourly)
    return _with_racks(known, plan) if isinstance(plan, MetalPlan) else known


def _with_racks(known: References, plan: MetalPlan) -> References:
    facility = plan.facility
    share = plan.owned.hourly_per_gpu
    each = share.usd if share else None
    return replace(
        known,
        pools={name: replace(pool, usd_per_gpu_hour=each) for name, pool in known.pools.items()},
        storage=_storage(plan.storage) if plan.storage else None,
        usd_per_hour=plan.owned.hourly.usd,
        facility_kw=facility.facility_kw,
        pue=facility.facility_kw / facility.power.it_kw,
    )


def _storage(storage: StoragePlan) -> StorageReference:
    return StorageReference(
        kind=storage.kind,
        read_gb_per_s=storage.read_gb_per_s,
        write_gb_per_s=storage.write_gb_per_s,
        usable_tb=storage.usable_tb,
    )


def _pool(plan: Plan, pool: PoolPlan, gpu: Gpu) -> PoolReference:
    cluster = cluster_of(pool)
    network = cluster.network if cluster else None
    return PoolReference(
        name=pool.name,
        gpu=gpu.name,
        nodes=pool.count,
        gpus=pool.gpus,
        devices=pool.devices_per_node,
        watts_per_gpu=gpu.tdp_w,
        fabric_gb_per_s=network.nics * network.gbit_per_s / _BITS if network else None,
        bus_gb_per_s=_bus_gb_per_s(plan, pool),
        usd_per_gpu_hour=_usd_per_gpu_hour(plan, pool),
    )


def _bus_gb_per_s(plan: Plan, pool: PoolPlan) -> float | None:
    """Of the largest all-reduce over all the pool's nodes that has a figure."""
    told = [
        (gate.nodes, gate.size_gib or 0.0, gate.threshold.expected)
        for gate in plan.gates.get(pool.name, ())
        if gate.test == Collective.ALL_REDUCE and gate.reach is Reach.FABRIC and gate.threshold.expected is not None
    ]
    return max(told)[2] if told else None


def _usd_per_gpu_hour(plan: Plan, pool: PoolPlan) -> float | None:
    """What the pool's rented nodes cost by GPU."""
    lines = (
        [line.usd_per_hour for line in plan.prices.lines if line.pool == pool.name] if isinstance(plan, AwsPlan) else []
    )
    return sum(lines) / pool.gpus if lines else None


def _run(run: RunPlan) -> RunReference:
    """By the estimate of a step where there is one, else at a typical utilisation, as the forecast itself is."""
    training, forecast = run.training, run.forecast
    rate = forecast.tokens_per_s if forecast else None
    step = forecast.step if forecast else None
    return RunReference(
        name=run.name,
        pool=run.pool,
        gpus=run.gpus,
        tokens_per_s=rate,
        step_s=training.tokens_per_step / rate if training and rate else None,
        mfu=step.mfu if step else TYPICAL_MFU if training else None,
        checkpoint_every_s=run.saving.every_s if run.saving else None,
        checkpoint_pause_s=run.saving.within_s if run.saving else None,
        effective_part=forecast.effective_part if forecast else None,
    )


def _service(service: ServicePlan) -> ServiceReference:
    return ServiceReference(
        name=service.name,
        pool=service.pool,
        gpus_per_replica=service.pod.gpus,
        min_replicas=service.min_replicas,
        max_replicas=service.max_replicas,
        request_tokens_per_s=service.request_tokens_per_s,
        waiting_per_replica=service.scaling.waiting_per_replica if service.scaling else None,
    )
