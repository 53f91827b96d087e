"""Pools, runs and services as text."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from catalogue.types import UsageClass
from planner.faces.forecast import forecast_facts, tier_facts
from planner.faces.layout import Part, bar, facts, legend, quantity, section, table
from planner.nodes import Offers
from planner.placement import Room, Sharing
from planner.pool_types import AwsPoolPlan, MetalPoolPlan, PoolPlan
from planner.reliability.mttf import compared
from planner.serving.gateway import GatewayPlan, PeoplePlan
from planner.serving.plan import device_gb
from planner.throughput import TYPICAL_MFU
from planner.training.plan import TrainingPlan
from planner.types import Plan
from planner.wording import about, counted
from planner.workload_types import RunPlan, ServicePlan

_BAR = 56


def pools(plan: Plan) -> RenderableType:
    """Every pool, with what one of its nodes offers to pods."""
    headings = ("pool", "role", "nodes", "GPUs", "hardware", "a node offers")
    return section("pools", table(headings, map(pool_row, plan.pools.values())))


def pool_row(pool: PoolPlan) -> tuple[object, ...]:
    gpus = f"{pool.gpus:,} {pool.gpu.name}" if pool.gpu else None
    return pool.name, pool.role, pool.count, gpus, ", ".join(_hardware(pool)), ", ".join(_offers(pool))


def _hardware(pool: PoolPlan) -> Iterator[str]:
    yield pool.hardware
    if isinstance(pool, AwsPoolPlan) and pool.usage is not UsageClass.ON_DEMAND:
        yield str(pool.usage)
    if isinstance(pool, AwsPoolPlan):
        yield from _further(pool.offers)
    if isinstance(pool, AwsPoolPlan) and pool.ami:
        yield f"boots {pool.ami}"
    if isinstance(pool, AwsPoolPlan) and pool.scaled:
        yield "as pods ask for them, by Karpenter"
    if isinstance(pool, MetalPoolPlan) and pool.most > pool.count:
        yield f"grows to {pool.most} nodes"
    if pool.sandboxed:
        yield "gVisor for pods of its class"
    if pool.mig:
        yield f"each GPU as {pool.mig.count} x {pool.mig.name}"
    if pool.time_slices > 1:
        yield f"{pool.time_slices} pods to a GPU, by turns"


def _further(offers: Offers) -> Iterator[str]:
    yield from (f"or {each.type}" for each in offers.types[1:])
    yield from (f"or {usage}" for usage in offers.usages[1:])


def _offers(pool: PoolPlan) -> Iterator[str]:
    yield counted(pool.allocatable_cpu_millicores // 1000, "core")
    yield f"{pool.allocatable_memory_mib // 1024:,} GiB"
    if isinstance(pool, AwsPoolPlan):
        yield f"{pool.max_pods} pods"
        if pool.efa:
            yield f"{pool.efa} EFA"
    if isinstance(pool, MetalPoolPlan) and pool.rails:
        yield counted(pool.rails, "rail")


def runs(plan: Plan) -> Iterator[RenderableType]:
    """Every run: what it takes, and with a model what that means for memory, batch and time."""
    for run in plan.runs.values():
        pool = plan.pools[run.pool]
        gpu = pool.gpu.name if pool.gpu else "GPU"
        takes = f"{run.pods} x {pool.hardware} of pool {run.pool}, {run.gpus} {gpu}, queue {run.queue}"
        below: list[RenderableType] = [Text(takes)]
        if run.training:
            parts = training_parts(run.training)
            below += [facts(training_facts(run, run.training)), _memory(parts, run.training.memory.gpu_gb, "a GPU")]
        yield section(f"run {run.name}", *below)


def training_facts(run: RunPlan, training: TrainingPlan) -> Iterator[tuple[str, str | None]]:
    job, layout = training.job, training.layout
    degrees = {
        "tensor": layout.tensor,
        "pipeline": layout.pipeline,
        "context": layout.context,
        "expert": layout.expert,
        "data": layout.data,
        "virtual stages": layout.virtual_stages,
    }
    sharding = "unsharded" if job.sharding == "none" else job.sharding
    how = f"{job.method}, {job.precision}, {sharding}, recompute {job.recompute}{', compiled' if job.compiled else ''}"
    yield "model", f"{training.model}, {how}; timed as runs of {job.software}"
    yield "parallel", ", ".join(f"{name} {degree}" for name, degree in degrees.items() if degree > 1) or "none"
    batch = f"{counted(training.global_batch, 'sequence')} of {job.sequence:,}, {training.tokens_per_step:,} tokens"
    yield "step", batch
    yield "speed", speed_words(run, training)
    memory = training.memory
    yield "memory", f"{memory.least_gb:.0f} to {memory.most_gb:.0f} GB of {memory.gpu_gb:.1f} that the driver reports"
    mttf = training.mttf
    spread = f"{about(mttf.low)} to {about(mttf.high)}"
    yield "interruption", f"every {about(mttf.hours)} h on {counted(run.gpus, 'GPU')} ({spread})"
    yield (
        "failure rates",
        "; ".join([mttf.source, *(f"{each.source}: {each.hours:.1f} h" for each in compared(mttf.gpus))]),
    )
    if training.best_checkpoint_seconds is not None and not run.tiers:
        yield "checkpoint", f"every {training.best_checkpoint_seconds / 60:.0f} min loses least"
    yield from tier_facts(run.tiers)
    if run.forecast:
        yield from forecast_facts(run.forecast)


def speed_words(run: RunPlan, training: TrainingPlan) -> str:
    """The speed that days and cost are counted with, and what a typical run would reach, by their names."""
    step = run.forecast.step if run.forecast else None
    typical = f"{about(training.tokens_per_s)} tokens/s"
    if step is None:
        return f"{typical} expected, at a typical MFU of {TYPICAL_MFU:.0%}"
    expected = f"{about(step.tokens_per_s)} tokens/s expected, MFU {step.mfu:.0%} by the step time below"
    return f"{expected}; a typical MFU of {TYPICAL_MFU:.0%} would be {typical}"


def training_parts(training: TrainingPlan) -> list[Part]:
    memory = training.memory
    return [
        Part(name="Weights", gb=memory.weights_gb),
        Part(name="Gradients", gb=memory.gradients_gb),
        Part(name="Optimizer", gb=memory.optimizer_gb),
        Part(name="Layers gathered", gb=memory.gathered_gb),
        Part(name="Activations", gb=memory.activations_gb),
        Part(name="Buffers", gb=memory.buffers_gb),
        Part(name="Reserve", gb=memory.reserve_gb),
    ]


def services(plan: Plan) -> Iterator[RenderableType]:
    """Every service: replicas, the memory of one, and what it holds; every Triton server: its replicas and start."""
    for service in plan.services.values():
        pool = plan.pools[service.pool]
        if pool.gpu:
            yield section(
                f"service {service.name}",
                facts(service_facts(service, pool, plan.gateway)),
                _memory(service_parts(service), device_gb(pool) * service.pod.gpus, "a replica"),
            )

    for server in plan.triton.values():
        gpu = plan.pools[server.pool].gpu_product
        replicas = f"{server.replicas} of {server.pod.gpus} {gpu} in pool {server.pool}"
        start = f"{quantity(server.models_gb)} GB of models, probe waits {server.startup_seconds:,} s"
        shown = [("replicas", replicas), ("start", start), *_open_to(server.name, plan.gateway)]
        yield section(f"triton {server.name}", facts(shown))

    if plan.gateway:
        yield section("gateway", facts([("certificates", signer_words(plan.gateway))]))
    if plan.gateway and plan.gateway.people:
        yield section("pages", facts(page_facts(plan.gateway.people)))

    rows = [(f"pool {pool}", sharing_words(plan.pools[pool], shared)) for pool, shared in plan.sharing.items()]
    if rows:
        yield section("free capacity", facts(rows))


def page_facts(people: PeoplePlan) -> Iterator[tuple[str, str]]:
    """Which page is open to whom."""
    for page in people.pages:
        shown = f"what is team {page.team}'s" if page.team else "everybody's"
        role = f" as {page.role}" if page.role else f", to whom it shows {shown}"
        yield page.name, f"https://{page.hostname} to members of {', '.join(page.groups)}{role}"
    yield "vouched for by", f"{people.issuer}, asked again after {people.session_seconds // 3600} h"


def signer_words(gateway: GatewayPlan) -> str:
    """Who signs what callers are shown."""
    front, hosts = gateway.front, ", ".join(sorted(gateway.hostnames.values())) or "no hostname yet"
    if front and front.certificate:
        seen = "the plan cannot see which names it is for, make doctor asks"
        return f"{front.certificate} at the load balancer, which has to be for {hosts}; {seen}"
    if front:
        return (
            f"by AWS Certificate Manager at the load balancer, for {hosts}, validated and renewed in zone {front.zone}"
        )
    if gateway.acme:
        by = f"records in zone {gateway.acme.zone}" if gateway.acme.zone else "requests to the hostnames"
        return f"by {gateway.acme.server}, validated by {by}"
    return "by an authority of the stack's own, whose certificate callers have to be given"


def _open_to(name: str, gateway: GatewayPlan | None) -> Iterator[tuple[str, str]]:
    if gateway and (route := gateway.route(name)):
        whom = ", ".join(gateway.callers)
        limit = f"{route.requests_per_minute:,} requests a minute"
        if (most := gateway.most_replicas) > gateway.replicas:
            limit += f", {most * route.pod_requests_per_minute:,} when load has made {most} pods of the gateway"
        yield "open to", f"{whom} at https://{route.hostname}, {limit}"


def sharing_words(pool: PoolPlan, shared: Sharing) -> str:
    """What the fewest and the most replicas leave, and whether the pool's nodes hold the most of them."""
    fewest, most = _room(shared.fewest), _room(shared.most)
    left = f"at minReplicas {fewest}, at maxReplicas {most}" if fewest != most else fewest
    enough = f"all replicas and the largest gang need {counted(shared.nodes, 'node')}, and the pool has {pool.count:,}"
    return f"{left}; {enough}"


def _room(left: Room | None) -> str:
    if left is None:
        return "not all replicas find a node"
    whole = f" ({counted(left.empty_nodes, 'whole node')})" if left.empty_nodes else ""
    return f"{counted(left.free_gpus, 'GPU')} free{whole}" if left.free_gpus else "no GPU free"


def service_facts(
    service: ServicePlan, pool: PoolPlan, gateway: GatewayPlan | None
) -> Iterator[tuple[str, str | None]]:
    gpu = pool.gpu.name if pool.gpu else "GPU"
    least, most = service.min_replicas, service.max_replicas
    replicas = f"{least} to {most}" if most > least else f"{most}"
    yield "replicas", f"{replicas} of {service.pod.gpus} {gpu} in pool {service.pool}"
    yield (
        "KV cache",
        f"{max(0, service.kv_cache_tokens):,} tokens, {counted(service.full_sequences, 'sequence')} of full length",
    )
    yield "start", f"weights in {quantity(round(service.load_seconds, 1))} s, probe waits {service.startup_seconds:,} s"
    stream = f"a stream of full length takes {service.longest_stream_seconds:,} s or more"
    if service.scaling and service.scaling.idle_seconds and service.wake_seconds is not None:
        idle = f"no replica after {service.scaling.idle_seconds // 60} min without a request"
        yield "zero", f"{idle}; 503 for about {service.wake_seconds:,} s after the next"
    yield "stop", f"streams have {service.drain_seconds:,} s; {stream}"
    yield from _open_to(service.name, gateway)
    if service.adapters:
        names = ", ".join(each.name for each in service.adapters)
        yield "adapters", f"{names}; {service.max_loras} at a time, of ranks up to {service.max_lora_rank}"


def service_parts(service: ServicePlan) -> list[Part]:
    return [
        Part(name="Weights", gb=service.weights_gb),
        Part(name="Overhead", gb=service.overhead_gb),
        *([Part(name="Adapters", gb=service.lora_gb)] if service.max_loras else []),
        Part(name="KV cache", gb=service.kv_cache_gb),
    ]


def _memory(parts: list[Part], capacity_gb: float, of: str) -> Text:
    total = sum(part.gb for part in parts if part.gb > 0)
    text = Text(f"{total:.1f} of {quantity(round(capacity_gb, 1))} GB {of}\n")
    return text + bar(parts, capacity_gb, _BAR) + Text("\n") + legend(parts)
