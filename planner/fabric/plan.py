"""The fabric of a stack: what its settings ask for, and the numbers that come of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal

from catalogue.network_types import NicGroup, NicRole, Switch, of_role
from planner.fabric import nccl
from planner.fabric.cabling import Optics, optics
from planner.fabric.design import Demand, Topology, bisection_gbit_per_s, injection_gbit_per_s, oversubscription
from planner.fabric.ports import Radix, radix
from planner.fabric.topology import Growth, grown
from planner.pool_types import MetalPoolPlan
from settings.metal import FabricSection

_NOT_HOSTS = 2
"""Addresses of a network that no host has: its own, and the broadcast."""


def rail_prefix(nodes: int) -> int:
    """The longest prefix of a network in which every node has a host address."""
    return 32 - (nodes + _NOT_HOSTS - 1).bit_length()


def rail_networks(cidr: str, rails: int, nodes: int) -> tuple[IPv4Network, ...] | None:
    """A network for each rail, carved from `cidr` in order, each with a host address for every node.

    Ports of one host that share a network answer for each other, so RoCE keeps rails apart. None if `cidr` is too
    small.
    """
    whole, prefix = IPv4Network(cidr), rail_prefix(nodes)
    if prefix < whole.prefixlen or 1 << (prefix - whole.prefixlen) < rails:
        return None
    networks = whole.subnets(new_prefix=prefix)
    return tuple(next(networks) for _ in range(rails))


def prefix_for_rails(rails: int, nodes: int) -> int:
    """The longest prefix of a range that holds a network for each rail."""
    return rail_prefix(nodes) - (rails - 1).bit_length()


@dataclass(frozen=True, kw_only=True)
class PodPorts:
    """How pods get ports of their own: themselves (`hostDevice`), or a virtual function of each (`sriov`).

    `per_port` pods of a node can have one of a port at once. `networks` are the addresses of pods on each port, in rail
    order, of which a node has `per_port`; there are none where the range is too small for them.
    """

    mode: Literal["sriov", "hostDevice"]
    per_port: int
    networks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FabricPlan:
    """The fabric as it is bought and as it grows. Rates in Gb/s one way, of all nodes on the first day.

    `oversubscription` is that of the ports in use. `nccl` are the variables of a job over several nodes. `pod_ports` is
    None where pods share all ports of their node. Interfaces of compute ports have an `mtu` of so many bytes, None
    where they keep what they have.
    """

    kind: Literal["infiniband", "roce", "ethernet"]
    switch: Switch
    cards: NicGroup
    radix: Radix
    growth: Growth
    injection_gbit_per_s: int
    bisection_gbit_per_s: float
    oversubscription: float
    optics: Optics
    rail_networks: tuple[str, ...]
    nccl: Mapping[str, str]
    pod_ports: PodPorts | None
    mtu: int | None = None


UFM_PORTS = 4
"""Ports of a pair of UFM appliances (NVIDIA DGX SuperPOD reference architecture, compute fabric). The subnet manager
of a switch, and opensm on nodes that are on the fabric anyway, take none."""

PLANES = {False: 1, True: 2}
"""Planes by `redundant`: with two, every card has a port in each, and any switch may fail."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the settings ask of the fabric. `cards` is the (first) compute group of the server with the most rails,
    `hcas` the RDMA devices of all its compute cards in rail order, empty where they are not all known."""

    switch: Switch
    cards: NicGroup
    hcas: tuple[str, ...]
    radix: Radix
    demand: Demand
    most: int
    topology: Topology | None
    oversubscription: float
    planes: int

    @property
    def ports(self) -> int:
        """Compute ports of the widest node, in all planes."""
        return self.demand.rails * self.planes

    def growth(self, *, added: bool = True) -> Growth | None:
        """The fabric now and at its maximum, or if nothing were `added`; None where the topology cannot hold it."""
        return grown(
            self.demand,
            self.radix.ports,
            max_nodes=self.most if added else None,
            topology=self.topology,
            oversubscription=self.oversubscription,
            planes=self.planes,
        )


def plan_fabric(
    section: FabricSection, pools: Mapping[str, MetalPoolPlan], switches: Mapping[str, Switch]
) -> FabricPlan | None:
    """The compute fabric of the training pools, None where there is none or it cannot be built (a finding says why)."""
    ask = asked(section, pools, switches)
    growth = ask.growth() if ask else None
    if ask is None or growth is None:
        return None
    day_one, rate = growth.day_one, ask.cards.nic.gbit_per_s
    networks = rail_networks(section.rail_cidr, ask.demand.rails, ask.most) if section.rail_cidr else None
    return FabricPlan(
        kind=section.kind,
        switch=ask.switch,
        cards=ask.cards,
        radix=ask.radix,
        growth=growth,
        injection_gbit_per_s=injection_gbit_per_s(day_one, rate),
        bisection_gbit_per_s=bisection_gbit_per_s(day_one, rate, ask.radix.gbit_per_s),
        oversubscription=oversubscription(day_one),
        optics=optics(
            day_one,
            switch_ports_per_cage=ask.radix.ports_per_cage,
            node_ports_per_cage=ask.cards.ports_per_cage,
        ),
        rail_networks=tuple(map(str, networks or ())),
        nccl=_variables(section, ask, day_one.topology),
        pod_ports=_pod_ports(section, ask),
        mtu=section.mtu,
    )


def per_port(section: FabricSection) -> int:
    """Pods of a node that can have one of a port at once, where they do not share it."""
    return section.vfs_per_port if section.pod_devices == "sriov" else 1


def _pod_ports(section: FabricSection, ask: Asked) -> PodPorts | None:
    if section.pod_devices == "sharedDevice":
        return None
    count = per_port(section)
    networks = rail_networks(section.rail_cidr, ask.ports, ask.most * count) if section.rail_cidr else None
    return PodPorts(mode=section.pod_devices, per_port=count, networks=tuple(map(str, networks or ())))


def joins(pool: MetalPoolPlan) -> bool:
    """Whether the pool's nodes join the compute fabric: those for training do. A service's replica lives on one."""
    return pool.role == "training" and pool.rails > 0


def on_fabric(pools: Iterable[MetalPoolPlan]) -> list[MetalPoolPlan]:
    """Pools whose nodes join the compute fabric."""
    return [pool for pool in pools if joins(pool)]


def asked(section: FabricSection, pools: Mapping[str, MetalPoolPlan], switches: Mapping[str, Switch]) -> Asked | None:
    """What to build, None without a known switch or without nodes that join. Nodes with fewer rails count as full."""
    joining, switch = on_fabric(pools.values()), switches.get(section.switch)
    if not joining or switch is None:
        return None
    widest = max(joining, key=lambda pool: pool.rails)
    groups = compute_cards(widest)
    planes = PLANES[section.redundant]
    return Asked(
        switch=switch,
        cards=groups[0],
        hcas=tuple(name for group in groups for name in group.hcas) if all(group.hcas for group in groups) else (),
        radix=radix(switch, groups[0].nic),
        demand=Demand(
            nodes=sum(pool.count for pool in joining),
            rails=max(1, widest.rails // planes),
            storage_ports=section.storage_ports,
            manager_ports=UFM_PORTS if section.subnet_manager == "ufm" else 0,
            spare_leaf_ports=section.spare_leaf_ports,
        ),
        most=sum(pool.most for pool in joining),
        topology=None if section.topology == "auto" else Topology(section.topology),
        oversubscription=section.oversubscription,
        planes=planes,
    )


def compute_cards(pool: MetalPoolPlan) -> tuple[NicGroup, ...]:
    """The groups of cards of a pool's server that are rails of the fabric."""
    return of_role(pool.server.nics, NicRole.COMPUTE)


def _variables(section: FabricSection, ask: Asked, topology: Topology) -> dict[str, str]:
    # A pod sees its virtual functions alone, under names that the kernel gives them.
    devices = ask.hcas if section.pod_devices != "sriov" else ()
    # Nobody routes between the networks of pods' ports on RoCE: each rail is one.
    apart = section.kind == "roce" and section.pod_devices != "sharedDevice"
    rails = topology is Topology.RAIL_OPTIMISED or apart
    return nccl.variables(section.kind, devices, rails=rails, sharp=section.sharp)
