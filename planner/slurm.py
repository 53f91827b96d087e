"""The machines of a stack as Slurm shares them: hosts, partitions, accounts and shares, in numbers and names alone.

Slurm takes the training pools, or where there are no GPUs the machines beside the heads; inference stays with
Kubernetes. Nothing here is deployed: `make slurm` writes it down.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from catalogue.units import MIB_PER_GIB
from planner.metal_types import MetalPlan
from planner.pool_types import MetalPoolPlan
from planner.slurm_tree import SwitchPlan, tree
from settings.model import MetalSettings

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


@dataclass(frozen=True, kw_only=True)
class HeadPlan:
    """A machine and its address, None where only its name is known."""

    name: str
    address: str | None


@dataclass(frozen=True, kw_only=True)
class NodesPlan:
    """Equal machines of a pool. Memory in MiB: what slurmd finds at least, and what of it no job may have; cores count
    physical ones of a socket, `reserved_cores` those of the machine that no job may have. `links` are its RDMA ports.
    """

    pool: str
    hosts: tuple[HeadPlan, ...]
    sockets: int
    cores: int
    threads: int
    memory_mib: int
    reserved_mib: int
    reserved_cores: int
    gpu_type: str | None
    gpus: int
    links: int
    features: tuple[str, ...]

    @property
    def job_cpus(self) -> int:
        """Logical processors of a machine that jobs may have."""
        return (self.sockets * self.cores - self.reserved_cores) * self.threads

    @property
    def job_memory_mib(self) -> int:
        """Memory of a machine that jobs may have."""
        return self.memory_mib - self.reserved_mib


@dataclass(frozen=True, kw_only=True)
class AccountPlan:
    """A queue of the stack file: its share beside the others, and the GPUs that its jobs may hold, None for all.

    A limit of all GPUs would be none, but for this: jobs that wait at a limit preempt nobody, not even their account's.
    """

    name: str
    shares: int
    gpus: int | None


@dataclass(frozen=True, kw_only=True)
class WeightsPlan:
    """Parts of a job's priority."""

    age: int
    fair_share: int
    job_size: int
    partition: int
    qos: int


@dataclass(frozen=True, kw_only=True)
class SlurmPlan:
    """Slurm for one stack. `heads` are one or two controllers, the first in charge; `database` keeps the accounts.

    `max_minutes` and `max_jobs_per_user` are None without a limit. `grace_s` is what a job that has to go gets for its
    last save. `switches` are empty where there is no fabric. `interface` is the hosts' own, None if nobody named it.
    """

    heads: tuple[HeadPlan, ...]
    database: HeadPlan
    nodes: tuple[NodesPlan, ...]
    accounts: tuple[AccountPlan, ...]
    switches: tuple[SwitchPlan, ...]
    weights: WeightsPlan
    preempt: Literal["requeue", "cancel", "off"]
    max_minutes: int | None
    max_jobs_per_user: int | None
    half_life_days: int
    grace_s: int
    shared_path: str
    scratch_path: str
    nccl: Mapping[str, str]
    interface: str | None

    def of_pool(self, pool: str) -> NodesPlan | None:
        """The machines of a pool, None where Slurm has none of it."""
        return next((each for each in self.nodes if each.pool == pool), None)


class NoSlurmError(Exception):
    """The machines cannot be Slurm's; the message says why and what to do."""


def plan_slurm(settings: MetalSettings, plan: MetalPlan) -> SlurmPlan:
    """Raises NoSlurmError where nothing is left for jobs beside the heads."""
    wanted = settings.slurm
    system = [host for name, pool in plan.pools.items() if pool.role == "system" for host in _hosts(plan, name)]
    pools = [pool for pool in plan.pools.values() if pool.role == "training"]
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
        weights=WeightsPlan(**wanted.weights.model_dump()),
        preempt=wanted.preempt,
        max_minutes=ceil(wanted.max_hours * _MINUTES_PER_HOUR) if wanted.max_hours else None,
        max_jobs_per_user=wanted.max_jobs_per_user,
        half_life_days=wanted.half_life_days,
        grace_s=max([0, *(ceil(run.saving.within_s) for run in plan.runs.values() if run.saving)]),
        shared_path=wanted.shared_path,
        scratch_path=wanted.scratch_path,
        nccl={key: value for key, value in (plan.fabric.nccl if plan.fabric else {}).items() if key != _POD_INTERFACE},
        interface=next(iter(interfaces)) if len(interfaces) == 1 else None,
    )


def _database(system: Sequence[HeadPlan], pools: Sequence[MetalPoolPlan]) -> HeadPlan:
    """A third machine of its own where jobs leave one, else the first head."""
    return system[2] if len(system) > 2 and all(pool.role == "training" for pool in pools) else system[0]


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
