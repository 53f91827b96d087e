"""What stands in the racks, as the room sees it: units, watts and power cords."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from catalogue.metal_types import Cooling, PowerSupplies, Server, StorageServer
from catalogue.network_types import Switch

_CORDS = 2
"""Power cords of a switch or a storage server, one for each feed."""


class Kind(StrEnum):
    """What a machine is for. `NODE` has GPUs; everything else is what the nodes need to be a cluster."""

    NODE = "node"
    STORAGE = "storage"
    SWITCH = "switch"
    CONTROL = "control"


@dataclass(frozen=True, kw_only=True)
class Machines:
    """`count` equal machines. `watts` is the most one of them draws, `gpu_watts` its GPUs' share of that."""

    name: str
    kind: Kind
    count: int
    rack_units: int
    watts: int
    gpu_watts: int = 0
    cords: int = _CORDS
    cooling: Cooling = Cooling.AIR
    supplies: PowerSupplies | None = None

    @property
    def kw(self) -> float:
        """Most that all of them draw."""
        return self.count * self.watts / 1000


def servers(name: str, server: Server, count: int) -> Machines:
    """The machines of a node pool."""
    return Machines(
        name=name,
        kind=Kind.NODE if server.gpu_count else Kind.CONTROL,
        count=count,
        rack_units=server.rack_units,
        watts=server.max_w,
        gpu_watts=server.gpu.tdp_w * server.gpu_count if server.gpu else 0,
        cords=server.power_supplies.count,
        cooling=server.cooling,
        supplies=server.power_supplies,
    )


def storage_servers(name: str, server: StorageServer, count: int) -> Machines:
    """The machines of one kind of storage server."""
    return Machines(name=name, kind=Kind.STORAGE, count=count, rack_units=server.rack_units, watts=server.max_w)


def switches(name: str, switch: Switch, count: int) -> Machines:
    """The switches of one kind."""
    return Machines(name=name, kind=Kind.SWITCH, count=count, rack_units=switch.rack_units, watts=switch.max_w)


def kw(machines: Iterable[Machines], *kinds: Kind) -> float:
    """Most that the machines of those kinds draw; of all kinds if none is named."""
    return sum(each.kw for each in machines if not kinds or each.kind in kinds)
