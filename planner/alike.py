"""Planning that is the same on AWS and on premises: the workloads of a draft, and the numbers of a plan."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import date
from typing import Any

from catalogue.model_types import Model
from planner.benchmarks import plan_benchmarks
from planner.datasets import plan_datasets
from planner.draft import Draft, registry
from planner.experiments import plan_database, plan_experiments
from planner.gating import plan_gating
from planner.interconnect import Switching, pool_gates
from planner.monitoring.plan import plan_monitoring
from planner.pipelines import plan_pipelines
from planner.pool_types import PoolPlan
from planner.serving.gateway import plan_gateway
from planner.serving.plan import plan_services
from planner.serving.triton import plan_triton, replicas_by_pool
from planner.signatures import plan_signatures
from planner.stack import ownership, plan_queues, plan_supply
from planner.storage.types import StoragePlan
from planner.teams import plan_teams
from planner.tracking import plan_tracking
from planner.types import Plan
from planner.workload_types import RunPlan
from planner.workloads import plan_sharing
from settings.model import AwsSettings, MetalSettings
from settings.workloads import TrainingRun


def workloads(
    settings: AwsSettings | MetalSettings,
    pools: Mapping[str, PoolPlan],
    models: Mapping[str, Model],
    storage: StoragePlan | None,
    runs_of: Callable[[Iterable[TrainingRun]], dict[str, RunPlan]],
    *,
    read_mb_per_s: float,
    node_gb_per_s: Mapping[str, float],
) -> dict[str, Any]:
    """The fields of a draft that speak of runs, services and what watches them. `runs_of` plans runs, `read_mb_per_s`
    is the shared file system's whole rate, `node_gb_per_s` what a node has to it, by its pool.
    """
    runs, serving = runs_of(settings.training.runs), settings.serving
    beside = replicas_by_pool(serving.triton)
    services = plan_services(serving.services, pools, models, read_mb_per_s, beside, node_gb_per_s)
    triton = plan_triton(serving.triton, pools, services, read_mb_per_s)
    gateway = plan_gateway(serving, services, triton)
    return {
        "pools": pools,
        "datasets": plan_datasets(settings.training, storage),
        "runs": runs,
        "experiments": plan_experiments(settings.training, runs_of),
        "benchmarks": plan_benchmarks(settings.training, runs_of),
        "services": services,
        "triton": triton,
        "storage": storage,
        "gateway": gateway,
        "monitoring": plan_monitoring(settings, pools, runs, services, gateway),
    }


def numbers(
    draft: Draft,
    kind: type[Plan],
    settings: AwsSettings | MetalSettings,
    today: date,
    switching: Switching | None = None,
) -> dict[str, Any]:
    """The fields of a plan of this kind that its draft has under their names, and those that both platforms have."""
    training, pools = settings.training, draft.pools
    gates = pool_gates(pools.values(), switching, training)
    return {
        **{field.name: getattr(draft, field.name) for field in fields(kind) if hasattr(draft, field.name)},
        "kubernetes_version": settings.platform.kubernetes_version,
        "ownership": ownership(settings),
        "supply": plan_supply(settings),
        "signatures": plan_signatures(settings),
        "queues": plan_queues(settings, pools.values()),
        "teams": plan_teams(settings),
        "gates": gates,
        "measured": plan_gating(training, pools, gates, draft.runs.values(), draft.storage, draft.benchmarks),
        "trial_database": plan_database(training),
        "tracking": plan_tracking(training),
        "pipelines": plan_pipelines(training),
        "sharing": plan_sharing(pools, draft.runs, draft.services, draft.triton),
        "findings": registry.findings(draft, settings.waivers, today),
    }
