"""Fabrics to look at."""

from planner.fabric.design import Demand, FabricDesign, Topology, Wiring
from planner.fabric.topology import design

RAILS, LEAF_SPINE, SINGLE = Topology.RAIL_OPTIMISED, Topology.LEAF_SPINE, Topology.SINGLE


def built(
    nodes: int,
    ports: int,
    topology: Topology | None = RAILS,
    *,
    rails: int = 8,
    wiring: Wiring | None = None,
    storage: int = 0,
    manager: int = 0,
    spare: int = 0,
    oversubscription: float = 1,
) -> FabricDesign:
    """A fabric that fits."""
    demand = Demand(nodes=nodes, rails=rails, storage_ports=storage, manager_ports=manager, spare_leaf_ports=spare)
    made = design(demand, ports, topology=topology, wiring=wiring, oversubscription=oversubscription)
    assert made is not None
    return made


def counts(made: FabricDesign) -> tuple[int, ...]:
    """Leaves, spines, cores; cables to nodes, between leaves and spines, between spines and cores."""
    return made.leaves, made.spines, made.cores, made.node_cables, made.leaf_spine_cables, made.spine_core_cables
