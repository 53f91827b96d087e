"""Which virtual machines stand for a stack's: a head, those that compute, and one with the shared files."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal

from planner.metal_types import MetalPlan
from settings.model import MetalSettings

Role = Literal["mgmt", "compute", "storage"]
MOST = 16
"""Virtual machines that one computer is asked to run."""

_CPUS = {"mgmt": 2, "compute": 2, "storage": 1}
_MEMORY_MIB = {"mgmt": 4096, "compute": 2048, "storage": 1024}
"""kubeadm asks for two processors and 1,700 MiB of a control plane (kubeadm documentation, Before you begin)."""

_FIRST = 10


class NoLabError(Exception):
    """The stack is none for virtual machines; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A virtual machine: its address on the network of the host alone, logical processors, and memory in MiB."""

    name: str
    role: Role
    address: str
    cpus: int
    memory_mib: int


def machines(settings: MetalSettings, plan: MetalPlan) -> tuple[Machine, ...]:
    """Storage first, as the others mount it. Names and addresses are the inventory's where there is one.

    Raises NoLabError for more than a computer has room for, and for a range that has too few addresses.
    """
    wanted = list(_wanted(plan))
    if len(wanted) > MOST:
        raise NoLabError(f"{len(wanted)} machines are more than a lab has ({MOST} at most): take preset lab-vm")
    free = IPv4Network(settings.platform.management_cidr)
    if free.num_addresses < _FIRST + MOST:
        raise NoLabError(f"{free} has too few addresses for a lab: give platform.managementCidr a /24")
    return tuple(
        Machine(
            name=name,
            role=role,
            address=address or str(free[_FIRST + number]),
            cpus=_CPUS[role],
            memory_mib=_MEMORY_MIB[role],
        )
        for number, (name, role, address) in enumerate(wanted)
    )


def _wanted(plan: MetalPlan) -> Iterator[tuple[str, Role, str | None]]:
    if plan.site:
        first = next((host.name for host in plan.site.hosts if host.pool), None)
        storage = [host for host in plan.site.hosts if host.storage]
        for host in [*storage[:1], *(host for host in plan.site.hosts if host.pool)]:
            yield host.name, "storage" if host.storage else "mgmt" if host.name == first else "compute", host.address
        return
    yield "storage-node", "storage", None
    yield "mgmt-node", "mgmt", None
    others = sum(pool.count for pool in plan.pools.values()) - 1
    for number in range(1, others + 1):
        yield f"compute-node-{number}", "compute", None
