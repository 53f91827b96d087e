"""The fabric as it is discovered beside the cables as they are planned. What differs is named by both ends."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from doctor.fabric.discovered import At, Device, Discovery, Rate, hosts_of
from planner.fabric.cables import Cable, Port, Wired

FLAPS = 3
"""Times that a link went down from which it flaps; gpud's own threshold, which it counts in 12 hours."""
AGGREGATION = "Mellanox Technologies Aggregation Node"
"""What a switch that adds numbers up (SHARP) says of the device for it, which sits behind its last port."""
_SWITCH = re.compile(r"^MF0;(?P<name>.+):[^:/]+/U\d+$")
"""What a managed switch of NVIDIA says of itself: `MF0;leaf-r0-01:MQM9700/U1`, its host name and model."""


class Kind(StrEnum):
    """What is wrong with a cable, or with a device and so with all of its cables."""

    ABSENT = "absent"
    MISSING = "missing"
    SWAPPED = "swapped"
    CROSSED = "crossed"
    SLOW = "slow"
    FLAPPING = "flapping"
    EXTRA = "extra"
    UNMEASURED = "unmeasured"
    TWICE = "twice"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that differs. `about` is the cable's label, the device, or both ends of a cable that has no label."""

    kind: Kind
    about: str
    sentence: str
    remedy: str


class _Seen(NamedTuple):
    """What is at the other end of a port: a port of the plan's devices, or only what it says of itself."""

    port: Port | None
    words: str
    rate: Rate


def compare(wired: Wired, found: Discovery, down: Mapping[At, int] | None = None) -> tuple[Finding, ...]:
    """Every cable that is not as planned, and every one that is not planned. `down` is how often links went down."""
    known = _identified(wired, found)
    twice = [name for name, count in Counter(known.values()).items() if count > 1]
    if twice:
        return tuple(_twice(each, wired) for each in sorted(twice))
    return tuple(_Comparison(wired, found, known, down or {}).findings())


def _identified(wired: Wired, found: Discovery) -> Mapping[int, Port | str]:
    """What each device is in the plan, by its GUID: a switch by name, or a compute port."""
    known: dict[int, Port | str] = {}
    for device in found.devices.values():
        said = _SWITCH.match(device.description)
        name = wired.guids.get(device.guid) or (said["name"] if said else device.description)
        if device.switch and name in wired.switches:
            known[device.guid] = name
    for device, host, hca in hosts_of(found.devices.values()):
        if (host, hca) in wired.cards:
            known[device.guid] = Port(host, wired.cards[host, hca])
    return known


def _twice(what: Port | str, wired: Wired) -> Finding:
    name = what if isinstance(what, str) else wired.called(what)
    return Finding(
        kind=Kind.TWICE,
        about=name,
        sentence="two devices on the fabric report this name, so the cables of neither can be checked",
        remedy="give each its own host name (and reload rdma-ndd on machines), or name switches by GUID: "
        "inventory.switches",
    )


class _Comparison:
    def __init__(self, wired: Wired, found: Discovery, known: Mapping[int, Port | str], down: Mapping[At, int]) -> None:
        self._wired, self._found, self._known = wired, found, known
        self._down = {port: count for at, count in down.items() if (port := self._port(at))}
        self._far = {port: self._seen(at) for at in found.links if (port := self._port(at))}
        self._planned = {each.high: each for each in wired.cables}
        self._planned |= {each.low: each for each in wired.cables if each.named}
        linked = {port.device for port in self._far}
        self._absent = {each for each in wired.machines | wired.switches if each not in linked}

    def findings(self) -> Iterator[Finding]:
        yield from (self._not_seen(device) for device in sorted(self._absent))
        for cable in self._wired.cables:
            if not {cable.low.device, cable.high.device} & self._absent:
                yield from self._cable(cable)
        yield from self._extra()

    def _port(self, at: At) -> Port | None:
        """A port of the plan's devices. A card's device has one port, whatever its number in the plan."""
        what = self._known.get(at.guid)
        return Port(what, at.port - 1) if isinstance(what, str) else what

    def _seen(self, at: At) -> _Seen:
        other, rate = self._found.links[at]
        port, device = self._port(other), self._found.devices[other.guid]
        return _Seen(port, self._wired.called(port) if port else _words(device, other), rate)

    def _cable(self, cable: Cable) -> Iterator[Finding]:
        above = self._far.get(cable.high)
        below = self._far.get(cable.low) if cable.named else None
        if above is None and below is None:
            yield self._finding(Kind.MISSING, cable, f"no link between {self._ends(cable)}", _REPLUG)
        elif above is not None and self._leads_to(cable, above):
            yield from self._quality(cable, above)
        else:
            yield self._swapped(cable, below, above)

    def _leads_to(self, cable: Cable, above: _Seen) -> bool:
        if cable.named:
            return above.port == cable.low
        return above.port is None or above.port not in self._planned

    def _swapped(self, cable: Cable, below: _Seen | None, above: _Seen | None) -> Finding:
        """A port of the same two devices is only called otherwise; any other is another path."""
        low, high = self._called(cable)
        says = f"{low} leads to {below.words}" if below else f"{low} leads nowhere" if cable.named else ""
        says += f"{' and ' if says else ''}{high} {f'leads to {above.words}' if above else 'leads nowhere'}"
        others = {each.port.device if each.port else "" for each in (below, above) if each}
        if others <= {cable.low.device, cable.high.device}:
            return self._finding(Kind.CROSSED, cable, f"{says}: the same two devices by other ports", _RELABEL)
        return self._finding(Kind.SWAPPED, cable, says, _REPLUG)

    def _quality(self, cable: Cable, above: _Seen) -> Iterator[Finding]:
        rates = [above.rate, *([self._far[cable.low].rate] if cable.low in self._far else [])]
        lowest = min(rates, key=lambda rate: rate.gbit_per_s or 0.0)
        between = f"the link between {self._ends(cable)}"
        if cable.gbit_per_s is not None and lowest.gbit_per_s is None:
            yield self._finding(Kind.UNMEASURED, cable, f"{between} runs at {lowest}, which it cannot name", _NEWER)
        elif cable.gbit_per_s is not None and (lowest.gbit_per_s or 0.0) < cable.gbit_per_s:
            says = f"{between} runs at {lowest} ({lowest.gbit_per_s:g} Gb/s), not at {cable.gbit_per_s} Gb/s"
            yield self._finding(Kind.SLOW, cable, says, _CLEAN)
        times = max((self._down.get(port, 0) for port in (cable.low, cable.high)), default=0)
        if times >= FLAPS:
            says = f"{between} went down {times} times since its counters were cleared"
            yield self._finding(Kind.FLAPPING, cable, says, _WATCH)

    def _extra(self) -> Iterator[Finding]:
        """Links of which neither end is planned; of others the planned end's cable is told of. A switch that says no
        name may be the one that is absent."""
        for at, (other, _) in self._found.links.items():
            near, far = self._port(at), self._port(other)
            one, two = self._found.devices[at.guid], self._found.devices[other.guid]
            if at > other or near in self._planned or far in self._planned:
                continue
            if AGGREGATION in (one.description, two.description):
                continue
            if self._absent & self._wired.switches and any(
                each.switch and each.guid not in self._known for each in (one, two)
            ):
                continue
            words = [
                self._wired.called(each) if each else _words(*what)
                for each, what in ((near, (one, at)), (far, (two, other)))
            ]
            yield Finding(
                kind=Kind.EXTRA,
                about=" - ".join(words),
                sentence="a cable that the plan does not have",
                remedy="unplug it, or add it to the plan: an unplanned path carries unexpected traffic",
            )

    def _not_seen(self, device: str) -> Finding:
        place = f" ({self._wired.places[device]})" if device in self._wired.places else ""
        count = sum(device in (each.low.device, each.high.device) for each in self._wired.cables)
        unknown = [each for each in self._found.devices.values() if each.switch and each.guid not in self._known]
        remedy = "check that it is on, that its driver runs, and that it reports its host name on the fabric"
        if device in self._wired.switches:
            named = ", ".join(f"{each.guid:#018x} ({each.description})" for each in unknown[:4])
            remedy = (
                f"check that it is on; if it is one of these, name it in inventory.switches ({named})"
                if unknown
                else ("see that it is on")
            )
        says = f"{device}{place} is not on the fabric, and none of its {count} cables"
        return Finding(kind=Kind.ABSENT, about=device, sentence=says, remedy=remedy)

    def _called(self, cable: Cable) -> tuple[str, str]:
        low = self._wired.called(cable.low) if cable.named else cable.low.device
        return low, self._wired.called(cable.high)

    def _ends(self, cable: Cable) -> str:
        return " and ".join(self._called(cable))

    def _finding(self, kind: Kind, cable: Cable, sentence: str, remedy: str) -> Finding:
        return Finding(kind=kind, about=cable.label, sentence=sentence, remedy=remedy)


_REPLUG = "connect it as its label says, check the link lights at both ends, then run the check again"
_RELABEL = "connect it as its label says: otherwise the label leads to the wrong cable in a repair"
_CLEAN = "clean and reseat both ends, then replace the cable: a link below its rate slows every gang on it"
_WATCH = "clean and reseat both ends; clear the counters (ibqueryerrors -k), and check again in 12 hours"
_NEWER = "use a release of infiniband-diags that knows the cards' speed"


def _words(device: Device, at: At) -> str:
    return f"port {at.port} of {device.description} ({device.guid:#018x})"
