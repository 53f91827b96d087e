"""Stack outputs: one per layer, with the values and commands that people need next."""

from collections.abc import Mapping
from typing import Any

import pulumi

from planner.faces.outputs import on_any_platform
from planner.types import Plan
from stacks.monitoring import Watched
from stacks.platform import Platform
from stacks.services import Services
from stacks.workloads import Deployed


def layer_outputs(
    plan: Plan,
    platform: Platform,
    services: Services,
    watched: Watched | None,
    deployed: Deployed,
    pages: Mapping[str, pulumi.Output[str]],
) -> dict[str, dict[str, Any]]:
    """Outputs by layer, each with the platform's own lines. The planner's numbers are among them, so that the preview
    of a change shows what it costs.
    """
    shown, cluster = on_any_platform(plan), platform.cluster
    layers: dict[str, dict[str, Any]] = {
        "fabric": {},
        "hardware": {"pools": shown["pools"], "nodes": plan.totals.nodes, "gpus": plan.totals.gpus},
        "storage": {"block": platform.block, "claims": ["/".join(claim) for claim in sorted(services.claims)]},
        "kubePlatform": {
            "cluster": cluster.name,
            "endpoint": cluster.endpoint,
            "openTo": list(cluster.open_to),
            "kubernetesVersion": plan.kubernetes_version,
            "kubeconfigCommand": cluster.kubeconfig_command,
        },
        "scheduling": {"queues": sorted(services.queues), "priorities": sorted(services.priorities)},
        **({"monitoring": {**shown["monitoring"], **watched.lines}} if watched else {}),
        "workloads": {
            "gangs": {name: {**shown["gangs"][name], "job": job} for name, job in deployed.gangs.items()},
            **(
                {
                    "experiments": {
                        name: {**shown["experiments"][name], "experiment": made}
                        for name, made in deployed.experiments.items()
                    }
                }
                if deployed.experiments
                else {}
            ),
            **({"tracking": deployed.tracking} if deployed.tracking else {}),
            **({"pipelines": deployed.pipelines} if deployed.pipelines else {}),
            **({"pages": {name: {**shown["pages"][name], "url": url} for name, url in pages.items()}} if pages else {}),
            "services": {
                name: {
                    **shown["services"].get(name, {}),
                    "url": url,
                    **({"publicUrl": deployed.public[name]} if name in deployed.public else {}),
                }
                for name, url in deployed.endpoints.items()
            },
        },
    }
    return {layer: {**platform.outputs.get(layer, {}), **lines} for layer, lines in layers.items()}


def export(outputs: dict[str, dict[str, Any]]) -> None:
    """Export one output per layer."""
    for layer, values in outputs.items():
        pulumi.export(layer, values)
