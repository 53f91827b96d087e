"""Monitors of what runs on the cluster and brings none of its own: the gang scheduler and the training operator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class Target:
    """Services in `namespace` with these labels, whose `port` serves /metrics."""

    name: str
    namespace: pulumi.Input[str]
    labels: Mapping[str, str]
    port: str = "metrics"


@dataclass(frozen=True, kw_only=True)
class MonitorsArgs:
    """`after` is what has the definition of ServiceMonitor."""

    targets: Sequence[Target]
    every_s: int
    after: pulumi.Resource


class Monitors(Component):
    """A ServiceMonitor per target, in the target's namespace."""

    def __init__(self, name: str, args: MonitorsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        for target in args.targets:
            k8s.apiextensions.CustomResource(
                self.named(target.name),
                api_version="monitoring.coreos.com/v1",
                kind="ServiceMonitor",
                metadata=k8s.meta.v1.ObjectMetaArgs(name=target.name, namespace=target.namespace),
                spec={
                    "selector": {"matchLabels": dict(target.labels)},
                    "endpoints": [{"port": target.port, "path": "/metrics", "interval": f"{args.every_s}s"}],
                },
                opts=self.child(depends_on=[args.after]),
            )
        self.register_outputs({"targets": [each.name for each in args.targets]})
