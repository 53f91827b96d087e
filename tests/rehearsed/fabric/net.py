"""A fabric as ibsim reads it: each device with its ports, and each cable from both ends.

Source: ibsim 0.10, net-examples, and ibsim/sim_net.c: a cable that only one end names is none, and widths and speeds of
the two ends must have something in common; ibsim/sim_cmd.c: commands of its console.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

WIDTHS: Mapping[int, int] = {1: 1, 2: 16, 4: 2, 8: 4}
"""Lanes, and the bit that enables them."""
SPEEDS: Mapping[str, tuple[int, int]] = {
    "SDR": (1, 0),
    "DDR": (3, 0),
    "QDR": (7, 0),
    "FDR": (7, 1),
    "EDR": (7, 3),
    "HDR": (7, 7),
}
"""Generations of a lane, and what is enabled up to them: speeds, and extended ones. ibsim 0.10 ends at HDR."""


@dataclass(frozen=True)
class Device:
    """A switch, or a card with one port, by a name of ours; `says` is its node description."""

    name: str
    says: str
    ports: int = 1
    switch: bool = False


class Plug(NamedTuple):
    """A cable between two ports, counted from 1, and what it runs at."""

    one: str
    one_port: int
    other: str
    other_port: int
    lanes: int = 4
    speed: str = "HDR"


@dataclass(frozen=True)
class Net:
    """A fabric. `down` are ports whose link is down, `downed` how often a port's link went down."""

    devices: tuple[Device, ...]
    plugs: tuple[Plug, ...]
    down: tuple[tuple[str, int], ...] = ()
    downed: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def text(self) -> str:
        """The net file. Raises ValueError for a rate that ibsim does not know, and for two cables in one port."""
        lines = self._lines()
        blocks = ["\n".join([_head(each), *lines.get(each.name, ())]) for each in self.devices]
        return "\n\n".join(blocks) + "\n"

    def commands(self) -> str:
        """What ibsim's console is told once the fabric stands: a net file cannot say that a link is down."""
        said = [f'Unlink "{device}"[{port}]' for device, port in self.down]
        said += [
            f'PerformanceSet "{device}"[{port}] PortCounters.LinkDownedCounter={times}'
            for (device, port), times in self.downed.items()
        ]
        return "".join(f"{each}\n" for each in said)

    def _lines(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        taken: set[tuple[str, int]] = set()
        for plug in self.plugs:
            for near, far in _ends(plug):
                if near in taken:
                    raise ValueError(f"port {near[1]} of {near[0]} has two cables")
                taken.add(near)
                found[near[0]].append(f'[{near[1]}]\t"{far[0]}"[{far[1]}] {_rate(plug)}')
        return found


def _ends(plug: Plug) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    one, other = (plug.one, plug.one_port), (plug.other, plug.other_port)
    yield one, other
    yield other, one


def _head(device: Device) -> str:
    return f'{"Switch" if device.switch else "Hca"}\t{device.ports} "{device.name}"\t\t# "{device.says}"'


def _rate(plug: Plug) -> str:
    if plug.lanes not in WIDTHS or plug.speed not in SPEEDS:
        raise ValueError(f"ibsim knows no link of {plug.lanes}x{plug.speed}; up to HDR, of 1, 2, 4 or 8 lanes")
    speed, extended = SPEEDS[plug.speed]
    return f"w={WIDTHS[plug.lanes]} s={speed} e={extended}"


def of(plugs: Iterable[Plug], devices: Iterable[Device]) -> Net:
    """The fabric of those cables and devices. opensm and the tools sit on the first device that is no switch."""
    cards_first = sorted(devices, key=lambda device: device.switch)
    return Net(tuple(cards_first), tuple(plugs))
