"""Slurm on machines of the stack, in the order in which its daemons begin."""

from collections.abc import Mapping, Sequence

import pulumi

from components.layers import HardwarePool
from components.metal.bundle import bundle, chosen
from components.metal.host import Host, HostArgs
from components.metal.pool import Pool
from planner.site import HostPlan
from planner.slurm_types import SlurmPlan
from stacks.metal_machines import Machines
from stacks.metal_slurm_node import roles, variables
from stacks.metal_variables import packaged

APART = "slurm"
"""Nodes of the cluster have a bundle already, which is undone by itself; so is this one, where Slurm goes."""


def deploy_slurm(
    machines: Machines, nodes: Mapping[str, Pool], files: Sequence[pulumi.Resource], hardware: HardwarePool
) -> None:
    """The database, then the controllers one after the other, on nodes of system pools (`nodes`, by the pool's name);
    then the machines that register with them. `files` are servers of what every machine mounts.
    """
    slurm = machines.plan.slurm
    if slurm is None:
        return
    inside = pulumi.ResourceOptions(parent=hardware)
    there = {host.name: host for host in machines.site.nodes}
    before: Sequence[pulumi.Resource] = ()
    for name in dict.fromkeys((slurm.database.name, *(head.name for head in slurm.heads))):
        host = there[name]
        after = [*before, *([nodes[host.pool].nodes] if host.pool else [])]
        before = [Host(f"slurm-{name}", _beside(machines, slurm, host, after), inside).prepared]
    for host in machines.site.slurm_nodes:
        Host(f"host-{host.name}", machines.args(host, after=[*before, *files]), inside)


def _beside(machines: Machines, slurm: SlurmPlan, host: HostPlan, after: Sequence[pulumi.Resource]) -> HostArgs:
    """What a node of the cluster is told as a machine of Slurm."""
    its = roles(slurm, host)
    told = packaged(machines.plan, its.packages) | variables(machines.plan, slurm, host, machines.key)
    names = chosen("packages", *its.concerns)
    return HostArgs(
        login=machines.login,
        address=host.address,
        host_key=host.host_key,
        text=pulumi.Output.all(**told).apply(lambda values: bundle(values, names, apart=APART)),
        after=after,
    )
