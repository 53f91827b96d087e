"""The fabric that a cable list plugs: the rows that a person is given (`make plan TABLE=cables`), with devices that say
what their makers have them say.

Sources: NVIDIA, DGX A100 and DGX H100/H200 user guides, network ports (devices of the compute cards); QM8700 and QM9700
user manuals (ports, and that of the aggregation node behind the last); rdma-ndd(8) for what cards say.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO

from tests.rehearsed.fabric.net import Device, Net, Plug, of


@dataclass(frozen=True)
class Model:
    """A switch's model on the fabric, its ports, how many of them share a cage, and the speed of a lane."""

    says: str
    ports: int
    per_cage: int
    speed: str


SWITCHES: Mapping[str, Model] = {"QM8700": Model("MQM8700", 40, 1, "HDR"), "QM9700": Model("MQM9700", 64, 2, "NDR")}
RAILS: Mapping[str, tuple[int, ...]] = {"DGX A100": (0, 1, 2, 3, 6, 7, 8, 9), "DGX H100": (0, 3, 4, 5, 6, 9, 10, 11)}
"""Numbers of the RDMA devices of compute cards, in the order of the GPUs."""
AGGREGATION = "Mellanox Technologies Aggregation Node"
_OF_THE_FABRIC = ("node-leaf", "leaf-spine", "spine-core")
_BESIDE = ("storage-leaf", "storage-spine", "storage-core", "management-")
"""How switches of the other networks, whose cables are in the list as well, are called."""
_CAGE = re.compile(r"(\d+)(?:/(\d+))?")


def plugged(cable_list: str, *, switch: str, server: str) -> Net:
    """The fabric of a list of cables, all of which are where it says."""
    model, rails = SWITCHES[switch], RAILS[server]
    devices: dict[str, Device] = {}
    plugs: list[Plug] = []

    def card(name: str, says: str) -> str:
        devices[name] = Device(name, says)
        return name

    def switch_named(name: str) -> str:
        if name not in devices:
            devices[name] = Device(name, f"MF0;{name}:{model.says}/U1", ports=model.ports + 1, switch=True)
            behind = card(f"{name}-sharp", AGGREGATION)
            plugs.append(Plug(behind, 1, name, model.ports + 1, 4, model.speed))
        return name

    for span, low, low_port, high, high_port, *_ in list(csv.reader(StringIO(cable_list)))[1:]:
        if span not in _OF_THE_FABRIC or high.startswith(_BESIDE):
            continue
        above = switch_named(high), _port(high_port, model)
        if span == "node-leaf":
            number = int(low_port.removeprefix("card "))
            below = card(f"{low}-card-{number}", f"{low} mlx5_{rails[number]}"), 1
        else:
            below = switch_named(low), _port(low_port, model)
        plugs.append(Plug(*below, *above, 4, model.speed))
    return of(plugs, devices.values())


def _port(written: str, model: Model) -> int:
    """The number that a port has on the fabric, of what stands on the switch."""
    cage = _CAGE.fullmatch(written)
    if cage is None:
        raise ValueError(f"{written} is no port of a switch")
    return (int(cage[1]) - 1) * model.per_cage + int(cage[2] or 1)
