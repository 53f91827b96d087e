"""Pools whose GPUs are cut into slices by MIG."""

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
