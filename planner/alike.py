"""Planning that is the same on AWS and on premises: the workloads of a draft, and how a draft becomes a plan."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar

from catalogue.site import Sited
from planner.benchmarks import plan_benchmarks
from planner.draft import Draft, registry
from planner.experiments import plan_experiments
from planner.gating import plan_gating
from planner.interconnect import Switching, pool_gates
from planner.mlops import plan_datasets, plan_tracking
from planner.monitoring.plan import plan_monitoring
from planner.pool_types import PoolPlan
from planner.serving.gateway import plan_gateway
from planner.serving.plan import plan_services, plan_triton, replicas_by_pool
from planner.stack import ownership, plan_queues, plan_supply
from planner.storage.types import StoragePlan
from planner.supply import plan_signatures
from planner.teams import plan_teams
from planner.types import Plan
from planner.workload_types import RunPlan
from planner.workloads import plan_sharing
from settings.model import AwsSettings, MetalSettings
from settings.workloads import TrainingRun

Judged = TypeVar("Judged", bound=Plan)


def alike(
    settings: AwsSettings | MetalSettings,
    sited: Sited,
    now: datetime,
    pools: Mapping[str, PoolPlan],
    storage: StoragePlan | None,
    runs_of: Callable[[Iterable[TrainingRun]], dict[str, RunPlan]],
    *,
    read_mb_per_s: float,
    node_gb_per_s: Mapping[str, float],
    switching: Switching | None = None,
) -> dict[str, Any]:
    """The fields of a draft that both platforms have. `runs_of` plans runs, `read_mb_per_s` is the shared file system's
    whole rate, `node_gb_per_s` what a node has to it, by its pool. Charts are named when all else is known.
    """
    training, serving, models = settings.training, settings.serving, sited.catalogue.models
    runs, benchmarks = runs_of(training.runs), plan_benchmarks(training, runs_of)
    beside = replicas_by_pool(serving.triton)
    scrape_s = settings.monitoring.scrape_seconds if settings.monitoring else 0
    services = plan_services(serving.services, pools, models, read_mb_per_s, beside, node_gb_per_s, scrape_s)
    triton = plan_triton(serving.triton, pools, services, read_mb_per_s, node_gb_per_s)
    gateway = plan_gateway(serving, services, triton)
    teams = plan_teams(settings)
    gates = pool_gates(pools.values(), switching, training)
    return {
        "settings": settings,
        "catalogue": sited.catalogue,
        "site_problems": sited.problems,
        "now": now,
        "kubernetes_version": settings.platform.kubernetes_version,
        "ownership": ownership(settings),
        "supply": plan_supply(settings),
        "signatures": plan_signatures(settings),
        "charts": (),
        "pools": pools,
        "queues": plan_queues(settings, pools.values()),
        "teams": teams,
        "gates": gates,
        "measured": plan_gating(training, pools, gates, runs.values(), storage, benchmarks),
        "datasets": plan_datasets(training, storage),
        "runs": runs,
        "experiments": plan_experiments(training, teams, runs_of, pools),
        "benchmarks": benchmarks,
        "trial_database": training.database if training.experiments else None,
        "tracking": plan_tracking(training),
        "pipelines": training.pipelines,
        "services": services,
        "triton": triton,
        "sharing": plan_sharing(pools, runs, services, triton),
        "storage": storage,
        "gateway": gateway,
        "monitoring": plan_monitoring(settings, pools, runs, services, gateway),
        "findings": (),
    }


def judged(draft: Draft, kind: type[Judged]) -> Judged:
    """The plan that a draft is, with what every rule has to say about it."""
    numbers = {field.name: getattr(draft, field.name) for field in fields(kind)}
    findings = registry.findings(draft, draft.settings.waivers, draft.today)
    return kind(**{**numbers, "findings": findings})
