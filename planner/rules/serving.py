"""Model services: parallelism, memory, replicas."""

from collections.abc import Iterable
from difflib import get_close_matches

from planner.draft import Draft, registry
from planner.findings import Observation, Severity
from planner.types import PoolPlan, ServicePlan


@registry.rule("model-unknown", "C01")
def model_unknown(draft: Draft) -> Iterable[Observation]:
    """Every service names a row of the model catalogue."""
    for index, service in enumerate(draft.settings.serving.services):
        if service.model not in draft.catalogue.models:
            near = get_close_matches(service.model, draft.catalogue.models, n=1)
            known = f"known: {', '.join(draft.catalogue.models)}"
            yield Observation(
                path=f"serving.services[{index}].model",
                sentence=f"the catalogue has no model {service.model!r}",
                remedy=f"did you mean {near[0]}?" if near else known,
                subject=service.name,
            )


@registry.rule("tensor-parallel", "C04", "IN12")
def tensor_parallel(draft: Draft) -> Iterable[Observation]:
    """Tensor parallelism divides the heads and the KV heads, and stays inside a node."""
    for index, service in enumerate(draft.settings.serving.services):
        size, path = service.tensor_parallel, f"serving.services[{index}].tensorParallel"
        model, pool = draft.catalogue.models.get(service.model), draft.pools.get(service.pool)
        if model and (model.heads % size or model.kv_heads % size):
            fitting = [n for n in range(1, model.kv_heads + 1) if model.heads % n == 0 and model.kv_heads % n == 0]
            yield Observation(
                path=path,
                sentence=f"{size} does not divide {model.heads} heads and {model.kv_heads} KV heads of {model.name}",
                remedy=f"take one of {', '.join(map(str, fitting))}",
                subject=service.name,
            )
        if pool and 0 < pool.gpus_per_node < size:
            yield Observation(
                path=path,
                sentence=f"{size} GPUs are more than the {pool.gpus_per_node} of a {pool.instance.type}",
                remedy=f"take at most {pool.gpus_per_node}, or a larger type for pool {pool.name}",
                subject=service.name,
            )


@registry.rule("model-context", "IN12")
def model_context(draft: Draft) -> Iterable[Observation]:
    """A service does not promise more context than the model was trained for."""
    for index, service in enumerate(draft.settings.serving.services):
        model = draft.catalogue.models.get(service.model)
        if model and service.max_model_len > model.context:
            yield Observation(
                path=f"serving.services[{index}].maxModelLen",
                sentence=f"{service.max_model_len} tokens are more than the {model.context} of {model.name}",
                remedy=f"set it to at most {model.context}",
                subject=service.name,
            )


@registry.rule("model-fits-gpus", "C02", "C04")
def model_fits_gpus(draft: Draft) -> Iterable[Observation]:
    """Beside the weights there is KV cache for at least one sequence of full length."""
    for index, service in enumerate(draft.settings.serving.services):
        plan = draft.services.get(service.name)
        if plan and plan.kv_cache_tokens < service.max_model_len:
            gpu = draft.pools[service.pool].instance.gpu
            memory = f"{plan.pod.gpus} x {gpu.memory_gb} GB" if gpu else "the GPUs"
            yield Observation(
                path=f"serving.services[{index}].tensorParallel",
                sentence=f"{plan.weights_gb} GB of weights leave {memory} room for {max(0, plan.kv_cache_tokens)} "
                f"tokens of KV cache, and one sequence has {service.max_model_len}",
                remedy="raise tensorParallel, take GPUs with more memory, or lower maxModelLen",
                subject=service.name,
            )


def replicas_that_fit(pool: PoolPlan, wanted: Iterable[tuple[ServicePlan, int]]) -> bool:
    """Whether replicas (service, how many) find room on the pool's nodes, the largest placed first."""
    free = [pool.gpus_per_node] * pool.count
    sizes = sorted((service.pod.gpus for service, replicas in wanted for _ in range(replicas)), reverse=True)
    for size in sizes:
        slot = next((index for index, gpus in enumerate(free) if gpus >= size), None)
        if slot is None:
            return False
        free[slot] -= size
    return True


def _shared_pools(draft: Draft) -> Iterable[tuple[int, PoolPlan, list[ServicePlan]]]:
    """Pools with their services (index in the settings first), where each replica fits on a node by itself."""
    for index, pool in enumerate(draft.settings.pools):
        plan = draft.pools.get(pool.name)
        services = [service for service in draft.services.values() if service.pool == pool.name]
        if plan and services and all(service.pod.gpus <= plan.gpus_per_node for service in services):
            yield index, plan, services


@registry.rule("replicas-fit-pool", "A08", "IN08", "IN09")
def replicas_fit_pool(draft: Draft) -> Iterable[Observation]:
    """The replicas that always run fit on the pool, none across two nodes."""
    for index, pool, services in _shared_pools(draft):
        if not replicas_that_fit(pool, ((service, service.min_replicas) for service in services)):
            replicas = ", ".join(f"{item.min_replicas} of {item.pod.gpus} for {item.name}" for item in services)
            gpus = sum(item.gpus for item in services)
            yield Observation(
                path=f"pools[{index}].count",
                sentence=f"its services always run replicas on {gpus} GPUs ({replicas}), "
                f"and {pool.count} x {pool.instance.type} with {pool.gpus_per_node} each cannot hold them",
                remedy="raise the count, or lower minReplicas or tensorParallel",
                subject=pool.name,
            )


@registry.rule("replicas-may-wait", "A08", severity=Severity.WARNING)
def replicas_may_wait(draft: Draft) -> Iterable[Observation]:
    """The autoscaler's upper end fits on the pool as well, or further replicas stay Pending."""
    for index, pool, services in _shared_pools(draft):
        now = replicas_that_fit(pool, ((service, service.min_replicas) for service in services))
        if now and not replicas_that_fit(pool, ((service, service.max_replicas) for service in services)):
            gpus = sum(service.max_replicas * service.pod.gpus for service in services)
            yield Observation(
                path=f"pools[{index}].count",
                sentence=f"at maxReplicas its services want {gpus} GPUs, and the pool has {pool.gpus}",
                remedy="replicas beyond that stay Pending; raise the count or lower maxReplicas",
                subject=pool.name,
            )
