"""Model services: parallelism, memory, replicas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from catalogue.model_types import Model
from catalogue.site import meant
from planner.draft import Draft, rule
from planner.findings import Observation, Severity
from planner.placement import placed
from planner.rules.known import known_pools, services, workloads
from planner.serving.memory import Quantization, serving_memory, smallest_tensor
from planner.training.layout import tensor_degrees
from planner.types import PoolPlan, ServicePlan

if TYPE_CHECKING:
    from settings.workloads import Service

_QUANTIZATIONS: tuple[Quantization, ...] = ("none", "fp8", "int4")
_SHORTEST_LENGTH = 256


@rule("model-unknown", "C01", formula="model in the catalogue's models", source="Definition of the stack file")
def model_unknown(draft: Draft) -> Iterable[Observation]:
    """Every service, and every run that names a model, names a row of the model catalogue."""
    known = draft.catalogue.models
    for path, user in workloads(draft):
        if user.model is not None and user.model not in known:
            yield Observation(
                path=f"{path}.model",
                sentence=f"the catalogue has no model {user.model!r}",
                remedy=meant(user.model, known),
                subject=user.name,
            )


@rule(
    "tensor-parallel",
    "C04",
    "IN12",
    formula="heads mod tensorParallel = KV heads mod tensorParallel = 0; tensorParallel <= GPUs of a node",
    source="vLLM documentation, parallelism and scaling",
)
def tensor_parallel(draft: Draft) -> Iterable[Observation]:
    """Tensor parallelism divides the heads and the KV heads, and stays inside a node."""
    for path, service in services(draft):
        size = service.tensor_parallel
        model, pool = draft.catalogue.models.get(service.model), draft.pools.get(service.pool)
        if model and size not in tensor_degrees(model, size):
            fitting = tensor_degrees(model, pool.gpus_per_node if pool else size)
            yield Observation(
                path=f"{path}.tensorParallel",
                sentence=f"{size} does not divide {model.heads} heads and {model.kv_heads} KV heads of {model.name}",
                remedy=f"take one of {', '.join(map(str, fitting))}",
                subject=service.name,
                inputs={"heads": str(model.heads), "KV heads": str(model.kv_heads)},
            )
        if pool and 0 < pool.gpus_per_node < size:
            yield Observation(
                path=f"{path}.tensorParallel",
                sentence=f"{size} GPUs are more than the {pool.gpus_per_node} of a {pool.hardware}",
                remedy=f"take at most {pool.gpus_per_node}, or larger nodes for pool {pool.name}",
                subject=service.name,
                inputs={"GPUs per node": f"{pool.gpus_per_node} GPUs"},
            )


@rule("model-context", "IN12", formula="maxModelLen <= context of the model", source="config.json of the model")
def model_context(draft: Draft) -> Iterable[Observation]:
    """A service does not promise more context than the model was trained for."""
    for path, service in services(draft):
        model = draft.catalogue.models.get(service.model)
        if model and service.max_model_len > model.context:
            yield Observation(
                path=f"{path}.maxModelLen",
                sentence=f"{service.max_model_len} tokens are more than the {model.context} of {model.name}",
                remedy=f"set it to at most {model.context}",
                subject=service.name,
                inputs={"maxModelLen": f"{service.max_model_len} tokens", "context": f"{model.context} tokens"},
            )


@rule(
    "model-fits-gpus",
    "C02",
    "C04",
    "Q02",
    formula="(tensorParallel x (memory x utilization - overhead) - weights) / bytes per token >= maxModelLen",
    source="vLLM documentation, conserving memory",
)
def model_fits_gpus(draft: Draft) -> Iterable[Observation]:
    """Beside the weights there is KV cache for at least one sequence of full length."""
    for path, service in services(draft):
        plan = draft.services.get(service.name)
        if plan is None or plan.full_sequences:
            continue
        pool = draft.pools[service.pool]
        gpu_gb = _device_gb(pool)
        yield Observation(
            path=f"{path}.tensorParallel",
            sentence=f"{plan.weights_gb} GB of weights leave {plan.pod.gpus} x {gpu_gb:g} GB room for "
            f"{max(0, plan.kv_cache_tokens)} tokens of KV cache, and one sequence has {service.max_model_len}",
            remedy=_what_fits(draft.catalogue.models[service.model], service, plan, pool),
            subject=service.name,
            inputs={
                "weights": f"{plan.weights_gb} GB",
                "memory": f"{plan.pod.gpus} x {gpu_gb:g} GB",
                "overhead": f"{plan.overhead_gb:g} GB",
                "KV cache": f"{plan.kv_cache_gb} GB",
                "per token": f"{plan.kv_bytes_per_token} B",
            },
        )


def _device_gb(pool: PoolPlan) -> float:
    """Memory of what a pod gets: a GPU or a slice of one."""
    if pool.mig:
        return pool.mig.memory_gb
    return pool.gpu.memory_gb if pool.gpu else 0


def _what_fits(model: Model, service: Service, plan: ServicePlan, pool: PoolPlan) -> str:
    """What to change: the length that fits, the GPUs that suffice, or the quantization that does."""
    gpu_gb, length, most = _device_gb(pool), service.max_model_len, 1 if pool.mig else pool.gpus_per_node
    use = service.gpu_memory_utilization
    fixes = []
    size = smallest_tensor(model, gpu_gb, most, use, length, service.quantization, service.kv_cache_dtype)
    if size is not None:
        fixes.append(f"set tensorParallel to {size}")
    smaller = _QUANTIZATIONS[_QUANTIZATIONS.index(service.quantization) + 1 :]
    for name in smaller:
        memory = serving_memory(model, gpu_gb, service.tensor_parallel, use, name, service.kv_cache_dtype)
        if memory.sequences(length):
            fixes.append(f"set quantization to {name}")
            break
    if plan.kv_cache_tokens >= _SHORTEST_LENGTH:
        fixes.append(f"lower maxModelLen to {plan.kv_cache_tokens}")
    return " or ".join(fixes) if fixes else f"take GPUs with more memory for pool {pool.name}, or a smaller model"


@rule(
    "service-precision",
    "B05",
    formula="compute capability >= 8.0",
    source="vLLM documentation, supported hardware of model types",
)
def service_precision(draft: Draft) -> Iterable[Observation]:
    """The GPU computes in bf16, which the published models are in and the server asks for."""
    for path, service in services(draft):
        gpu = draft.pools[service.pool].gpu if service.name in draft.services else None
        if gpu is not None and gpu.bf16_tflops is None:
            yield Observation(
                path=f"{path}.pool",
                sentence=f"{gpu.name} (compute capability {gpu.compute_capability}) does not compute in bf16, and "
                f"{service.model} is published in it",
                remedy=f"take GPUs of compute capability 8.0 or later for pool {service.pool}",
                subject=service.name,
                inputs={"compute capability": str(gpu.compute_capability)},
            )


@rule(
    "fp8-weights-only",
    "HW07",
    severity=Severity.WARNING,
    formula="compute capability >= 8.9",
    source="vLLM documentation, FP8 W8A8",
)
def fp8_weights_only(draft: Draft) -> Iterable[Observation]:
    """Without FP8 tensor cores quantized weights save memory, and the computation is as slow as in 16 bits."""
    for path, service in services(draft):
        gpu = draft.pools[service.pool].gpu if service.name in draft.services else None
        if gpu is not None and gpu.fp8_tflops is None and service.quantization == "fp8":
            yield Observation(
                path=f"{path}.quantization",
                sentence=f"{gpu.name} (compute capability {gpu.compute_capability}) has no FP8 tensor cores, so fp8 "
                "weights are widened for every computation",
                remedy="take GPUs of compute capability 8.9 or later for speed, or keep it for the memory it saves",
                subject=service.name,
                inputs={"compute capability": str(gpu.compute_capability)},
            )


def replicas_that_fit(pool: PoolPlan, wanted: Iterable[tuple[ServicePlan, int]]) -> bool:
    """Whether replicas (service, how many) find room on the pool's nodes, the largest placed first."""
    sizes = (service.pod.gpus for service, replicas in wanted for _ in range(replicas))
    return placed(pool.count, pool.devices_per_node, sizes) is not None


def _shared_pools(draft: Draft) -> Iterable[tuple[str, PoolPlan, list[ServicePlan]]]:
    """Pools with their services (settings path first), where each replica fits on a node by itself."""
    for path, _, pool in known_pools(draft):
        sharing = [service for service in draft.services.values() if service.pool == pool.name]
        if sharing and all(service.pod.gpus <= pool.devices_per_node for service in sharing):
            yield path, pool, sharing


@rule(
    "replicas-fit-pool",
    "A08",
    "IN08",
    "IN09",
    "IN10",
    formula="minReplicas x tensorParallel of all services <= GPUs, each replica on one node, largest first",
    source="Definition of the stack file; vLLM documentation, parallelism and scaling",
)
def replicas_fit_pool(draft: Draft) -> Iterable[Observation]:
    """The replicas that always run fit on the pool, none across two nodes."""
    for path, pool, sharing in _shared_pools(draft):
        if not replicas_that_fit(pool, ((service, service.min_replicas) for service in sharing)):
            replicas = ", ".join(f"{item.min_replicas} of {item.pod.gpus} for {item.name}" for item in sharing)
            gpus = sum(item.gpus for item in sharing)
            yield Observation(
                path=f"{path}.count",
                sentence=f"its services always run replicas on {gpus} GPUs ({replicas}), "
                f"and {pool.count} x {pool.hardware} with {pool.devices_per_node} each cannot hold them",
                remedy="raise the count, or lower minReplicas or tensorParallel",
                subject=pool.name,
                inputs={"wanted": f"{gpus} GPUs", "nodes": f"{pool.count} nodes x {pool.devices_per_node} GPUs"},
            )


@rule(
    "replicas-may-wait",
    "A08",
    severity=Severity.WARNING,
    formula="maxReplicas x tensorParallel of all services <= GPUs, each replica on one node, largest first",
    source="Definition of the stack file; vLLM documentation, parallelism and scaling",
)
def replicas_may_wait(draft: Draft) -> Iterable[Observation]:
    """The autoscaler's upper end fits on the pool as well, or further replicas stay Pending."""
    for path, pool, sharing in _shared_pools(draft):
        now = replicas_that_fit(pool, ((service, service.min_replicas) for service in sharing))
        if now and not replicas_that_fit(pool, ((service, service.max_replicas) for service in sharing)):
            gpus = sum(service.max_replicas * service.pod.gpus for service in sharing)
            yield Observation(
                path=f"{path}.count",
                sentence=f"at maxReplicas its services want {gpus} GPUs, and the pool has "
                f"{pool.devices_per_node * pool.count}",
                remedy="replicas beyond that stay Pending; raise the count or lower maxReplicas",
                subject=pool.name,
                inputs={"wanted": f"{gpus} GPUs", "nodes": f"{pool.count} nodes x {pool.devices_per_node} GPUs"},
            )
