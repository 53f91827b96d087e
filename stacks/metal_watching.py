"""What watching an on-premises cluster takes: Loki of the site keeps its logs, and its control plane is looked at."""

from dataclasses import dataclass

import pulumi

from components.metal.kubeadm import AUDIT_LOGS
from components.metal.rook import NAMESPACE
from components.monitoring.monitors import Target
from planner.site import LokiPlan, SitePlan
from stacks.platform import LogSink, Watching

OUTPUT = """[OUTPUT]
    Name loki
    Match *
    Host {host}
    Port {port}
    Labels job=fluent-bit, cluster={cluster}, node=${{NODE_NAME}}
    Auto_Kubernetes_Labels off
    Line_Format json
    Retry_Limit 10
"""
"""Source: Fluent Bit manual, outputs, loki."""


@dataclass(frozen=True, kw_only=True)
class SiteLogs:
    """Loki, which keeps logs as long as its own retention says; who sends them needs no rights there."""

    loki: LokiPlan | None

    def sink(
        self,
        name: str,  # noqa: ARG002 - nothing is made in the cluster
        *,
        namespace: pulumi.Input[str],  # noqa: ARG002
        account: str,
        days: int,  # noqa: ARG002
        opts: pulumi.ResourceOptions,  # noqa: ARG002
    ) -> LogSink:
        """Raises ValueError without one: the plan is refused before."""
        if self.loki is None:
            raise ValueError("no Loki is named")
        cluster = f"{pulumi.get_project()}-{pulumi.get_stack()}"
        told = OUTPUT.format(host=self.loki.host, port=self.loki.port, cluster=cluster)
        read = f"logcli --addr=http://{self.loki.host}:{self.loki.port} query '{{cluster=\"{cluster}\"}}' --tail"
        return LogSink(outputs=told, account=pulumi.Output.from_input(account), read=read)


CEPH = Target(name="ceph", namespace=NAMESPACE, labels={"app": "rook-ceph-mgr"}, port="http-metrics")
"""Rook documentation, "Prometheus Monitoring": the manager's Service. Rook would make a monitor of it by itself, and
stop where its definition is not there yet."""


def watching(site: SitePlan) -> Watching:
    """kubeadm's parts answer at their nodes' addresses, as its configuration says; Cilium stands in for proxies. What
    the API server writes of who did what goes to the site's Loki with the other logs, which outlives the machines.
    """
    return Watching(
        control_plane=("etcd", "controller-manager", "scheduler"),
        logs=SiteLogs(loki=site.logs),
        audit=f"{AUDIT_LOGS}/*.log",
        targets=[CEPH] if site.ceph else [],
    )
