"""Pools whose GPUs are shared: cut into slices by MIG, or offered to several pods that take turns."""

from collections.abc import Iterable

from planner.draft import Draft, rule
from planner.findings import Observation
from planner.pool_types import PoolPlan, profile
from planner.rules.known import known_pools, services
from settings.pools import Pool
from settings.serving import Service

_LEAST_UTILIZATION, _MOST_SLICES = 0.1, 10
"""The least that the key takes, and how many servers a GPU has room for with it."""


@rule(
    "KJ24 K09",
    each=known_pools,
    formula="profile among those of the GPU",
    source="NVIDIA mig-parted, default configuration",
)
def mig_profile(_: Draft, pool: Pool, plan: PoolPlan) -> Iterable[Observation]:
    """A pool's MIG profile is one that its GPU offers."""
    if pool.mig is None or plan.gpu is None or profile(plan.gpu, pool.mig):
        return
    offered = ", ".join(f"{each.name} ({each.count} a GPU)" for each in plan.gpu.mig)
    yield Observation(
        path="mig",
        sentence=f"{plan.gpu.name} has no MIG profile {pool.mig}" + ("" if offered else ", as it cannot be cut at all"),
        remedy=f"take one of {offered}" if offered else "remove the key",
        inputs={"GPU": plan.gpu.name, "profile": pool.mig},
    )


@rule("K10", each=services, formula="tensorParallel = 1", source="NVIDIA MIG user guide, application considerations")
def mig_one_slice(draft: Draft, service: Service) -> Iterable[Observation]:
    """A replica on slices takes one of them: slices have no peer-to-peer path that NCCL could use."""
    plan = draft.pools.get(service.pool)
    if plan and plan.mig and service.tensor_parallel > 1:
        yield Observation(
            path="tensorParallel",
            sentence=f"a replica would join {service.tensor_parallel} slices {plan.mig.name} of pool {plan.name}, "
            "which cannot reach each other",
            remedy="set it to 1 and take a larger profile, or whole GPUs",
            inputs={"tensorParallel": f"{service.tensor_parallel} slices"},
        )


@rule(
    "K04",
    each=services,
    formula="tensorParallel = 1",
    source='NVIDIA k8s-device-plugin, README, "Shared access to GPUs": more than one turn is no more of the GPU',
)
def time_slices_one_gpu(draft: Draft, service: Service) -> Iterable[Observation]:
    """A replica on GPUs that are shared in time takes one turn: two may be of the same GPU, and a pod gets no two."""
    plan = draft.pools.get(service.pool)
    if plan and plan.time_slices > 1 and service.tensor_parallel > 1:
        yield Observation(
            path="tensorParallel",
            sentence=f"a replica would take {service.tensor_parallel} turns on GPUs of pool {plan.name}, where "
            f"{plan.time_slices} pods share each",
            remedy="set it to 1, or remove timeSlices from the pool",
            inputs={
                "tensorParallel": f"{service.tensor_parallel} turns",
                "timeSlices": f"{plan.time_slices} pods a GPU",
            },
        )


@rule(
    "K04 Q13",
    each=services,
    formula="gpuMemoryUtilization x timeSlices <= 1",
    source='NVIDIA k8s-device-plugin, README, "Shared access to GPUs": no memory is kept apart; vLLM, '
    "gpu_memory_utilization: a part of the GPU's whole memory",
)
def time_slices_memory(draft: Draft, service: Service) -> Iterable[Observation]:
    """Servers that take turns on a GPU hold their memory all the time, and nothing keeps one from the others'."""
    plan = draft.pools.get(service.pool)
    if plan is None or plan.time_slices == 1 or service.gpu_memory_utilization * plan.time_slices <= 1:
        return
    most = 100 // plan.time_slices / 100
    yield Observation(
        path="gpuMemoryUtilization",
        sentence=f"{plan.time_slices} pods share a GPU of pool {plan.name}, and each would take "
        f"{service.gpu_memory_utilization:.0%} of its memory",
        remedy=f"set it to {most:g} at most, or lower the pool's timeSlices"
        if most >= _LEAST_UTILIZATION
        else f"lower the pool's timeSlices to at most {_MOST_SLICES}, and set it to {_LEAST_UTILIZATION:g}",
        inputs={
            "gpuMemoryUtilization": f"{service.gpu_memory_utilization:g}",
            "timeSlices": f"{plan.time_slices} pods a GPU",
        },
    )
