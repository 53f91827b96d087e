"""Monitors of what brings none of its own: on the cluster the gang scheduler and the training operator, beside it
servers of files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class Target:
    """Services in `namespace` with these labels, whose `port` serves /metrics; or machines beside the cluster, each an
    ADDRESS:PORT of `machines`.
    """

    name: str
    namespace: pulumi.Input[str]
    labels: Mapping[str, str] = field(default_factory=dict)
    port: str = "metrics"
    machines: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class MonitorsArgs:
    """`after` is what has the definition of ServiceMonitor."""

    targets: Sequence[Target]
    every_s: int
    after: pulumi.Resource


class Monitors(Component):
    """A ServiceMonitor per target, in the target's namespace, or a ScrapeConfig for machines."""

    def __init__(self, name: str, args: MonitorsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        for target in args.targets:
            version, kind, spec = (_scraped if target.machines else _monitored)(target, f"{args.every_s}s")
            k8s.apiextensions.CustomResource(
                self.named(target.name),
                api_version=f"monitoring.coreos.com/{version}",
                kind=kind,
                metadata=k8s.meta.v1.ObjectMetaArgs(name=target.name, namespace=target.namespace),
                spec=spec,
                opts=self.child(depends_on=[args.after]),
            )
        self.register_outputs({"targets": [each.name for each in args.targets]})


def _monitored(target: Target, interval: str) -> tuple[str, str, dict[str, Any]]:
    endpoint = {"port": target.port, "path": "/metrics", "interval": interval}
    return "v1", "ServiceMonitor", {"selector": {"matchLabels": dict(target.labels)}, "endpoints": [endpoint]}


def _scraped(target: Target, interval: str) -> tuple[str, str, dict[str, Any]]:
    """Series have the job and the namespace that a monitor's would have, by which alerts name what is silent."""
    static = {"targets": list(target.machines), "labels": {"namespace": target.namespace}}
    return "v1alpha1", "ScrapeConfig", {"jobName": target.name, "scrapeInterval": interval, "staticConfigs": [static]}
