"""The plan's numbers for the outputs of a stack: small enough for a preview, whose diff shows what a change costs."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from pydantic.alias_generators import to_camel

from planner.experiments import ExperimentPlan
from planner.fabric.plan import FabricPlan
from planner.metal_types import MetalPlan
from planner.monitoring.types import MonitoringPlan
from planner.pool_types import AwsPoolPlan, MetalPoolPlan, PoolPlan
from planner.procurement import requests
from planner.serving.gateway import GatewayPlan, PeoplePlan
from planner.storage.types import StoragePlan
from planner.types import AwsPlan, Plan
from planner.workload_types import RunPlan, ServicePlan


def numbers(plan: AwsPlan | MetalPlan) -> dict[str, Any]:
    """The numbers as JSON has them, by subject. Memory is what one GPU needs and has; rates are one way."""
    return {**on_any_platform(plan), **(aws_numbers(plan) if isinstance(plan, AwsPlan) else _metal(plan))}


def on_any_platform(plan: Plan) -> dict[str, Any]:
    """The numbers that every stack has."""
    experiments = {each.name: _experiment(each) for each in plan.experiments.values()}
    return {
        "totals": {to_camel(name): value for name, value in asdict(plan.totals).items()},
        "pools": {pool.name: _pool(pool) for pool in plan.pools.values()},
        "gangs": {run.name: _gang(run) for run in plan.runs.values()},
        **({"experiments": experiments} if experiments else {}),
        "services": {service.name: _service(service, plan.gateway) for service in plan.services.values()},
        **({"pages": _pages(plan.gateway.people)} if plan.gateway and plan.gateway.people else {}),
        **({"monitoring": _monitoring(plan.monitoring)} if plan.monitoring else {}),
    }


def flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each number with its path below the subject: ('pools.training.nodes', 8). Lists are one value."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from flat(below, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _pool(pool: PoolPlan) -> dict[str, Any]:
    shown = {"nodes": pool.count, "gpus": pool.gpus, "gpuModel": pool.gpu.name if pool.gpu else None}
    if isinstance(pool, AwsPoolPlan):
        return {"instanceType": pool.hardware, **shown, "efaPerNode": pool.efa, "maxPods": pool.max_pods}
    if isinstance(pool, MetalPoolPlan):
        return {"server": pool.hardware, **shown, "railsPerNode": pool.rails}
    return {"hardware": pool.hardware, **shown}


def _gang(run: RunPlan) -> dict[str, Any]:
    shown: dict[str, Any] = {"pods": run.pods, "gpus": run.gpus, **({"efa": run.efa} if run.efa else {})}
    if run.training is None:
        return shown
    memory, forecast = run.training.memory, run.forecast
    if forecast and forecast.days is not None:
        shown["days"] = round(forecast.days, 1)
    if forecast and forecast.usd is not None:
        shown["usd"] = round(forecast.usd)
    return {
        **shown,
        "memoryGbPerGpu": round(memory.total_gb, 1),
        "gpuGb": round(memory.gpu_gb, 1),
        "tokensPerS": run.training.tokens_per_s,
    }


def _experiment(experiment: ExperimentPlan) -> dict[str, Any]:
    times = {"trialHours": experiment.trial_hours, "hours": experiment.hours, "gpuHours": experiment.gpu_hours}
    return {
        "trials": experiment.most,
        "parallel": experiment.parallel,
        "gpusPerTrial": experiment.trial.gpus,
        **{key: round(value, 1) for key, value in times.items() if value is not None},
        **({"usd": round(experiment.usd)} if experiment.usd is not None else {}),
    }


def _service(service: ServicePlan, gateway: GatewayPlan | None) -> dict[str, Any]:
    route = gateway.route(service.name) if gateway else None
    return {
        "replicas": [service.min_replicas, service.max_replicas],
        "gpusPerReplica": service.pod.gpus,
        "weightsGb": round(service.weights_gb, 1),
        "kvCacheTokens": service.kv_cache_tokens,
        **({"wakeSeconds": service.wake_seconds} if service.to_zero else {}),
        **({"hostname": route.hostname, "requestsPerMinute": route.requests_per_minute} if route else {}),
    }


def _pages(people: PeoplePlan) -> dict[str, Any]:
    return {
        page.name: {
            "hostname": page.hostname,
            "groups": list(page.groups),
            **({"role": page.role} if page.role else {}),
        }
        for page in people.pages
    }


def _monitoring(plan: MonitoringPlan) -> dict[str, Any]:
    return {
        "series": plan.series,
        "samplesPerS": plan.samples_per_s,
        "retentionDays": plan.retention_days,
        "diskGib": plan.disk_gib,
        "memoryMib": plan.requests.prometheus.memory_mib,
    }


def _storage(plan: StoragePlan) -> dict[str, Any]:
    return {
        "usableTb": round(plan.usable_tb, 1),
        "readGbPerS": round(plan.read_gb_per_s, 2),
        "writeGbPerS": round(plan.write_gb_per_s, 2),
        "checkpointGbPerS": round(plan.target_write_gb_per_s, 2),
    }


def aws_numbers(plan: AwsPlan) -> dict[str, Any]:
    """The numbers that only stacks on AWS have."""
    prices = plan.prices
    return {
        "subnets": {subnet.name: subnet.cidr for subnet in plan.subnets},
        "storage": _storage(plan.storage),
        "priceUsd": {
            "hourly": prices.hourly,
            "hourlyRange": [prices.hourly_low, prices.hourly_high],
            "hourlyByLayer": {layer: round(usd, 2) for layer, usd in prices.by_layer.items() if round(usd, 2)},
            "monthly": prices.monthly,
            **({} if prices.listed else {"ofAnotherRegion": True}),
            "unpriced": list(prices.unpriced),
        },
        "quotas": requests(plan.quotas),
    }


def _fabric(plan: FabricPlan) -> dict[str, Any]:
    design = plan.growth.day_one
    return {
        "kind": plan.kind,
        "topology": str(design.topology),
        "leaves": design.leaves,
        "spines": design.spines,
        "cores": design.cores,
        "cables": design.cables,
        "bisectionGbitPerS": round(plan.bisection_gbit_per_s),
        "oversubscription": round(plan.oversubscription, 2),
    }


def _metal(plan: MetalPlan) -> dict[str, Any]:
    power = plan.facility.power
    return {
        **({"fabric": _fabric(plan.fabric)} if plan.fabric else {}),
        **({"storage": _storage(plan.storage)} if plan.storage else {}),
        "power": {
            "drawKw": round(power.draw_kw, 1),
            "toOrderKw": round(power.planned_kw, 1),
            "roomKw": round(plan.facility.facility_kw, 1),
            "racks": len(plan.facility.racks),
            "usdPerHour": round(plan.facility.usd_per_hour, 2),
        },
        "costUsd": {
            "purchase": round(plan.owned.purchase.usd),
            "purchaseRange": [round(plan.owned.purchase.low), round(plan.owned.purchase.high)],
            "hourly": round(plan.owned.hourly.usd, 2),
            "unpriced": [line.item for line in plan.bom.unpriced],
        },
    }
