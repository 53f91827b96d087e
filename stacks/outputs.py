"""Stack outputs: one per layer, with what a person wants to know or to type next."""

from typing import Any

import pulumi

from planner.faces.outputs import numbers
from planner.types import AwsPlan
from settings.model import AwsSettings
from stacks.platform import Platform
from stacks.services import Services
from stacks.workloads import Deployed


def layer_outputs(
    settings: AwsSettings, plan: AwsPlan, platform: Platform, services: Services, deployed: Deployed
) -> dict[str, dict[str, Any]]:
    """Outputs by layer. The planner's numbers are among them, so that the preview of a change shows what it costs."""
    shown = numbers(plan)
    return {
        "fabric": {
            **platform.outputs["fabric"],
            "kind": platform.fabric,
            "efaInterfaces": plan.totals.efa_interfaces,
            "subnets": shown["subnets"],
        },
        "hardware": {
            "pools": shown["pools"],
            "nodes": plan.totals.nodes,
            "gpus": plan.totals.gpus,
            "priceUsd": shown["priceUsd"],
            "quotas": shown["quotas"],
        },
        "storage": {
            **platform.outputs["storage"],
            **shown["storage"],
            "claims": ["/".join(claim) for claim in sorted(services.claims)],
        },
        "kubePlatform": {
            "cluster": platform.cluster.name,
            "endpoint": platform.cluster.endpoint,
            "kubernetesVersion": settings.platform.kubernetes_version,
            "kubeconfigCommand": platform.cluster.kubeconfig_command,
        },
        "scheduling": {"queues": sorted(services.queues), "priorities": sorted(services.priorities)},
        "workloads": {
            "gangs": {name: {**shown["gangs"][name], "job": job} for name, job in deployed.gangs.items()},
            "services": {name: {**shown["services"][name], "url": url} for name, url in deployed.endpoints.items()},
        },
    }


def export(outputs: dict[str, dict[str, Any]]) -> None:
    """Export one output per layer."""
    for layer, values in outputs.items():
        pulumi.export(layer, values)
