"""The machines of a stack as Slurm shares them, out of its plan.

Slurm takes the pools that the stack file names for it, else the training pools, or where there are no GPUs the machines
beside the heads; inference stays with Kubernetes. What the file names is deployed; all of it `make slurm` writes down.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil

from catalogue.units import MIB_PER_GIB
from planner.fabric.cabling import links
from planner.fabric.design import FabricDesign, Topology, names
from planner.fabric.plan import on_fabric
from planner.metal_types import MetalPlan
from planner.pool_types import MetalPoolPlan
from planner.slurm_types import AccountPlan, HeadPlan, NodesPlan, SlurmPlan, TreeSwitchPlan
from settings.model import MetalSettings


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


_KERNEL_PERMILLE = 40
"""Of a machine's memory that its operating system does not see: a sixty-fourth for the records of pages (Linux, struct
page), the rest for firmware and a crash kernel. slurmd refuses a node with less than slurm.conf says, so the figure is
the low one; `slurmd -C` tells the machine's own."""

_LEAST_RESERVE_MIB = 2048
_RESERVE_PERMILLE = 10
"""For the system and the client of the shared file system (assumed)."""

_CORES_WORTH_A_RESERVE = 16
"""Sockets of so many cores keep one for the system."""

_MINUTES_PER_HOUR = 60


class NoSlurmError(Exception):
    """The machines cannot be Slurm's; the message says why and what to do."""


def plan_slurm(settings: MetalSettings, plan: MetalPlan) -> SlurmPlan:
    """Raises NoSlurmError where nothing is left for jobs beside the heads."""
    wanted = settings.slurm
    system = [host for name, pool in plan.pools.items() if pool.role == "system" for host in _hosts(plan, name)]
    pools = [pool for pool in plan.pools.values() if pool.role == "training"]
    pools = [pool for pool in pools if pool.name in (wanted.pools or plan.pools)]
    heads = system[:2]
    if not heads:
        raise NoSlurmError("Slurm's controller has no machine: add a pool of role system")
    if not pools:
        heads = system[:1]
        pools = [pool for name, pool in plan.pools.items() if heads[0] not in _hosts(plan, name)]
    if not pools:
        raise NoSlurmError("no machine is left for Slurm's jobs: add a pool of role training")
    gpus = sum(pool.gpus for pool in pools)
    interfaces = {host.management_nic for host in plan.site.hosts if host.pool} if plan.site else set()
    return SlurmPlan(
        heads=tuple(heads),
        database=_database(system, pools),
        nodes=tuple(_nodes(plan, pool) for pool in pools),
        accounts=tuple(
            AccountPlan(name=each.name, shares=each.weight, gpus=each.gpus if each.gpus and each.gpus < gpus else None)
            for each in plan.queues
        ),
        switches=tree(plan, {pool.name: [host.name for host in _hosts(plan, pool.name)] for pool in pools}),
        weights=wanted.weights,
        **wanted.model_dump(include=_AS_SAID),
        max_minutes=ceil(wanted.max_hours * _MINUTES_PER_HOUR) if wanted.max_hours else None,
        grace_s=max([0, *(ceil(run.saving.last_s) for run in plan.runs.values() if run.saving)]),
        nccl={key: value for key, value in (plan.fabric.nccl if plan.fabric else {}).items() if key != _POD_INTERFACE},
        interface=next(iter(interfaces)) if len(interfaces) == 1 else None,
    )


def _database(system: Sequence[HeadPlan], pools: Sequence[MetalPoolPlan]) -> HeadPlan:
    """A third machine of its own where jobs leave one, else the first head."""
    return system[2] if len(system) > 2 and all(pool.role == "training" for pool in pools) else system[0]


_AS_SAID = {"preempt", "max_jobs_per_user", "half_life_days", "shared_path", "scratch_path"}
_POD_INTERFACE = "NCCL_SOCKET_IFNAME"
"""The fabric's value of it names a pod's interface, and jobs of Slurm run on the host's own network."""


def _hosts(plan: MetalPlan, pool: str) -> list[HeadPlan]:
    """A pool's machines by the inventory, or as the cable list calls them."""
    if plan.site:
        return [HeadPlan(name=host.name, address=host.address) for host in plan.site.of_pool(pool)]
    return [HeadPlan(name=f"{pool}-{number}", address=None) for number in range(plan.pools[pool].count)]


def _nodes(plan: MetalPlan, pool: MetalPoolPlan) -> NodesPlan:
    server, gpu = pool.server, pool.gpu
    memory = server.memory_gib * MIB_PER_GIB * (1000 - _KERNEL_PERMILLE) // 1000
    spare = server.cpu.sockets if server.cpu.cores >= _CORES_WORTH_A_RESERVE else 0
    features = [pool.name, f"{server.cooling}-cooled"]
    if gpu and gpu.nvlink_gpus > 1:
        features.append("nvlink")
    if plan.fabric and pool.rails:
        features.append(plan.fabric.kind)
    return NodesPlan(
        pool=pool.name,
        hosts=tuple(_hosts(plan, pool.name)),
        sockets=server.cpu.sockets,
        cores=server.cpu.cores,
        threads=server.cpu.threads_per_core,
        memory_mib=memory,
        reserved_mib=max(_LEAST_RESERVE_MIB, memory * _RESERVE_PERMILLE // 1000),
        reserved_cores=spare,
        gpu_type=detected(gpu.product, gpu.name) if gpu else None,
        gpus=pool.gpus_per_node,
        links=pool.rails if plan.fabric and plan.fabric.kind != "ethernet" else 0,
        features=tuple(features),
    )


def detected(product: str, name: str) -> str:
    """A GPU's type for slurm.conf: part of what AutoDetect calls it, which is the driver's name in small letters with
    `_` for blanks (Slurm documentation, gres.conf, AutoDetect). H100 is h100, of nvidia_h100_80gb_hbm3.

    The row's own name where it is such a part, else all that the driver says.
    """
    whole, short = (text.lower().replace(" ", "_").replace("-", "_") for text in (product, name))
    return short if short in whole else whole
