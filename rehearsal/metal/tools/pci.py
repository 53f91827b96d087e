"""lspci(8), setpci(8) and udevadm(8): bridges with access control, network devices and the rules that name them.

A rule's NAME, ATTR{mtu} and RUN are taken, in that order (systemd, src/udev/udev-event.c: an event renames, writes
attributes and then runs programs; udev(7), %k is the kernel's name of the device).

`setpci` on a device without the capability ends with 1 (pciutils, setpci.c: "Extended capability ID not found"). The
kernel does not rename a device that is up (net/core/dev.c, dev_change_name: EBUSY, before Linux 6.3 for all and since
then by rule).
"""

import pathlib
import re
from collections.abc import Iterator

from rehearsal.metal.tools import kernel
from rehearsal.metal.tools.machine import called, complain, facts, until_boot

RULE = re.compile(r'^SUBSYSTEM=="(net|infiniband)", ACTION=="add", KERNELS=="([^"]+)", (.+)$', re.MULTILINE)
ASSIGNED = re.compile(r'(NAME|ATTR\{mtu\}|RUN)\+?="([^"]*)"')
MOST_MTU = 9978
"""Of ConnectX (its maximum frame of 10,000 bytes); the kernel refuses more, and udev goes on."""
DEVICES = pathlib.Path("/sys/bus/pci/devices")


def main(name: str, words: list[str]) -> int:
    """One call."""
    called(name, words)
    if name == "lspci":
        for address in facts()["bridges"]:
            print(f"{address} 0604: 1000:c030 (rev b0)")
        return 0
    if name == "setpci":
        return _setpci(words)
    return _trigger(words) if words[:1] == ["trigger"] else 0


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


def boot() -> None:
    """The kernel finds each device anew, with what it gives an interface by itself; then the rules are asked."""
    for mtu in DEVICES.glob("*/net/*/mtu"):
        mtu.write_text("1500\n")
    for tos in pathlib.Path("/sys/kernel/config/rdma_cm").glob("*/ports/*/default_roce_tos"):
        tos.write_text("0\n")
    _trigger(["trigger"])


def _trigger(words: list[str]) -> int:
    """The rules are asked again for each device of the subsystem, all without one."""
    for subsystem, pci, rest in _rules():
        if f"--subsystem-match={subsystem}" not in words and any("--subsystem-match" in word for word in words):
            continue
        for device in list((DEVICES / pci / subsystem).glob("*")):
            _event(device, pci, dict(ASSIGNED.findall(rest)))
    return 0


def _rules() -> Iterator[tuple[str, str, str]]:
    for file in sorted(pathlib.Path("/etc/udev/rules.d").glob("*.rules")):
        yield from RULE.findall(file.read_text())


def _event(device: pathlib.Path, pci: str, assigned: dict[str, str]) -> None:
    """A device that is down is renamed."""
    up = {card["pci"] for card in facts()["cards"] if card["up"]}
    if (name := assigned.get("NAME")) and name != device.name and pci not in up:
        device = device.rename(device.parent / name)
    if (mtu := assigned.get("ATTR{mtu}")) and int(mtu) <= MOST_MTU:
        (device / "mtu").write_text(f"{mtu}\n")
    if program := assigned.get("RUN"):
        kernel.run(program.replace("%k", device.name))
