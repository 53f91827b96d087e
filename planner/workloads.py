"""Training runs and model services: what their pods ask for, derived from the node they land on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from catalogue.model_types import Model
from catalogue.types import Gpu
from catalogue.units import MIB_PER_GIB
from planner.forecast import RESTART_SECONDS, Aim, Forecast, GpuHour, Saving, forecast
from planner.interconnect import Switching, cluster_of
from planner.mig import product_label
from planner.nodes import pod_share
from planner.placement import Sharing, sharing
from planner.reliability.checkpoints import TierPlan, plan_tiers
from planner.serving.memory import decode_tokens_per_s, serving_memory
from planner.serving.startup import load_seconds, scale_up_seconds, startup_seconds
from planner.step import step_time
from planner.storage.tiers import checkpoint_tiers
from planner.storage.types import StoragePlan
from planner.throughput import model_flops_per_token
from planner.training.job import Job, Layout
from planner.training.layout import covers, layout_on
from planner.training.plan import TrainingPlan, plan_training
from planner.types import AwsPoolPlan, PodResources, PoolPlan, RunPlan, ServicePlan

if TYPE_CHECKING:
    from settings.workloads import Service, TrainingRun

_BILLION = 10**9
_MB_PER_GB = 1000
_SHM_MIB_PER_GPU = 2048


def plan_runs(
    runs: Iterable[TrainingRun],
    pools: Mapping[str, PoolPlan],
    models: Mapping[str, Model],
    storage: StoragePlan | None,
    switching: Switching | None = None,
    price: GpuHour | None = None,
) -> dict[str, RunPlan]:
    """The runs whose pool is planned and has GPUs, by name. Their memory and speed follow where they name a model.

    `storage` is where they read from and save to, `price` what an hour of a GPU costs where the pools are not rented:
    those have their own.
    """
    return {
        run.name: _run(run, pool, models, storage, switching, price)
        for run in runs
        if (pool := pools.get(run.pool)) is not None and pool.gpus_per_node
    }


def _job(run: TrainingRun) -> Job:
    """What the run says about how its model is trained."""
    return Job(
        method=run.method,
        precision=run.precision,
        gradients=run.gradients,
        sharding=run.sharding,
        recompute=run.recompute,
        micro_batch=run.micro_batch,
        accumulation=run.accumulation,
        sequence=run.sequence_length,
    )


def _run(
    run: TrainingRun,
    pool: PoolPlan,
    models: Mapping[str, Model],
    storage: StoragePlan | None,
    switching: Switching | None,
    price: GpuHour | None,
) -> RunPlan:
    """One pod per node, with every GPU and EFA interface of it."""
    efa = pool.efa if isinstance(pool, AwsPoolPlan) else 0
    cpu, memory = pod_share(pool.allocatable_cpu_millicores, pool.allocatable_memory_mib, 1, 1)
    model, gpus = models.get(run.model) if run.model is not None else None, run.nodes * pool.gpus_per_node
    training = _training(run, pool.gpu, gpus, model) if model and pool.gpu else None
    return RunPlan(
        name=run.name,
        pool=run.pool,
        queue=run.queue,
        pods=run.nodes,
        gpus=gpus,
        efa=run.nodes * efa,
        pod=PodResources(
            gpus=pool.gpus_per_node,
            efa=efa,
            cpu_millicores=cpu,
            memory_mib=memory,
            shm_mib=run.shm_gib * MIB_PER_GIB,
        ),
        training=training,
        forecast=_forecast(run, pool, model, training, storage, switching, price) if model and training else None,
        tiers=_tiers(run, training, storage) if training and storage else (),
    )


def _tiers(run: TrainingRun, training: TrainingPlan, storage: StoragePlan) -> tuple[TierPlan, ...]:
    """The places for the run's checkpoints, where it saves any."""
    saved = storage.runs.get(run.name)
    if saved is None:
        return ()
    places = checkpoint_tiers(saved, storage.write_gb_per_s)
    return plan_tiers(places, training.mttf_hours, RESTART_SECONDS)


def _training(run: TrainingRun, gpu: Gpu, gpus: int, model: Model) -> TrainingPlan:
    degrees = run.parallelism
    given = Layout(tensor=degrees.tensor, pipeline=degrees.pipeline, context=degrees.context, expert=degrees.expert)
    pause_s = run.checkpoint.within_seconds if run.checkpoint else None
    return plan_training(_job(run), model, layout_on(gpus, given, degrees.data), gpu, gpus, pause_s)


def _forecast(
    run: TrainingRun,
    pool: PoolPlan,
    model: Model,
    training: TrainingPlan,
    storage: StoragePlan | None,
    switching: Switching | None,
    price: GpuHour | None,
) -> Forecast:
    """By the step's own estimate where the layout fits the GPUs there are and their network, else by a typical one."""
    cluster, layout = cluster_of(pool, switching), training.layout
    reached = run.nodes == 1 or (cluster is not None and cluster.network is not None)
    fits = covers(layout, run.nodes * pool.gpus_per_node) and layout.pipeline <= model.layers
    step = None
    if cluster and reached and fits:
        rate = storage.read_gb_per_s if storage and storage.read_gb_per_s else None
        step = step_time(model, training.job, layout, cluster, storage_gb_per_s=rate)
    saved = run.checkpoint
    aim = None
    if run.tokens_billion is not None:
        flops = model_flops_per_token(model, run.sequence_length)
        tokens = run.tokens_billion * _BILLION
        aim = Aim(tokens=tokens, tokens_per_step=training.tokens_per_step, flops_per_token=flops)
    return forecast(
        step,
        step.tokens_per_s if step else training.tokens_per_s,
        training.mttf_hours,
        gpus=run.nodes * pool.gpus_per_node,
        aim=aim,
        saving=Saving(pause_s=saved.within_seconds, every_s=saved.every_minutes * 60) if saved else None,
        price=_rented(pool) if isinstance(pool, AwsPoolPlan) else price,
    )


def _rented(pool: AwsPoolPlan) -> GpuHour | None:
    """The nodes of the run alone, without what stands around them."""
    price = pool.instance.price(pool.usage)
    if price is None:
        return None
    return GpuHour(usd=price.usd_per_hour / pool.gpus_per_node, basis=f"{pool.usage} price of {pool.hardware}")


def plan_services(
    services: Iterable[Service], pools: Mapping[str, PoolPlan], models: Mapping[str, Model], read_mb_per_s: float
) -> dict[str, ServicePlan]:
    """The services whose pool and model are known, by name. `read_mb_per_s` is the shared file system's whole rate."""
    return {
        service.name: _service(service, pools[service.pool], gpu, models[service.model], read_mb_per_s)
        for service in services
        if service.pool in pools and service.model in models and (gpu := pools[service.pool].gpu)
    }


def plan_sharing(
    pools: Mapping[str, PoolPlan], runs: Mapping[str, RunPlan], services: Mapping[str, ServicePlan]
) -> dict[str, Sharing]:
    """What services leave of their pools, by the pool's name, where each replica fits on a node."""
    found = {}
    for name, pool in pools.items():
        there = [service for service in services.values() if service.pool == name]
        if there and all(service.pod.gpus <= pool.devices_per_node for service in there):
            sizes = [(service.pod.gpus, service.min_replicas, service.max_replicas) for service in there]
            gang = max((run.pods for run in runs.values() if run.pool == name), default=0)
            found[name] = sharing(pool.count, pool.devices_per_node, sizes, gang)
    return found


def _service(service: Service, pool: PoolPlan, gpu: Gpu, model: Model, read_mb_per_s: float) -> ServicePlan:
    """A replica takes its share of the node: `tensor_parallel` of its GPUs or slices, and as much of the rest."""
    devices = service.tensor_parallel
    taken = min(devices, pool.devices_per_node)
    cpu, host = pod_share(pool.allocatable_cpu_millicores, pool.allocatable_memory_mib, taken, pool.devices_per_node)
    memory = serving_memory(
        model,
        pool.mig.memory_gb if pool.mig else gpu.memory_gb,
        devices,
        service.gpu_memory_utilization,
        service.quantization,
        service.kv_cache_dtype,
    )
    part = pool.mig.memory_gb / gpu.memory_gb if pool.mig else 1
    # vLLM quantises what it has read, so the published weights are what is read.
    load = load_seconds(model.weights_bytes, read_mb_per_s / _MB_PER_GB)
    return ServicePlan(
        name=service.name,
        pool=service.pool,
        min_replicas=service.min_replicas,
        max_replicas=service.max_replicas,
        gpus=service.min_replicas * devices,
        gpu_product=product_label(gpu, pool.mig.name if pool.mig else None),
        weights_gb=round(memory.weights_gb, 1),
        overhead_gb=memory.overhead_gb,
        kv_cache_gb=round(memory.kv_cache_gb, 1),
        kv_bytes_per_token=memory.kv_bytes_per_token,
        kv_cache_tokens=memory.kv_cache_tokens,
        full_sequences=memory.sequences(service.max_model_len),
        load_seconds=round(load, 1),
        startup_seconds=startup_seconds(load),
        scale_up_seconds=round(scale_up_seconds(load)),
        request_tokens_per_s=round(
            decode_tokens_per_s(model, gpu.memory_tb_per_s * part, devices, service.quantization)
        ),
        pod=PodResources(gpus=devices, efa=0, cpu_millicores=cpu, memory_mib=host, shm_mib=_SHM_MIB_PER_GPU * devices),
    )
