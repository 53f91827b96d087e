"""Monitoring of an on-premises cluster: logs go to the site's Loki, and the control plane is scraped."""

from dataclasses import dataclass

import pulumi

from catalogue.supply import Supply
from catalogue.versions import PYTHON_IMAGE
from components.metal.kubeadm import AUDIT_LOGS
from components.metal.rook import NAMESPACE
from components.metal.sensors import LABELS, NAME, Controller, Sensors, SensorsArgs, sensors_files
from components.monitoring.monitors import Target
from monitoring.limits import MachineLimits
from planner.metal_types import MetalPlan
from planner.monitoring.types import watches_files
from planner.said import Controllers, Loki
from planner.said import Sensors as Asked
from planner.site import SitePlan
from stacks.metal_lustre import RATES_PORT, in_order
from stacks.platform import Watching
from stacks.platform_services import LogSink

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

    loki: Loki | None

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


@dataclass(frozen=True, kw_only=True)
class ControllerSensors:
    """The controllers of the site's nodes, which a pod on the control plane's machines asks."""

    site: SitePlan
    controllers: Controllers
    sensors: Asked
    password: pulumi.Output[str]
    image: str
    after: pulumi.Resource

    def watch(self, *, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions) -> Target:
        """Ask the controller of every machine that has one, storage servers too."""
        args = SensorsArgs(
            namespace=namespace,
            image=self.image,
            files=sensors_files(),
            controllers=[
                Controller(
                    node=host.name,
                    address=host.bmc,
                    port=self.controllers.port,
                    fingerprint=host.bmc_fingerprint,
                )
                for host in self.site.hosts
                if host.bmc is not None
            ],
            authority=self.controllers.authority,
            user=self.sensors.user,
            password=self.password,
            after=[self.after],
        )
        Sensors("sensors", args, opts)
        return Target(name=NAME, namespace=namespace, labels=LABELS)


@dataclass(frozen=True, kw_only=True)
class LustreServers:
    """The site's, which tell by themselves what their targets do."""

    site: SitePlan

    def watch(self, *, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions) -> Target:  # noqa: ARG002
        """Where Lustre's servers tell their rates; nothing is made in the cluster."""
        servers = [f"{host.address}:{RATES_PORT}" for step in in_order(self.site) for host in step]
        return Target(name="lustre", namespace=namespace, machines=servers)


def sensors(site: SitePlan, supply: Supply, config: pulumi.Config, after: pulumi.Resource) -> ControllerSensors | None:
    """What reads them, None where the stack file does not ask for it. `config` has the password."""
    asked = site.controllers
    if asked is None or asked.sensors is None:
        return None
    return ControllerSensors(
        site=site,
        controllers=asked,
        sensors=asked.sensors,
        password=config.require_secret(asked.sensors.secret),
        image=supply.image(PYTHON_IMAGE),
        after=after,
    )


def machines(plan: MetalPlan, site: SitePlan) -> list[MachineLimits]:
    """The limits of machines, of pools whose controllers are asked."""
    if site.controllers is None or site.controllers.sensors is None:
        return []
    return [
        MachineLimits(pool=name, power_supplies=pool.server.power_supplies.count, inlet_c=pool.server.inlet_c)
        for name, pool in plan.pools.items()
        if any(host.bmc for host in site.of_pool(name))
    ]


def watching(plan: MetalPlan, site: SitePlan, read: ControllerSensors | None) -> Watching:
    """kubeadm's parts answer at their nodes' addresses, as its configuration says; Cilium stands in for proxies. What
    the API server writes of who did what goes to the site's Loki with the other logs, which outlives the machines.
    Servers of Lustre tell what they do where the stack file asks for it.
    """
    return Watching(
        control_plane=("etcd", "controller-manager", "scheduler"),
        logs=SiteLogs(loki=site.logs),
        audit=f"{AUDIT_LOGS}/*.log",
        targets=[CEPH] if site.ceph else [],
        sensors=read,
        files=LustreServers(site=site) if watches_files(plan.monitoring) else None,
        machines=machines(plan, site),
    )
