"""The machines of a stack as Slurm shares them: hosts, partitions, accounts and shares, in numbers and names alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from settings.slurm import PriorityWeights


@dataclass(frozen=True, kw_only=True)
class TreeSwitchPlan:
    """A switch of Slurm's tree: what is below it, machines or switches."""

    name: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


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
class SlurmPlan:
    """Slurm for one stack. `heads` are one or two controllers, the first in charge; `database` keeps the accounts.

    `max_minutes` and `max_jobs_per_user` are None without a limit. `grace_s` is what a job that has to go gets for its
    last save. `switches` are empty where there is no fabric. `interface` is the hosts' own, None if nobody named it.
    """

    heads: tuple[HeadPlan, ...]
    database: HeadPlan
    nodes: tuple[NodesPlan, ...]
    accounts: tuple[AccountPlan, ...]
    switches: tuple[TreeSwitchPlan, ...]
    weights: PriorityWeights
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

    def daemons(self, host: str, pool: str | None) -> tuple[str, ...]:
        """Units of systemd that run on a machine for Slurm; none on one that Slurm has not."""
        there = {
            "mariadb": host == self.database.name,
            "slurmdbd": host == self.database.name,
            "slurmctld": host in {head.name for head in self.heads},
            "slurmd": pool is not None and self.of_pool(pool) is not None,
        }
        return ("munge", *(unit for unit, runs in there.items() if runs)) if any(there.values()) else ()
