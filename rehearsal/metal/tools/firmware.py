"""mstconfig(1) of mstflint: what a card's firmware is set to, and what of it a boot takes up.

Sources: mstflint, mlxconfig/mlxcfg_ui.cpp (`query` prints a table whose last column is the next boot's value, booleans
as `True(1)`, with -e those of delivery and of now before it; a device that it cannot open ends it with 3) and its
manual page; Linux, Documentation/ABI/testing/sysfs-bus-pci (sriov_totalvfs); modprobe.d(5), and kernel-parameters
(MODULE.PARAMETER on the command line).
"""

from __future__ import annotations

import pathlib
import re

from rehearsal.metal.tools.machine import absent, called, complain, facts, lasting, version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NVIDIA = "15b3"
EVERY = {"-e", "--enable_verbosity"}
MOST = 127
"""Functions that firmware of ConnectX-6 and later takes (its manual, SR-IOV)."""
NAMESPACES = pathlib.Path("/sys/module/ib_core/parameters/netns_mode")


def main(name: str, words: list[str]) -> int:
    """`mstconfig --dev ADDRESS query NAME...`, and `--yes set NAME=VALUE...`."""
    if not version("mstflint"):
        return absent(name)
    called(name, words)
    address = next(word for at, word in enumerate(words) if words[at - 1] in ("-d", "--dev"))
    card = next((each for each in facts()["cards"] if each["pci"] == address and each["vendor"] == NVIDIA), None)
    if card is None:
        return complain(f"-E- Failed to open the device: {address}", 3)
    verb = next(word for word in words if word in ("query", "set"))
    rest = words[words.index(verb) + 1 :]
    with lasting() as state:
        kept = state.setdefault("firmware", {}).setdefault(address, _delivered(card))
        if verb == "set":
            return _set(kept, dict(word.split("=") for word in rest))
        print(f"\nDevice #1:\n----------\n\nDevice:             {address}\n")
        shown = (_delivered(card), kept.get("now", _delivered(card)), kept) if EVERY & set(words) else (kept,)
        print(f"{'Configurations:':<60}{'Default             Current             ' * (len(shown) > 1)}Next Boot")
        for key in rest:
            values = [["False(0)", "True(1)"][each[key]] if key.endswith("_EN") else each[key] for each in shown]
            print(f"        {key:<52}{''.join(f'{value!s:<20}' for value in values)}")
    return 0


def _delivered(card: dict[str, Any]) -> dict[str, int]:
    """Marks of congestion are answered at every priority, with DSCP 48, by those of ConnectX-4 and later."""
    return {
        "SRIOV_EN": int(card["vfs"] > 0),
        "NUM_OF_VFS": card["vfs"],
        "ROCE_CC_PRIO_MASK_P1": 255,
        "CNP_DSCP_P1": 48,
    }


def _set(kept: dict[str, int], wanted: dict[str, str]) -> int:
    if int(wanted.get("NUM_OF_VFS", 0)) > MOST:
        return complain("-E- Failed to set configuration: Value is out of range", 3)
    kept |= {key: int(value) for key, value in wanted.items()}
    print("Applying... Done!\n-I- Please reboot machine to load new configurations.")
    return 0


def ports() -> dict[str, dict[str, Any]]:
    """Each card's interface as it is called now, and the functions that it may have, by its PCI address."""
    found = {}
    for card in facts()["cards"]:
        place = pathlib.Path("/sys/bus/pci/devices") / card["pci"]
        total = place / "sriov_totalvfs"
        name = next((each.name for each in (place / "net").glob("*")), "")
        found[card["pci"]] = {"name": name, "vfs": int(total.read_text()) if total.exists() else 0}
    return found


def boot() -> None:
    """Firmware comes up as it was set, and the module of RDMA devices as modprobe.d says."""
    with lasting() as state:
        firmware = dict(state.get("firmware", {}))
        for kept in firmware.values():
            kept["now"] = {key: value for key, value in kept.items() if key != "now"}
    for address, kept in firmware.items():
        total = pathlib.Path("/sys/bus/pci/devices") / address / "sriov_totalvfs"
        if kept["SRIOV_EN"]:
            total.write_text(f"{kept['NUM_OF_VFS']}\n")
        else:
            total.unlink(missing_ok=True)
    told = "".join(file.read_text() for file in sorted(pathlib.Path("/etc/modprobe.d").glob("*.conf")))
    line = pathlib.Path("/proc/cmdline").read_text()
    if NAMESPACES.exists():
        apart = re.search(r"^options ib_core .*\bnetns_mode=0\b", told, re.MULTILINE) or "ib_core.netns_mode=0" in line
        NAMESPACES.write_text("N\n" if apart else "Y\n")
