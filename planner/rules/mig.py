"""Pools whose GPUs are shared: cut into slices by MIG, or offered to several pods that take turns."""

from collections.abc import Iterable

from planner.draft import Draft, rule
from planner.findings import Observation
from planner.mig import profile
from planner.rules.known import known_pools, services


@rule(
    "mig-profile",
    "KJ24",
    "K09",
    formula="profile among those of the GPU",
    source="NVIDIA mig-parted, default configuration",
)
def mig_profile(draft: Draft) -> Iterable[Observation]:
    """A pool's MIG profile is one that its GPU offers."""
    for path, pool, plan in known_pools(draft):
        if pool.mig is None or plan.gpu is None or profile(plan.gpu, pool.mig):
            continue
        offered = ", ".join(f"{each.name} ({each.count} a GPU)" for each in plan.gpu.mig)
        yield Observation(
            path=f"{path}.mig",
            sentence=f"{plan.gpu.name} has no MIG profile {pool.mig}"
            + ("" if offered else ", as it cannot be cut at all"),
            remedy=f"take one of {offered}" if offered else "remove the key",
            subject=pool.name,
            inputs={"GPU": plan.gpu.name, "profile": pool.mig},
        )


@rule("mig-one-slice", "K10", formula="tensorParallel = 1", source="NVIDIA MIG user guide, application considerations")
def mig_one_slice(draft: Draft) -> Iterable[Observation]:
    """A replica on slices takes one of them: slices have no peer-to-peer path that NCCL could use."""
    for path, service in services(draft):
        plan = draft.pools.get(service.pool)
        if plan and plan.mig and service.tensor_parallel > 1:
            yield Observation(
                path=f"{path}.tensorParallel",
                sentence=f"a replica would join {service.tensor_parallel} slices {plan.mig.name} of pool {plan.name}, "
                "which cannot reach each other",
                remedy="set it to 1 and take a larger profile, or whole GPUs",
                subject=service.name,
                inputs={"tensorParallel": f"{service.tensor_parallel} slices"},
            )


@rule(
    "time-slices-one-gpu",
    "K04",
    formula="tensorParallel = 1",
    source='NVIDIA k8s-device-plugin, README, "Shared access to GPUs": more than one turn is no more of the GPU',
)
def time_slices_one_gpu(draft: Draft) -> Iterable[Observation]:
    """A replica on GPUs that are shared in time takes one turn: two may be of the same GPU, and a pod gets no two."""
    for path, service in services(draft):
        plan = draft.pools.get(service.pool)
        if plan and plan.time_slices > 1 and service.tensor_parallel > 1:
            yield Observation(
                path=f"{path}.tensorParallel",
                sentence=f"a replica would take {service.tensor_parallel} turns on GPUs of pool {plan.name}, where "
                f"{plan.time_slices} pods share each",
                remedy="set it to 1, or remove timeSlices from the pool",
                subject=service.name,
                inputs={
                    "tensorParallel": f"{service.tensor_parallel} turns",
                    "timeSlices": f"{plan.time_slices} pods a GPU",
                },
            )


@rule(
    "time-slices-memory",
    "K04",
    "Q13",
    formula="gpuMemoryUtilization x timeSlices <= 1",
    source='NVIDIA k8s-device-plugin, README, "Shared access to GPUs": no memory is kept apart; vLLM, '
    "gpu_memory_utilization: a part of the GPU's whole memory",
)
def time_slices_memory(draft: Draft) -> Iterable[Observation]:
    """Servers that take turns on a GPU hold their memory all the time, and nothing keeps one from the others'."""
    for path, service in services(draft):
        plan = draft.pools.get(service.pool)
        if plan is None or plan.time_slices == 1 or service.gpu_memory_utilization * plan.time_slices <= 1:
            continue
        most = 100 // plan.time_slices / 100
        yield Observation(
            path=f"{path}.gpuMemoryUtilization",
            sentence=f"{plan.time_slices} pods share a GPU of pool {plan.name}, and each would take "
            f"{service.gpu_memory_utilization:.0%} of its memory",
            remedy=f"set it to {most:g} at most, or lower the pool's timeSlices",
            subject=service.name,
            inputs={
                "gpuMemoryUtilization": f"{service.gpu_memory_utilization:g}",
                "timeSlices": f"{plan.time_slices} pods a GPU",
            },
        )
