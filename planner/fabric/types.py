"""The compute fabric of a stack in numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from catalogue.network_types import NicGroup, Switch
from planner.fabric.optics import Optics
from planner.fabric.ports import Radix
from planner.fabric.topology import Growth


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
    None where pods share all ports of their node.
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
