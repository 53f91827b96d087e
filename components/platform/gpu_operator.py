"""The GPU Operator (K01, K02, K03), and what its exporter counts (U02, U10, X03, X07)."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
import yaml

from components._base import Component
from components.platform.taints import GPU_RESOURCE

WHOLE = "whole"
"""The configuration of nodes whose GPUs are offered once."""
COUNTERS_FILE = "dcgm-metrics.csv"
"""The key under which the operator looks for the list (NVIDIA: GPU Operator, custom metrics for DCGM Exporter)."""


@dataclass(frozen=True, kw_only=True)
class GpuCountersArgs:
    """`csv` is the exporter's list of fields."""

    namespace: pulumi.Input[str]
    csv: str


class GpuCounters(Component):
    """The list as a ConfigMap. The exporter reads it when it starts, so another list has another `name`."""

    name: str
    kept: k8s.core.v1.ConfigMap

    def __init__(self, name: str, args: GpuCountersArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.name = f"dcgm-counters-{hashlib.sha256(args.csv.encode()).hexdigest()[:8]}"
        self.kept = k8s.core.v1.ConfigMap(
            self.named("list"),
            metadata=k8s.meta.v1.ObjectMetaArgs(name=self.name, namespace=args.namespace),
            data={COUNTERS_FILE: args.csv},
            opts=self.child(),
        )
        self.register_outputs({"name": self.name})


def gpu_operator_values(
    tolerations: Sequence[Mapping[str, str]],
    host: Mapping[str, Any],
    *,
    counters: str,
    scrape_s: int,
    slices: bool = False,
    turns: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Values of the `gpu-operator` chart.

    `host` are those that follow from the nodes: who owns `driver`, `toolkit`, `gds` and `devicePlugin`. With `slices`
    the MIG manager cuts GPUs as the label nvidia.com/mig.config of their node says, and each slice is offered as a GPU
    (K09, KJ25). A node whose label nvidia.com/device-plugin.config is one of `turns` offers each GPU to that many pods,
    which take turns (K04). The operands and the feature discovery worker get the pools' `tolerations`; without them the
    nodes show no GPUs. The one exporter counts what the ConfigMap `counters` lists, and is scraped every `scrape_s`
    seconds through a ServiceMonitor; its series carry the name of their node.

    Devices reach containers by CDI; those that ask for no GPU, and are to see them all, name the RuntimeClass `nvidia`
    (K05, K11). The ServiceMonitor's CRD must be there before, as must the operator's own of this version: a hook of the
    chart would bring them too late (LF08).
    """
    everywhere = [dict(each) for each in tolerations]
    monitor = {
        "enabled": True,
        "interval": f"{scrape_s}s",
        "relabelings": [{"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}],
    }
    return {
        **host,
        "devicePlugin": {
            "enabled": True,
            **host.get("devicePlugin", {}),
            **({"config": _sharing(turns)} if turns else {}),
        },
        "gfd": {"enabled": True},
        "nfd": {"enabled": True},
        "dcgmExporter": {"enabled": True, "config": {"name": counters}, "serviceMonitor": monitor},
        "nodeStatusExporter": {"enabled": True},
        "migManager": {"enabled": slices},
        **({"mig": {"strategy": "single"}} if slices else {}),
        "cdi": {"enabled": True},
        "operator": {"runtimeClass": "nvidia", "upgradeCRD": False},
        "daemonsets": {"tolerations": everywhere},
        "node-feature-discovery": {"worker": {"tolerations": everywhere}},
    }


def _sharing(turns: Mapping[str, int]) -> dict[str, Any]:
    """Configurations of the device plugin by name. A pod that asks for two turns gets none, rather than one GPU."""

    def config(count: int) -> str:
        resource = {"name": GPU_RESOURCE, "replicas": count}
        slicing = {"failRequestsGreaterThanOne": True, "resources": [resource]}
        return yaml.safe_dump({"version": "v1", "sharing": {"timeSlicing": slicing}}, sort_keys=False)

    whole = {WHOLE: yaml.safe_dump({"version": "v1"})}
    data = whole | {name: config(count) for name, count in turns.items()}
    return {"create": True, "name": "device-plugin", "default": WHOLE, "data": data}
