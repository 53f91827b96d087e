"""lspci(8), setpci(8) and udevadm(8): bridges with access control, network devices and the rules that name them.

`setpci` on a device without the capability ends with 1 (pciutils, setpci.c: "Extended capability ID not found"). The
kernel does not rename a device that is up (net/core/dev.c, dev_change_name: EBUSY, before Linux 6.3 for all and since
then by rule).
"""

from __future__ import annotations

import pathlib
import re

from rehearsal.metal.tools.machine import called, complain, facts, until_boot

RULE = re.compile(r'^SUBSYSTEM=="net", ACTION=="add", KERNELS=="([^"]+)", NAME="([^"]+)"$', re.MULTILINE)


def main(name: str, words: list[str]) -> int:
    """One call."""
    called(name, words)
    if name == "lspci":
        for address in facts()["bridges"]:
            print(f"{address} 0604: 1000:c030 (rev b0)")
        return 0
    if name == "setpci":
        return _setpci(words)
    return _trigger() if words[:1] == ["trigger"] else 0


def _setpci(words: list[str]) -> int:
    address, (register, _, value) = words[words.index("-s") + 1], words[-1].partition("=")
    if address not in facts()["bridges"] or register != "ECAP_ACS+6.w":
        return complain(f"setpci: {address}: Extended capability 000d not found", 1)
    with until_boot() as state:
        control = state.setdefault("acs", {})
        if value:
            control[address] = value
        else:
            # Upstream forwarding, request and completion redirect, source validation: what Linux sets with an IOMMU.
            print(control.get(address, "001d"))
    return 0


def _trigger() -> int:
    """The rules are asked again for each network device, and name those that are down."""
    rules = {
        pci: name
        for file in sorted(pathlib.Path("/etc/udev/rules.d").glob("*.rules"))
        for pci, name in RULE.findall(file.read_text())
    }
    up = {card["pci"] for card in facts()["cards"] if card["up"]}
    for pci, name in rules.items():
        place = pathlib.Path("/sys/bus/pci/devices") / pci / "net"
        for now in list(place.iterdir()) if place.is_dir() else []:
            if now.name != name and pci not in up:
                now.rename(place / name)
    return 0
