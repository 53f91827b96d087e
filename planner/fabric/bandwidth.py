"""What a fabric carries, in Gb/s one way, and what is left of it when a switch fails."""

from catalogue.units import gbyte_per_s
from planner.fabric.design import FabricDesign


def injection_gbit_per_s(design: FabricDesign, nic_gbit_per_s: int) -> int:
    """What all nodes' cards can send at once."""
    return design.planes * design.demand.node_ports * nic_gbit_per_s


def bisection_gbit_per_s(design: FabricDesign, nic_gbit_per_s: int, switch_gbit_per_s: int) -> float:
    """What half of the nodes can send to the other half: half of what each leaf's cards send or its wired uplinks
    carry, whichever is less; free uplinks of one leaf help no other. With an oversubscription of r it is the
    injection / 2r."""
    sent = injection_gbit_per_s(design, nic_gbit_per_s)
    if not design.spines:
        return sent / 2
    leaves = zip(design.leaf_loads(), design.leaf_uplinks(), strict=True)
    carried = design.planes * sum(min(load * nic_gbit_per_s, up * switch_gbit_per_s) for load, up in leaves)
    return min(sent, carried) / 2


def oversubscription(design: FabricDesign) -> float:
    """Used ports down to wired ports up of the leaf where it is worst; 1 on a single switch."""
    pairs = zip(design.leaf_loads(), design.leaf_uplinks(), strict=True)
    return max((down / up for down, up in pairs if up), default=1.0)


def node_gbyte_per_s(rails: int, nic_gbit_per_s: int) -> float:
    """GB/s one way between a node and the fabric: 8 x 400 Gb/s are 400, 1 x 200 Gb/s are 25."""
    return gbyte_per_s(rails * nic_gbit_per_s)
