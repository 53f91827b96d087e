"""What `ibnetdiscover` prints, read strictly: a report that is cut or broken is no fabric with fewer cables.

Source: infiniband-diags (rdma-core), ibnetdiscover(8), "Topology file format", and ibnetdiscover.c: each device is a
record, headed by its kind, ports and node GUID, with a line for each port that leads somewhere; so each link stands
there twice, once from each end, with the width and speed that it runs at.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from doctor.fabric.refused import RefusedError

LANE_GBIT_PER_S: Mapping[str, float] = {
    "SDR": 2.5,
    "DDR": 5,
    "QDR": 10,
    "FDR10": 10,
    "FDR": 14,
    "EDR": 25,
    "HDR": 50,
    "NDR": 100,
    "XDR": 200,
}
"""Gb/s of one lane (InfiniBand Trade Association, InfiniBand roadmap)."""

_HEADER = re.compile(r'^(Switch|Ca|Rt)\s+(\d+) "([SHR])-([0-9a-f]{16})"\s+# "(.*)"(?: .*)?$')
_FROM_SWITCH = re.compile(
    r'^\[(\d+)\](?:\[ext \d+\])?\s+"([SHR?])-([0-9a-f]{16})"\[(\d+)\](?:\[ext \d+\])?(?:\(([0-9a-f]+)\))?\s+'
    r'# ".*" lid \d+ (\d+|\?\?)x?(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR|\?\?\?)(?: .*)?$'
)
_FROM_CARD = re.compile(
    r'^\[(\d+)\]\(([0-9a-f]+)\)\s+"([SHR?])-([0-9a-f]{16})"\[(\d+)\](?:\[ext \d+\])?(?: \(([0-9a-f]+)\))?\s+'
    r'# lid \d+ lmc \d+ ".*" lid \d+ (\d+|\?\?)x?(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR|\?\?\?)(?: .*)?$'
)
_BESIDE = re.compile(r"^(#|vendid=|devid=|sysimgguid=|switchguid=|caguid=|rtguid=|Chassis |Non-Chassis |Hostname: )")
_FROM = re.compile(r"^# Initiated from node ([0-9a-f]{16}) port [0-9a-f]{16}$", re.MULTILINE)
_BEGINNING = "# Topology file: generated on"


class At(NamedTuple):
    """A port of a device, by the device's node GUID and the port's number, from 1."""

    guid: int
    port: int


class Rate(NamedTuple):
    """Lanes of a link, and the generation that each runs at, as the tool writes them: 4 and NDR. None where the tool
    does not know one of them."""

    lanes: int | None
    speed: str | None

    @property
    def gbit_per_s(self) -> float | None:
        """Gb/s one way."""
        return None if self.lanes is None or self.speed is None else self.lanes * LANE_GBIT_PER_S[self.speed]

    def __str__(self) -> str:
        return f"{self.lanes or '??'}x{self.speed or '???'}"


@dataclass(frozen=True, kw_only=True)
class Device:
    """A switch or a card, with what it says of itself. A card of NVIDIA is a device for each of its ports."""

    guid: int
    switch: bool
    ports: int
    description: str


@dataclass(frozen=True)
class Discovery:
    """A fabric: its devices by node GUID, and each link from both ends. `port_guids` are those of cards' ports."""

    devices: Mapping[int, Device]
    links: Mapping[At, tuple[At, Rate]]
    port_guids: Mapping[int, At] = field(default_factory=dict)


def parsed(text: str) -> Discovery:
    """The fabric of a report. Raises RefusedError, which says where it is cut or what no such tool writes."""
    began = _FROM.search(text)
    if _BEGINNING not in text:
        raise RefusedError("this is not a report of ibnetdiscover: it has no line '# Topology file: generated on ...'")
    devices: dict[int, Device] = {}
    links: dict[At, tuple[At, Rate]] = {}
    port_guids: dict[int, At] = {}
    here: Device | None = None
    for number, line in _lines(text):
        if _BESIDE.match(line):
            here = None if not line.startswith("#") else here
        elif header := _HEADER.match(line):
            here = _device(header)
            if here.guid in devices:
                raise RefusedError(f"line {number}: a second device has the GUID {here.guid:#018x}")
            devices[here.guid] = here
        elif here is None:
            raise RefusedError(f"line {number} is not from ibnetdiscover: {line[:60]}")
        else:
            end, other, rate, guid = _link(here, number, line)
            links[end] = other, rate
            if guid is not None:
                port_guids[guid] = end
    if began is None or int(began[1], 16) not in devices:
        raise RefusedError("the report is truncated: the device that it was made from is missing")
    found = Discovery(devices, links, port_guids)
    _whole(found)
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def _device(header: re.Match[str]) -> Device:
    kind, ports, _, guid, description = header.groups()
    return Device(guid=int(guid, 16), switch=kind == "Switch", ports=int(ports), description=description)


def _link(here: Device, number: int, line: str) -> tuple[At, At, Rate, int | None]:
    """The near end, the far one, the rate, and the near port's own GUID."""
    found = (_FROM_SWITCH if here.switch else _FROM_CARD).match(line)
    if found is None:
        raise RefusedError(f"line {number} is truncated, or not from ibnetdiscover: {line[:60]}")
    if here.switch:
        port, _, guid, far, _, lanes, speed = found.groups()
        own = None
    else:
        port, own, _, guid, far, _, lanes, speed = found.groups()
    rate = Rate(None if lanes == "??" else int(lanes), None if speed == "???" else speed)
    return At(here.guid, int(port)), At(int(guid, 16), int(far)), rate, int(own, 16) if own else None


def _whole(found: Discovery) -> None:
    """Whether each link is told from both ends."""
    for end, (other, _) in found.links.items():
        if other.guid not in found.devices:
            near = found.devices[end.guid].description
            raise RefusedError(
                f"the report is truncated: port {end.port} of {near} leads to {other.guid:#018x}, which is not in it"
            )
        back = found.links.get(other)
        if back is None or back[0] != end:
            near, far = (found.devices[each.guid].description for each in (end, other))
            raise RefusedError(
                f"the report is truncated: port {end.port} of {near} leads to port {other.port} of {far}, "
                "which does not lead back"
            )


def hosts_of(devices: Iterable[Device]) -> Iterator[tuple[Device, str, str]]:
    """Cards that say their machine and their RDMA device there, as rdma-ndd writes them (rdma-ndd(8): `%h %d`)."""
    for device in devices:
        host, _, name = device.description.partition(" ")
        if not device.switch and name:
            yield device, host.partition(".")[0], name
