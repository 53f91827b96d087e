"""Prometheus, Alertmanager, Grafana and the exporters of nodes and objects, with what Alertmanager tells whom."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.monitoring.alerting import Receiver, alertmanager_config
from components.monitoring.counters import NodeCounters
from components.monitoring.grafana import by_the_gateway
from components.monitoring.stack_values import ControlPlanePart, Prometheus, Requests, stack_values
from components.platform.charts import Chart, ChartArgs, ChartSource

CONFIG, SECRETS = "alertmanager-config", "alertmanager-receivers"
OUTSIDE = "alertmanager-receivers-outside"
"""The Secret of receivers whose secrets somebody else keeps there."""


@dataclass(frozen=True, kw_only=True)
class MonitoringStackArgs:
    """`secrets` are the receivers' by their names; they stay secret in state and previews. Those of other receivers are
    in a Secret `outside`, which is called OUTSIDE and resolves when it is there. `after` has the definitions.

    `cluster` is the name that alerts carry, `control_plane` what of it can be scraped, `counters` what is read of nodes
    beside the node exporter, `default_rules` what stays of the alerts that the chart brings, `pages` the hostnames
    where Grafana is found by people whom a gateway has asked who they are.
    """

    source: ChartSource
    namespace: pulumi.Input[str]
    cluster: str
    storage_class: pulumi.Input[str]
    prometheus: Prometheus
    requests: Requests
    receivers: Sequence[Receiver]
    secrets: Mapping[str, pulumi.Output[str]]
    default_rules: Mapping[str, Any]
    control_plane: Collection[ControlPlanePart]
    counters: NodeCounters | None
    after: pulumi.Resource
    outside: pulumi.Output[str] | None = None
    pages: Sequence[str] = ()


class MonitoringStack(Component):
    """One release, of which the operator makes Prometheus and Alertmanager when its own pods run."""

    def __init__(self, name: str, args: MonitoringStackArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        mounted = [self._keep(SECRETS, args, args.secrets)] if args.secrets else []
        mounted += [args.outside] if args.outside else []
        kept = {each.name: SECRETS if each.name in args.secrets else OUTSIDE for each in args.receivers}
        config = json.dumps(alertmanager_config(args.receivers, kept), sort_keys=True)
        values = stack_values(
            args.prometheus,
            args.requests,
            cluster=args.cluster,
            storage_class=args.storage_class,
            config_secret=self._keep(CONFIG, args, {"alertmanager.yaml": config}),
            mounted=mounted,
            default_rules=args.default_rules,
            control_plane=args.control_plane,
            counters=args.counters,
        )
        if args.pages:
            values["grafana"]["grafana.ini"] = by_the_gateway(args.pages[0])
        chart = ChartArgs(
            source=args.source, namespace=args.namespace, values=values, timeout_seconds=900, after=args.after
        )
        Chart(self.named("chart"), chart, self.child())
        self.register_outputs({"receivers": [each.name for each in args.receivers]})

    def _keep(self, name: str, args: MonitoringStackArgs, files: Mapping[str, pulumi.Input[str]]) -> pulumi.Output[str]:
        """A Secret of such files; its name once it exists."""
        secret = k8s.core.v1.Secret(
            self.named(name),
            metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=args.namespace),
            string_data={file: pulumi.Output.secret(content) for file, content in sorted(files.items())},
            opts=self.child(),
        )
        return secret.metadata.name.apply(str)
