"""Rules that Prometheus loads: an object for what is recorded, and one for what alerts (X02, AB09)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class RulesArgs:
    """Groups as the spec of a PrometheusRule has them. `after` is what has the definition of its kind."""

    namespace: pulumi.Input[str]
    recording: Sequence[Mapping[str, Any]]
    alerts: Sequence[Mapping[str, Any]]
    after: pulumi.Resource


class Rules(Component):
    """A PrometheusRule `gpucluster-recording`, and one `gpucluster-alerts`."""

    def __init__(self, name: str, args: RulesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        for role, groups in (("recording", args.recording), ("alerts", args.alerts)):
            k8s.apiextensions.CustomResource(
                self.named(role),
                api_version="monitoring.coreos.com/v1",
                kind="PrometheusRule",
                metadata=k8s.meta.v1.ObjectMetaArgs(name=f"gpucluster-{role}", namespace=args.namespace),
                spec={"groups": [dict(group) for group in groups]},
                opts=self.child(depends_on=[args.after]),
            )
        self.register_outputs({"groups": len(args.recording) + len(args.alerts)})
