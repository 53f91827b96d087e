"""Model services and Triton servers: parallelism, memory, replicas, room for all of them."""

from collections.abc import Iterable

from catalogue.echo import echo
from catalogue.model_types import Model
from catalogue.site import meant
from planner.draft import Draft, rule, warning
from planner.findings import Observation
from planner.placement import placed
from planner.pool_types import PoolPlan
from planner.rules.known import or_own_row, services, triton, workloads
from planner.serving.memory import Quantization
from planner.serving.plan import device_gb, replica_memory
from planner.training.job import tensor_degrees
from planner.wording import one_of
from planner.workload_types import ServicePlan
from settings.serving import Service, Triton
from settings.workloads import TrainingRun

_QUANTIZATIONS: tuple[Quantization, ...] = ("none", "fp8", "int4")
_SHORTEST_LENGTH = _FEWER_REQUESTS = 256


@rule("C01", each=workloads, formula="model in the catalogue's models", source="Definition of the stack file")
def model_unknown(draft: Draft, user: TrainingRun | Service) -> Iterable[Observation]:
    """Every service, and every run that names a model, names a row of the model catalogue."""
    known = draft.catalogue.models
    if user.model is not None and user.model not in known:
        yield Observation(
            path="model",
            sentence=f"the catalogue has no model {echo(user.model)}",
            remedy=or_own_row(meant(user.model, known), "models"),
        )


@rule(
    "C04 IN12",
    each=services,
    formula="heads mod tensorParallel = 0; KV heads mod tensorParallel = 0 or tensorParallel mod KV heads = 0; "
    "tensorParallel <= GPUs of a node",
    source="vLLM documentation, parallelism and scaling",
)
def tensor_parallel(draft: Draft, service: Service) -> Iterable[Observation]:
    """Tensor parallelism divides the heads and the KV heads, and stays inside a node."""
    size = service.tensor_parallel
    model, pool = draft.catalogue.models.get(service.model), draft.pools.get(service.pool)
    if model and size not in tensor_degrees(model, size):
        fitting = tensor_degrees(model, pool.gpus_per_node if pool else size)
        yield Observation(
            path="tensorParallel",
            sentence=f"{size} does not divide {model.heads} heads and {model.kv_heads} KV heads of {model.name}",
            remedy=f"take {one_of(fitting)}",
            inputs={"heads": str(model.heads), "KV heads": str(model.kv_heads)},
        )
    if pool and 0 < pool.gpus_per_node < size:
        yield Observation(
            path="tensorParallel",
            sentence=f"{size} GPUs are more than the {pool.gpus_per_node} of a {pool.hardware}",
            remedy=f"take at most {pool.gpus_per_node}, or larger nodes for pool {pool.name}",
            inputs={"GPUs per node": f"{pool.gpus_per_node} GPUs"},
        )


@rule("IN12", each=services, formula="maxModelLen <= context of the model", source="config.json of the model")
def model_context(draft: Draft, service: Service) -> Iterable[Observation]:
    """A service does not promise more context than the model was trained for."""
    model = draft.catalogue.models.get(service.model)
    if model and service.max_model_len > model.context:
        yield Observation(
            path="maxModelLen",
            sentence=f"{service.max_model_len} tokens are more than the {model.context} of {model.name}",
            remedy=f"set it to at most {model.context}",
            inputs={"maxModelLen": f"{service.max_model_len} tokens", "context": f"{model.context} tokens"},
        )


@rule(
    "C02 C04 Q02",
    each=services,
    formula="(tensorParallel x (memory x utilization - overhead) - weights - adapters) / bytes per token "
    ">= maxModelLen; overhead = the largest step, CUDA graphs and libraries",
    source="vLLM 0.29.0, vllm/v1/worker/gpu_worker.py, determine_available_memory",
)
def model_fits_gpus(draft: Draft, service: Service) -> Iterable[Observation]:
    """Beside the weights there is KV cache for at least one sequence of full length."""
    plan = draft.services.get(service.name)
    if plan is None or plan.full_sequences:
        return
    pool = draft.pools[service.pool]
    gpu_gb = device_gb(pool)
    yield Observation(
        path="tensorParallel",
        sentence=f"{plan.weights_gb} GB of weights{_beside(plan)} leave {plan.pod.gpus} x {gpu_gb:.1f} GB room for "
        f"{max(0, plan.kv_cache_tokens)} tokens of KV cache, and one sequence has {service.max_model_len}",
        remedy=_what_fits(draft.catalogue.models[service.model], service, plan, pool),
        inputs={
            "weights": f"{plan.weights_gb} GB",
            "memory": f"{plan.pod.gpus} x {gpu_gb:.1f} GB",
            "overhead": f"{plan.overhead_gb:g} GB",
            "adapters": f"{plan.lora_gb:g} GB",
            "KV cache": f"{plan.kv_cache_gb} GB",
            "per token": f"{plan.kv_bytes_per_token} B",
        },
    )


def _beside(plan: ServicePlan) -> str:
    """What takes memory beside the weights, where it is much."""
    return f" and {plan.lora_gb} GB for {plan.max_loras} adapters" if plan.max_loras else ""


def _what_fits(model: Model, service: Service, plan: ServicePlan, pool: PoolPlan) -> str:
    """What to change: the length that fits, the GPUs that suffice, or the quantization that does."""
    length = service.max_model_len
    most = 1 if pool.mig or pool.time_slices > 1 else pool.gpus_per_node

    def holds(**changes: object) -> bool:
        return replica_memory(service.model_copy(update=changes), pool, model)[0].sequences(length) > 0

    fixes = []
    size = next((each for each in tensor_degrees(model, most) if holds(tensor_parallel=each)), None)
    if size is not None:
        fixes.append(f"set tensorParallel to {size}")
    smaller = _QUANTIZATIONS[_QUANTIZATIONS.index(service.quantization) + 1 :]
    quantized = next((each for each in smaller if holds(quantization=each)), None)
    if quantized is not None:
        fixes.append(f"set quantization to {quantized}")
    if service.max_num_seqs is None and holds(max_num_seqs=_FEWER_REQUESTS):
        fixes.append(f"set maxNumSeqs to {_FEWER_REQUESTS}")
    if plan.max_loras > 1 and holds(max_loras=1):
        fixes.append(f"lower maxLoras, {plan.max_loras} now")
    if (longest := replica_memory(service, pool, model)[0].longest()) >= _SHORTEST_LENGTH:
        fixes.append(f"lower maxModelLen to {longest}")
    return " or ".join(fixes) if fixes else f"take GPUs with more memory for pool {pool.name}, or a smaller model"


@rule(
    "B05",
    each=services,
    formula="compute capability >= 8.0",
    source="vLLM documentation, supported hardware of model types",
)
def service_precision(draft: Draft, service: Service) -> Iterable[Observation]:
    """The GPU computes in bf16, which the published models are in and the server asks for."""
    gpu = draft.pools[service.pool].gpu if service.name in draft.services else None
    if gpu is not None and gpu.bf16_tflops is None:
        yield Observation(
            path="pool",
            sentence=f"{gpu.name} (compute capability {gpu.compute_capability}) does not compute in bf16, and "
            f"{service.model} is published in it",
            remedy=f"take GPUs of compute capability 8.0 or later for pool {service.pool}",
            inputs={"compute capability": str(gpu.compute_capability)},
        )


@warning("HW07", each=services, formula="compute capability >= 8.9", source="vLLM documentation, FP8 W8A8")
def fp8_weights_only(draft: Draft, service: Service) -> Iterable[Observation]:
    """Without FP8 tensor cores quantized weights save memory, and the computation is as slow as in 16 bits."""
    gpu = draft.pools[service.pool].gpu if service.name in draft.services else None
    if gpu is not None and gpu.fp8_tflops is None and service.quantization == "fp8":
        yield Observation(
            path="quantization",
            sentence=f"{gpu.name} (compute capability {gpu.compute_capability}) has no FP8 tensor cores, so fp8 "
            "weights are widened for every computation",
            remedy="take GPUs of compute capability 8.9 or later for speed, or keep it for the memory it saves",
            inputs={"compute capability": str(gpu.compute_capability)},
        )


@rule(
    "Q12 A08",
    each=triton,
    formula="replicas x gpus of its Triton servers and minReplicas x tensorParallel of its services <= GPUs of a pool",
    source="Definition of the stack file",
)
def triton_fits_pool(draft: Draft, server: Triton) -> Iterable[Observation]:
    """The replicas that always run fit on the pool, each on one node, largest first."""
    plan = draft.triton.get(server.name)
    if plan is None:
        return
    pool = draft.pools[plan.pool]
    inputs = {"nodes": f"{pool.count} nodes x {pool.devices_per_node} GPUs"}
    if plan.pod.gpus > pool.devices_per_node:
        yield Observation(
            path="gpus",
            sentence=f"{plan.pod.gpus} GPUs are more than the {pool.devices_per_node} of a {pool.hardware}",
            remedy=f"take at most {pool.devices_per_node}, or larger nodes for pool {pool.name}",
            inputs=inputs,
        )
        return
    services = [each.fewest for each in draft.services.values() if each.pool == pool.name]
    own = [each.always for each in draft.triton.values() if each.pool == pool.name]
    if any(each.gpus > pool.devices_per_node for each in (*services, *own)):
        return
    if placed(pool.count, pool.devices_per_node, services) is None:
        return
    if placed(pool.count, pool.devices_per_node, [*services, *own]) is None:
        theirs, there = (sum(each.gpus * each.count for each in some) for some in (own, services))
        yield Observation(
            path="replicas",
            sentence=f"Triton servers of pool {pool.name} take {theirs} GPUs and its services {there} at "
            f"least, and {pool.count} x {pool.hardware} with {pool.devices_per_node} each cannot hold them",
            remedy="lower replicas or gpus, or raise the count of the pool",
            inputs={"wanted": f"{theirs + there} GPUs", **inputs},
        )
