"""Stack outputs: one per layer, with what a person wants to know or to type next."""

from typing import Any

import pulumi

from planner.types import Plan
from settings.model import Settings
from stacks.platform import Platform
from stacks.services import Services
from stacks.workloads import Deployed


def layer_outputs(
    settings: Settings, plan: Plan, platform: Platform, services: Services, deployed: Deployed
) -> dict[str, dict[str, Any]]:
    """Outputs by layer. Prices are in USD, as the planner estimates them; counts are of the whole stack."""
    return {
        "fabric": {
            **platform.outputs["fabric"],
            "kind": platform.fabric,
            "efaInterfaces": plan.totals.efa_interfaces,
        },
        "hardware": {
            "pools": {
                pool.name: {
                    "instanceType": pool.instance.type,
                    "nodes": pool.count,
                    "gpus": pool.gpus,
                    "efaInterfaces": pool.count * pool.efa,
                }
                for pool in plan.pools.values()
            },
            "nodes": plan.totals.nodes,
            "gpus": plan.totals.gpus,
            "hourlyUsd": round(plan.prices.hourly, 2),
            "monthlyUsd": round(plan.prices.monthly),
        },
        "storage": {
            **platform.outputs["storage"],
            "claims": ["/".join(claim) for claim in sorted(services.claims)],
        },
        "kubePlatform": {
            "cluster": platform.cluster.name,
            "endpoint": platform.cluster.endpoint,
            "kubernetesVersion": settings.aws.kubernetes_version,
            "kubeconfigCommand": platform.cluster.kubeconfig_command,
        },
        "scheduling": {"queues": sorted(services.queues), "priorities": sorted(services.priorities)},
        "workloads": {"gangs": deployed.gangs, "services": deployed.endpoints},
    }


def export(outputs: dict[str, dict[str, Any]]) -> None:
    """Export one output per layer."""
    for layer, values in outputs.items():
        pulumi.export(layer, values)
