"""Training runs and model services: what their pods ask for, derived from the node they land on."""

from collections.abc import Iterable, Mapping

from catalogue.types import Gpu, Model
from planner.nodes import pod_share
from planner.types import PodResources, PoolPlan, RunPlan, ServicePlan
from settings.model import FsxLustre, Service, TrainingRun

_MIB_PER_GIB = 1024
_GIB_PER_TIB = 1024
_SCRATCH_MBPS_PER_TIB = 200
_OVERHEAD_GB_PER_GPU = 3
_KV_BYTES = 2
_MIN_STARTUP_SECONDS = 600
_SHM_MIB_PER_GPU = 2048


def plan_runs(runs: Iterable[TrainingRun], pools: Mapping[str, PoolPlan]) -> dict[str, RunPlan]:
    """The runs whose pool is planned and has GPUs, by name."""
    return {run.name: _run(run, pools[run.pool]) for run in runs if run.pool in pools and pools[run.pool].gpus_per_node}


def _run(run: TrainingRun, pool: PoolPlan) -> RunPlan:
    """One pod per node, with every GPU and EFA interface of it."""
    cpu, memory = pod_share(pool.allocatable_cpu_millicores, pool.allocatable_memory_mib, 1, 1)
    return RunPlan(
        name=run.name,
        pool=run.pool,
        queue=run.queue,
        pods=run.nodes,
        gpus=run.nodes * pool.gpus_per_node,
        efa=run.nodes * pool.efa,
        pod=PodResources(
            gpus=pool.gpus_per_node,
            efa=pool.efa,
            cpu_millicores=cpu,
            memory_mib=memory,
            shm_mib=run.shm_gib * _MIB_PER_GIB,
        ),
    )


def plan_services(
    services: Iterable[Service], pools: Mapping[str, PoolPlan], models: Mapping[str, Model], lustre: FsxLustre
) -> dict[str, ServicePlan]:
    """The services whose pool and model are known, by name."""
    return {
        service.name: _service(service, pools[service.pool], gpu, models[service.model], lustre)
        for service in services
        if service.pool in pools and service.model in models and (gpu := pools[service.pool].instance.gpu)
    }


def _service(service: Service, pool: PoolPlan, gpu: Gpu, model: Model, lustre: FsxLustre) -> ServicePlan:
    """A replica takes its share of the node: `tensor_parallel` of the node's GPUs, and as much of the rest."""
    gpus = service.tensor_parallel
    part = min(gpus, pool.gpus_per_node)
    cpu, memory = pod_share(pool.allocatable_cpu_millicores, pool.allocatable_memory_mib, part, pool.gpus_per_node)
    return ServicePlan(
        name=service.name,
        pool=service.pool,
        min_replicas=service.min_replicas,
        max_replicas=service.max_replicas,
        gpus=service.min_replicas * gpus,
        gpu_product=gpu.product,
        weights_gb=round(model.weights_bytes / 1e9, 1),
        kv_cache_tokens=kv_cache_tokens(model, gpu, gpus, service.gpu_memory_utilization),
        startup_seconds=startup_seconds(model, lustre),
        pod=PodResources(gpus=gpus, efa=0, cpu_millicores=cpu, memory_mib=memory, shm_mib=_SHM_MIB_PER_GPU * gpus),
    )


def kv_bytes_per_token(model: Model) -> int:
    """Bytes of key and value cache per token: 2 x layers x KV heads x head dimension x bytes of bf16."""
    return 2 * model.layers * model.kv_heads * model.head_dim * _KV_BYTES


def kv_cache_tokens(model: Model, gpu: Gpu, gpus: int, utilization: float) -> int:
    """Tokens of KV cache that fit beside the weights; negative where the weights alone do not fit.

    3 GB per GPU are taken for activations and CUDA graphs (assumed, as no vendor figure exists).
    """
    pool = gpus * (gpu.memory_gb * utilization - _OVERHEAD_GB_PER_GPU) * 1e9 - model.weights_bytes
    return int(pool // kv_bytes_per_token(model))


def lustre_mbps(lustre: FsxLustre) -> float:
    """Throughput of the file system in MB/s."""
    tier = lustre.throughput_mbps_per_tib or _SCRATCH_MBPS_PER_TIB
    return lustre.capacity_gib / _GIB_PER_TIB * tier


def startup_seconds(model: Model, lustre: FsxLustre) -> int:
    """Budget of the startup probe: twice the time to read the weights at full speed, at least 600 s for compilation."""
    return max(_MIN_STARTUP_SECONDS, int(2 * model.weights_bytes / (lustre_mbps(lustre) * 1e6)))
