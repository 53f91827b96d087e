"""The fabric as Slurm's tree plugin takes it: each machine below one switch, and switches below others.

On rails a machine is on as many leaves as it has cards, so that a group of leaves is one switch here. Pods are joined
by what is above them, which is one switch too: how many spines there are says nothing of how near two machines are.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from planner.fabric.cabling import links
from planner.fabric.design import FabricDesign, Topology, names
from planner.fabric.plan import on_fabric
from planner.metal_types import MetalPlan
from planner.slurm_types import TreeSwitchPlan


def tree(plan: MetalPlan, hosts: Mapping[str, Sequence[str]]) -> tuple[TreeSwitchPlan, ...]:
    """Leaves first; nothing without a fabric, or where machines are beside it, which the plugin would then not place.

    `hosts` are the names of Slurm's machines by pool.
    """
    joining = on_fabric(plan.pools.values())
    if plan.fabric is None or {pool.name for pool in joining} != set(hosts):
        return ()
    design = plan.fabric.growth.day_one
    named = names(design, nodes=[host for pool in joining for host in hosts[pool.name]])
    above: dict[str, list[str]] = {host: [] for host in named.nodes}
    for link in links(design, named):
        if link.low in above:
            above[link.low].append(link.high)
    leaves: dict[str, list[str]] = {}
    for host, its in above.items():
        leaves.setdefault(_place(design, its), []).append(host)
    found = [TreeSwitchPlan(name=name, nodes=tuple(below)) for name, below in leaves.items()]
    if len(found) == 1:
        return tuple(found)
    pods: dict[int, list[str]] = {}
    for number, each in enumerate(_pods(design, named.leaves, list(leaves))):
        pods.setdefault(each, []).append(found[number].name)
    tops = [TreeSwitchPlan(name=f"pod-{pod + 1}", switches=tuple(below)) for pod, below in pods.items()]
    if len(tops) == 1:
        return (*found, TreeSwitchPlan(name="spines", switches=tops[0].switches))
    return (*found, *tops, TreeSwitchPlan(name="cores", switches=tuple(top.name for top in tops)))


def _place(design: FabricDesign, above: Sequence[str]) -> str:
    """The switch that a machine with cards on these leaves is below: most of them, or their group of rails."""
    if design.topology is Topology.RAIL_OPTIMISED:
        return f"rails-{above[0].rpartition('-')[2]}"
    return max(Counter(above).items(), key=lambda each: each[1])[0]


def _pods(design: FabricDesign, leaves: Sequence[str], groups: Sequence[str]) -> list[int]:
    """The pod of each switch of the lowest layer."""
    at = {leaf: index // design.leaves_per_pod for index, leaf in enumerate(leaves)}
    if design.topology is Topology.RAIL_OPTIMISED:
        at = {f"rails-{leaf.rpartition('-')[2]}": pod for leaf, pod in at.items()}
    return [at[group] for group in groups]
