"""Model services: what a replica asks of its node, what its memory holds, and how it starts and stops."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from catalogue.model_types import Model
from catalogue.types import Gpu
from catalogue.units import BYTES_PER_GB
from planner.nodes import pod_share
from planner.placement import Replicas, has_room
from planner.pool_types import PoolPlan
from planner.serving.memory import (
    AdapterPlan,
    LoraRoom,
    ServingMemory,
    batch,
    decode_tokens_per_s,
    read_bytes,
    room_for,
    serving_memory,
    visible_gb,
)
from planner.serving.replicas import limited
from planner.serving.startup import (
    copy_seconds,
    drain_seconds,
    grace_seconds,
    load_rate_gb_per_s,
    load_seconds,
    longest_stream_seconds,
    scale_up_seconds,
    startup_seconds,
    wake_seconds,
)
from planner.workload_types import PodResources, ScalingPlan, ServicePlan, TritonPlan
from settings.serving import Service, Triton

_MB_PER_GB = 1000
_MINUTE_SECONDS = 60


def plan_triton(
    servers: Iterable[Triton],
    pools: Mapping[str, PoolPlan],
    services: Mapping[str, ServicePlan],
    read_mb_per_s: float,
    node_gb_per_s: Mapping[str, float],
) -> dict[str, TritonPlan]:
    """The servers whose pool is known and has GPUs, by name; `services` are what else has GPUs of the pools."""
    planned = {
        each.name: _server(each, pool, _reading(pool, gpu, each.gpus, read_mb_per_s, node_gb_per_s))
        for each in servers
        if (pool := pools.get(each.pool)) is not None and (gpu := pool.gpu)
    }
    taken: Counter[str] = Counter()
    for service in services.values():
        taken[service.pool] += service.max_replicas * service.pod.gpus
    for server in planned.values():
        taken[server.pool] += server.gpus
    return {
        name: replace(each, spare_replica=has_room(pool.count, pool.devices_per_node, taken[pool.name], each.pod.gpus))
        for name, each in planned.items()
        if (pool := pools[each.pool])
    }


def replicas_by_pool(servers: Iterable[Triton]) -> dict[str, list[Replicas]]:
    """What always runs of the servers, by the pool's name."""
    found: dict[str, list[Replicas]] = {}
    for each in servers:
        found.setdefault(each.pool, []).append(Replicas(gpus=each.gpus, count=each.replicas))
    return found


def _reading(pool: PoolPlan, gpu: Gpu, devices: int, read_mb_per_s: float, node_gb_per_s: Mapping[str, float]) -> float:
    """GB/s of weights on their way to so many of a node's GPUs; replicas on several slices are refused."""
    shared, node = read_mb_per_s / _MB_PER_GB, node_gb_per_s.get(pool.name)
    return load_rate_gb_per_s(shared, node, gpu.pcie_one_way_gb_per_s, devices)


def _server(server: Triton, pool: PoolPlan, reading: float) -> TritonPlan:
    size = server.models_gb * BYTES_PER_GB
    start = startup_seconds(load_seconds(size, reading))
    said = {"name", "pool", "image", "models", "weights_sha256", "models_gb", "replicas", "keys", "token_groups"}
    return TritonPlan(
        **server.model_dump(include=said),
        spare_replica=False,
        gpus=server.replicas * server.gpus,
        gpu_product=pool.gpu_product or "",
        startup_seconds=start,
        copy_seconds=copy_seconds(server.models, size, start),
        pod=replica_resources(pool, server.gpus),
    )


_SHM_MIB_PER_GPU = 2048


def plan_services(
    services: Iterable[Service],
    pools: Mapping[str, PoolPlan],
    models: Mapping[str, Model],
    read_mb_per_s: float,
    beside: Mapping[str, Sequence[Replicas]],
    node_gb_per_s: Mapping[str, float],
    scrape_s: int,
) -> dict[str, ServicePlan]:
    """The services whose pool and model are known, by name. `read_mb_per_s` is the shared file system's whole rate,
    `beside` what else has GPUs of a pool, `node_gb_per_s` what a node of it has to the file system, by its name,
    `scrape_s` how often Prometheus reads the gateway.
    """
    planned = {
        service.name: _service(
            service,
            pool,
            gpu,
            model,
            _reading(pool, gpu, service.tensor_parallel, read_mb_per_s, node_gb_per_s),
            scrape_s,
        )
        for service in services
        if (pool := pools.get(service.pool)) and (gpu := pool.gpu) and (model := models.get(service.model))
    }
    return limited(planned, pools, beside)


def _scaling(service: Service) -> ScalingPlan:
    return ScalingPlan(
        waiting_per_replica=service.waiting_per_replica,
        kv_cache_percent=service.kv_cache_percent,
        up_seconds=service.scale_up_seconds,
        down_seconds=service.scale_down_seconds,
        idle_seconds=service.scale_to_zero.idle_minutes * _MINUTE_SECONDS if service.scale_to_zero else None,
    )


_AS_SAID = {
    *("name", "pool", "image", "model", "weights", "weights_sha256", "keys", "token_groups"),
    *("max_replicas", "max_model_len", "gpu_memory_utilization"),
    *("max_num_seqs", "max_num_batched_tokens", "prefix_caching", "chunked_prefill"),
}
"""What the plan of a service has as the stack file says it."""


def device_gb(pool: PoolPlan) -> float:
    """Memory of what a pod counts as a GPU: a GPU as CUDA shows it, or a slice of one. 0 without GPUs."""
    if pool.mig:
        return pool.mig.memory_gb
    return visible_gb(pool.gpu) if pool.gpu else 0


def replica_memory(service: Service, pool: PoolPlan, model: Model) -> tuple[ServingMemory, LoraRoom]:
    """What a replica's GPUs (or slices) hold, and what of it is kept free for adapters."""
    if (gpu := pool.gpu) is None:
        raise ValueError(f"pool {pool.name} has no GPUs")
    room = room_for(model, service.tensor_parallel, (each.rank for each in service.adapters), service.max_loras)
    gpu_gb = device_gb(pool)
    memory = serving_memory(
        model,
        gpu,
        service.tensor_parallel,
        service.gpu_memory_utilization,
        service.quantization,
        service.kv_cache_dtype,
        room.gb,
        batch(gpu, gpu_gb, service.max_num_batched_tokens, service.max_num_seqs),
        gpu_gb,
    )
    return memory, room


def _service(service: Service, pool: PoolPlan, gpu: Gpu, model: Model, reading: float, scrape_s: int) -> ServicePlan:
    """A replica takes its share of the node: `tensor_parallel` of its GPUs or slices, and as much of the rest."""
    devices = service.tensor_parallel
    memory, room = replica_memory(service, pool, model)
    part = pool.mig.memory_gb / gpu.memory_gb if pool.mig else 1
    rate = decode_tokens_per_s(model, gpu.memory_tb_per_s * part, devices, service.quantization)
    longest = longest_stream_seconds(service.max_model_len, rate)
    drain = drain_seconds(longest) if service.drain_seconds is None else service.drain_seconds
    read = read_bytes(model, service.quantization)
    load = load_seconds(read, reading)
    least = 0 if service.scale_to_zero else service.min_replicas
    return ServicePlan(
        **service.model_dump(include=_AS_SAID),
        min_replicas=least,
        scaling=_scaling(service) if least < service.max_replicas else None,
        spread=service.placement == "spread",
        spare_replica=False,
        quantization="fp8" if service.quantization == "fp8" else None,
        kv_cache_dtype="fp8" if service.kv_cache_dtype == "fp8" else None,
        adapters=tuple(
            AdapterPlan(
                **each.model_dump(include={"name", "weights", "weights_sha256", "rank"}),
                copy_seconds=copy_seconds(each.weights, room.gb * 1e9 / room.adapters, startup_seconds(0)),
            )
            for each in service.adapters
        ),
        max_loras=room.adapters,
        max_lora_rank=room.rank,
        gpus=least * devices,
        gpu_product=pool.gpu_product or "",
        weights_gb=round(memory.weights_gb, 1),
        overhead_gb=round(memory.overhead_gb, 1),
        lora_gb=round(memory.lora_gb, 1),
        kv_cache_gb=round(memory.kv_cache_gb, 1),
        kv_bytes_per_token=memory.kv_bytes_per_token,
        kv_cache_tokens=memory.tokens(service.max_model_len),
        full_sequences=memory.sequences(service.max_model_len),
        load_seconds=round(load, 1),
        startup_seconds=startup_seconds(load),
        copy_seconds=copy_seconds(service.weights, read, startup_seconds(load)),
        scale_up_seconds=round(scale_up_seconds(load)),
        wake_seconds=wake_seconds(scrape_s, scale_up_seconds(load)) if service.scale_to_zero else None,
        request_tokens_per_s=round(rate),
        longest_stream_seconds=longest,
        drain_seconds=drain,
        grace_seconds=grace_seconds(drain),
        pod=replica_resources(pool, devices),
    )


def replica_resources(pool: PoolPlan, devices: int) -> PodResources:
    """What a pod with so many of a node's GPUs or slices asks for: their part of its processors and memory."""
    taken = min(devices, pool.devices_per_node)
    cpu, host = pod_share(pool.allocatable_cpu_millicores, pool.allocatable_memory_mib, taken, pool.devices_per_node)
    return PodResources(gpus=devices, efa=0, cpu_millicores=cpu, memory_mib=host, shm_mib=_SHM_MIB_PER_GPU * devices)
