"""The plan's machines: the control plane one after the other, then the pools, each beside the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components.layers import HardwarePool, KubePlatform
from components.metal.bundle import bundle
from components.metal.credentials import Credentials, CredentialsArgs
from components.metal.host import Host, HostArgs, Login
from components.metal.pool import Overseer, Pool, PoolArgs
from planner.metal_types import MetalPlan
from planner.site import HostPlan, SitePlan
from stacks.metal_fabric import place_labels
from stacks.metal_joining import Known
from stacks.metal_lustre import in_order
from stacks.metal_variables import concerns, variables


@dataclass(frozen=True, kw_only=True)
class Machines:
    """What reaches the machines: the site's plan, who logs in, the cluster's name and key, and the password at the
    mirror, if it asks for one.
    """

    plan: MetalPlan
    site: SitePlan
    cluster: str
    login: Login
    key: pulumi.Output[str]
    registry_password: pulumi.Output[str] | None = None

    @property
    def overseer(self) -> Overseer:
        """The machine that the control plane began on."""
        first = self.site.control_plane[0]
        return Overseer(login=self.login, address=first.address, host_key=first.host_key)

    def args(
        self, host: HostPlan, discovery: pulumi.Output[str] | None = None, after: Sequence[pulumi.Resource] = ()
    ) -> HostArgs:
        """A machine's preparation."""
        known = Known(key=self.key, discovery=discovery, registry_password=self.registry_password)
        told = variables(self.plan, self.site, host, self.cluster, known)
        names = concerns(self.plan, self.site, host)
        return HostArgs(
            login=self.login,
            address=host.address,
            host_key=host.host_key,
            text=pulumi.Output.all(**told).apply(lambda values: bundle(values, names)),
            after=after,
        )


@dataclass(frozen=True, kw_only=True)
class ControlPlane:
    """The control plane. `nodes` are its machines, by name, each there when it has joined."""

    credentials: Credentials
    nodes: Mapping[str, pulumi.Resource]


@dataclass(frozen=True, kw_only=True)
class FileServers:
    """Machines that serve files and are no nodes: the last ones of Lustre, and that of homes."""

    files: Sequence[pulumi.Resource]
    home: pulumi.Resource | None


def file_servers(machines: Machines, hardware: HardwarePool) -> FileServers:
    """The machines of Lustre in their order, and that of homes. Without targets to serve none waits for another."""
    inside, before = pulumi.ResourceOptions(parent=hardware), list[pulumi.Resource]()
    for step in in_order(machines.site):
        before = [Host(f"host-{host.name}", machines.args(host, after=before), inside).prepared for host in step]
    home: pulumi.Resource | None = None
    ordered = [host for step in in_order(machines.site) for host in step]
    for host in machines.site.hosts:
        if host.storage and host not in machines.site.nodes and host not in ordered:
            made = Host(f"host-{host.name}", machines.args(host), inside).prepared
            home = made if host.storage == "nfs" else home
    return FileServers(files=before, home=home)


def control_plane(machines: Machines, kube: KubePlatform, files: Sequence[pulumi.Resource] = ()) -> ControlPlane:
    """The first machine makes the cluster; the others join it one by one, since etcd takes one member at a time.

    `files` are servers of what every node mounts.

    Source: etcd documentation, "Runtime reconfiguration": a change of membership needs a healthy majority.
    """
    inside = pulumi.ResourceOptions(parent=kube)
    first, *others = machines.site.control_plane
    made = Host(f"host-{first.name}", machines.args(first, after=files), inside).prepared
    credentials = Credentials(
        "credentials",
        CredentialsArgs(login=machines.login, address=first.address, host_key=first.host_key, after=[made]),
        inside,
    )
    nodes: dict[str, pulumi.Resource] = {first.name: made}
    before: pulumi.Resource = made
    for host in others:
        args = machines.args(host, credentials.discovery, after=[before])
        before = nodes[host.name] = Host(f"host-{host.name}", args, inside).prepared
    return ControlPlane(credentials=credentials, nodes=nodes)


def pools(
    machines: Machines, control: ControlPlane, network: pulumi.Resource, hardware: HardwarePool
) -> Mapping[str, Pool]:
    """The pools by name."""
    inside = pulumi.ResourceOptions(parent=hardware)
    joined = list(control.nodes.values())

    def args(name: str) -> PoolArgs:
        here = machines.site.of_pool(name)
        return PoolArgs(
            hosts={
                host.name: machines.args(host, control.credentials.discovery, after=joined)
                for host in here
                if not host.control_plane
            },
            overseer=machines.overseer,
            network=network,
            standing={host.name: control.nodes[host.name] for host in here if host.control_plane},
            labels={host.name: place_labels(machines.plan, host) for host in here},
        )

    return {name: Pool(f"pool-{name}", args(name), inside) for name in machines.plan.of_kubernetes.pools}


def storage_nodes(machines: Machines, control: ControlPlane, network: pulumi.Resource, hardware: HardwarePool) -> Pool:
    """The machines of Ceph, nodes that are of no pool."""
    joined = list(control.nodes.values())
    args = PoolArgs(
        hosts={
            host.name: machines.args(host, control.credentials.discovery, after=joined)
            for host in machines.site.storage_nodes
        },
        overseer=machines.overseer,
        network=network,
        standing={},
    )
    return Pool("ceph-servers", args, pulumi.ResourceOptions(parent=hardware))
