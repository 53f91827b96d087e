"""dcb(8) of iproute2: which priority a DSCP has, and which priorities a port pauses, until its driver is loaded anew.

Words and lines: iproute2 6.1, dcb/dcb_app.c, dcb_pfc.c, dcb_dcbx.c; `replace` takes an entry's other priorities away.
Ports of others than NVIDIA here speak no DCB ("Operation not supported").
"""

from __future__ import annotations

import pathlib

from rehearsal.metal.tools.firmware import NVIDIA
from rehearsal.metal.tools.machine import called, complain, facts, until_boot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(name: str, words: list[str]) -> int:
    """`dcb [-N] app|pfc|dcbx show|set|replace dev NAME ...`."""
    kind, verb, _, device, *rest = [word for word in words if word != "-N"]
    if verb != "show":
        called(name, words)
    able = {card["pci"] for card in facts()["cards"] if card["vendor"] == NVIDIA and not card["infiniband"]}
    if not any((pathlib.Path("/sys/bus/pci/devices") / pci / "net" / device).is_dir() for pci in able):
        return complain("Attribute read: Operation not supported", 1)
    with until_boot() as state:
        port = state.setdefault("dcb", {}).setdefault(device, {"app": {}, "pfc": []})
        if verb == "show":
            print(_shown(kind, port))
        elif kind == "app":
            port["app"] |= dict(word.split(":") for word in rest[1:])
        elif kind == "pfc":
            _pause(port, [word.split(":") for word in rest[1:]])
    return 0


def _shown(kind: str, port: dict[str, Any]) -> str:
    if kind == "app":
        app = dict(port["app"])
        return "dscp-prio " + " ".join(f"{dscp}:{app[dscp]}" for dscp in sorted(app, key=int))
    return "prio-pfc " + " ".join(f"{each}:{'on' if str(each) in port['pfc'] else 'off'}" for each in range(8))


def _pause(port: dict[str, Any], told: list[list[str]]) -> None:
    for priority, state in told:
        named = [str(each) for each in range(8)] if priority == "all" else [priority]
        port["pfc"] = [each for each in port["pfc"] if each not in named] + (named if state == "on" else [])
