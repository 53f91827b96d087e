"""Scrapes training runs: the pods that may have rank 0, if its script serves metrics
(monitoring/run_metrics.py).
"""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.training.pod import RUN_KEY
from monitoring.run_metrics import INTERVAL, PATH, PORT_NAME, RUN_LABEL


@dataclass(frozen=True, kw_only=True)
class RunMonitorArgs:
    """Runs of `namespace`; `monitors` is the resource after which PodMonitors can be made."""

    namespace: pulumi.Input[str]
    monitors: pulumi.Resource


def spec() -> dict[str, Any]:
    """Pods without a port of that name are not scraped: workers beside a Master have none, and those of an elastic run,
    which has no Master, all do. Every series gets the name of its run and the node.
    """
    run = "__meta_kubernetes_pod_label_" + RUN_KEY.replace("/", "_")
    labels = {run: RUN_LABEL, "__meta_kubernetes_pod_node_name": "node"}
    return {
        "selector": {"matchExpressions": [{"key": RUN_KEY, "operator": "Exists"}]},
        "podMetricsEndpoints": [
            {
                "port": PORT_NAME,
                "path": PATH,
                "interval": INTERVAL,
                "relabelings": [{"sourceLabels": [each], "targetLabel": target} for each, target in labels.items()],
            }
        ],
    }


class RunMonitor(Component):
    """A PodMonitor of all runs of the namespace."""

    def __init__(self, name: str, args: RunMonitorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        k8s.apiextensions.CustomResource(
            self.named("monitor"),
            api_version="monitoring.coreos.com/v1",
            kind="PodMonitor",
            metadata=k8s.meta.v1.ObjectMetaArgs(name="training-runs", namespace=args.namespace),
            spec=spec(),
            opts=self.child(depends_on=[args.monitors]),
        )
        self.register_outputs({})
