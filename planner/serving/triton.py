"""Triton servers: what a replica asks of its node, and how long it may take to start."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from catalogue.units import BYTES_PER_GB
from planner.placement import Replicas, has_room
from planner.pool_types import PoolPlan
from planner.serving.plan import replica_resources
from planner.serving.startup import copy_seconds, load_seconds, startup_seconds
from planner.workload_types import ServicePlan, TritonPlan
from settings.serving import Triton

_MB_PER_GB = 1000


def plan_triton(
    servers: Iterable[Triton],
    pools: Mapping[str, PoolPlan],
    services: Mapping[str, ServicePlan],
    read_mb_per_s: float,
) -> dict[str, TritonPlan]:
    """The servers whose pool is known and has GPUs, by name; `services` are what else has GPUs of the pools."""
    planned = {
        each.name: _server(each, pool, read_mb_per_s)
        for each in servers
        if (pool := pools.get(each.pool)) is not None and pool.gpu
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


def _server(server: Triton, pool: PoolPlan, read_mb_per_s: float) -> TritonPlan:
    size = server.models_gb * BYTES_PER_GB
    start = startup_seconds(load_seconds(size, read_mb_per_s / _MB_PER_GB))
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
