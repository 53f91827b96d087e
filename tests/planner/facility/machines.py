"""Machines for the tests."""

from planner.facility.power import Kind, Machines


def nodes(count: int, watts: int = 10_200, rack_units: int = 8, cords: int = 6) -> Machines:
    """GPU nodes of the DGX H100's size unless told, with eight GPUs of 700 W."""
    return Machines(
        name="node", kind=Kind.NODE, count=count, rack_units=rack_units, watts=watts, gpu_watts=5600, cords=cords
    )


def others(count: int, watts: int = 1700, rack_units: int = 1, kind: Kind = Kind.SWITCH) -> Machines:
    """Switches of 1.7 kW unless told."""
    return Machines(name=str(kind), kind=kind, count=count, rack_units=rack_units, watts=watts)
