"""Monitoring on any platform: Prometheus and its exporters, alert receivers, and log collection."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from catalogue import versions
from components.layers import Monitoring
from components.monitoring.alerting import Mail, Receiver
from components.monitoring.isolation import Isolation, IsolationArgs, isolation_files
from components.monitoring.logs import fluent_bit_values
from components.monitoring.monitors import Monitors, MonitorsArgs, Target
from components.monitoring.stack import OUTSIDE, MonitoringStack, MonitoringStackArgs
from components.monitoring.stack_values import Prometheus, Request, Requests
from components.platform.charts import Chart, ChartArgs
from components.platform.training_operator import LABELS as TRAINING_OPERATOR_LABELS
from monitoring.dashboards.address import address
from monitoring.defaults import default_rules
from planner.monitoring.types import MonitoringPlan, PodRequest
from planner.said import Receiver as Told
from planner.types import Plan
from stacks.autoscaling import PROMETHEUS
from stacks.charts import chart_source
from stacks.dashboards import FIRST, deploy_dashboards
from stacks.monitoring_rules import monitoring_rules
from stacks.outside import outside_of
from stacks.platform import Platform
from stacks.services import Services

NAMESPACE, LOG_COLLECTOR = "monitoring", "fluent-bit"
SCHEDULER_LABELS, CONTROLLERS_LABELS = {"app": "volcano-scheduler"}, {"app": "volcano-controller"}
"""Of the chart's Services."""


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What a person is told: lines of the stack's output `monitoring`."""

    lines: dict[str, object]


def deploy_monitoring(plan: Plan, platform: Platform, services: Services, config: pulumi.Config) -> Watched | None:
    """Register it; nothing without the section. A receiver needs the secret that it names."""
    wanted = plan.monitoring
    if wanted is None:
        return None
    layer = Monitoring("monitoring", pulumi.ResourceOptions(providers=list(platform.providers)))
    inside = pulumi.ResourceOptions(parent=layer)
    namespace = services.namespaces[NAMESPACE]
    kept = {each.name: each.secret for each in wanted.receivers if outside_of(services.outside, each.secret)}
    source = chart_source(versions.KUBE_PROMETHEUS_STACK, plan.supply)
    args = MonitoringStackArgs(
        source=source,
        namespace=namespace,
        cluster=platform.cluster.name,
        storage_class=platform.block,
        prometheus=_prometheus(wanted),
        requests=_requests(wanted),
        receivers=[_receiver(each) for each in wanted.receivers],
        secrets={each.name: config.require_secret(each.secret) for each in wanted.receivers if each.name not in kept},
        outside=_outside(services, kept),
        default_rules=default_rules(),
        control_plane=platform.watching.control_plane,
        counters=platform.watching.counters,
        after=services.monitors,
        pages=plan.gateway.people.hostnames("grafana") if plan.gateway and plan.gateway.people else (),
    )
    MonitoringStack("monitoring-stack", args, inside)
    deploy_dashboards(plan, namespace, inside)
    monitoring_rules(plan, wanted.alerts, namespace, platform.watching, after=services.monitors, opts=inside)
    if wanted.isolation:
        isolation = IsolationArgs(
            namespace=namespace,
            image=plan.supply.image(versions.PYTHON_IMAGE),
            files=isolation_files(),
            prometheus=PROMETHEUS,
            pools=wanted.isolation.pools,
            most=wanted.isolation.most,
            after=[platform.cluster.ready],
        )
        Isolation("isolation", isolation, inside)
    targets = [
        Target(name="volcano-scheduler", namespace=services.namespaces["volcano-system"], labels=SCHEDULER_LABELS),
        Target(name="volcano-controllers", namespace=services.namespaces["volcano-system"], labels=CONTROLLERS_LABELS),
        Target(name="training-operator", namespace=services.namespaces["kubeflow"], labels=TRAINING_OPERATOR_LABELS),
        *platform.watching.targets,
    ]
    readers = (platform.watching.sensors, platform.watching.files)
    targets += [each.watch(namespace=namespace, opts=inside) for each in readers if each]
    Monitors("monitors", MonitorsArgs(targets=targets, every_s=wanted.scrape_s, after=services.monitors), inside)
    sink = platform.watching.logs.sink(
        "pod-logs", namespace=namespace, account=LOG_COLLECTOR, days=wanted.log_days, opts=inside
    )
    collector = ChartArgs(
        source=chart_source(versions.FLUENT_BIT, plan.supply),
        namespace=namespace,
        values=fluent_bit_values(
            sink.account,
            sink.outputs,
            _request(wanted.requests.log_collector),
            every_s=wanted.scrape_s,
            audit=platform.watching.audit,
        ),
        after=[platform.cluster.ready, services.monitors],
    )
    Chart("log-collector", collector, inside)
    forward = f"kubectl port-forward --namespace {NAMESPACE} service/{source.name}"
    return Watched(
        lines={
            "prometheus": f"{forward}-prometheus 9090",
            "alertmanager": f"{forward}-alertmanager 9093",
            "grafana": f"{forward}-grafana 3000:80",
            "dashboards": address(FIRST),
            "grafanaPassword": f"kubectl get secret --namespace {NAMESPACE} {source.name}-grafana "
            "--output jsonpath='{.data.admin-password}' | base64 --decode",
            "logs": sink.read,
        }
    )


def _outside(services: Services, kept: Mapping[str, str]) -> pulumi.Output[str] | None:
    """The files of receivers whose secrets are kept outside, which Alertmanager reads each time it tells somebody."""
    if services.outside is None or not kept:
        return None
    return services.outside.secret("receivers", namespace=NAMESPACE, secret=OUTSIDE, values=kept)


def _prometheus(wanted: MonitoringPlan) -> Prometheus:
    return Prometheus(
        retention_days=wanted.retention_days,
        disk_gib=wanted.disk_gib,
        retention_size_gib=wanted.retention_size_gib,
        alerts_disk_gib=wanted.alerts_disk_gib,
        scrape_s=wanted.scrape_s,
    )


def _request(planned: PodRequest) -> Request:
    return Request(cpu_millicores=planned.cpu_millicores, memory_mib=planned.memory_mib)


def _requests(wanted: MonitoringPlan) -> Requests:
    asked = wanted.requests
    return Requests(
        prometheus=_request(asked.prometheus),
        alertmanager=_request(asked.alertmanager),
        grafana=_request(asked.grafana),
        dashboard_loader=_request(asked.dashboard_loader),
        state_metrics=_request(asked.state_metrics),
        operator=_request(asked.operator),
        reloader=_request(asked.reloader),
        node_exporter=_request(asked.node_exporter),
        fabric_counters=_request(asked.fabric_counters),
    )


def _receiver(planned: Told) -> Receiver:
    return Receiver(
        name=planned.name,
        kind=planned.kind,
        at_least=planned.at_least,
        channel=planned.channel,
        mail=Mail(**planned.mail.model_dump()) if planned.mail else None,
    )
