"""Where on the PCI bus a node's GPUs are: what a person looks for who takes one out.

Sources: nvidia-smi --help-query-gpu (pci.bus_id: "domain:bus:device.function", in hex); NVIDIA/nvbandwidth,
nvbandwidth.cpp (`Device N: NAME (domain:bus:device)`, by CUDA's own numbers, which need not be nvidia-smi's); Linux,
Documentation/ABI/testing/sysfs-bus-pci (vendor, class).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from verdicts import Verdict

QUERY = ("nvidia-smi", "--query-gpu=index,pci.bus_id", "--format=csv,noheader")
DEVICES = Path("/sys/bus/pci/devices")
_ADDRESS = r"([0-9A-Fa-f]{4,8}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})(?:\.[0-7])?"
_QUERIED = re.compile(rf"^\s*(\d+),\s*{_ADDRESS}\s*$", re.MULTILINE)
_LISTED = re.compile(rf"^Device (\d+): .*\({_ADDRESS}\)\s*$", re.MULTILINE)
_VENDOR, _GPUS = "0x10de", ("0x0300", "0x0302")
"""NVIDIA, and the classes of its GPUs with a display and without one; its NVSwitches are bridges."""


def of_smi(text: str) -> dict[int, str]:
    """Addresses as the kernel writes them, by nvidia-smi's numbers; those alone that it tells."""
    return _by_number(_QUERIED, text)


def of_devices(text: str) -> dict[int, str]:
    """The same by CUDA's numbers, as nvbandwidth lists its devices."""
    return _by_number(_LISTED, text)


def _by_number(line: re.Pattern[str], text: str) -> dict[int, str]:
    return {int(found[1]): address(*(int(each, 16) for each in found.groups()[1:])) for found in line.finditer(text)}


def address(domain: int, bus: int, device: int) -> str:
    """As the kernel names the first function of a device."""
    return f"{domain:04x}:{bus:02x}:{device:02x}.0"


def listed(number: int, name: str, domain: int, bus: int, device: int) -> str:
    """A GPU as nvbandwidth lists it."""
    return f"Device {number}: {name} ({domain:08x}:{bus:02x}:{device:02x})\n"


def named(found: Verdict, slots: Mapping[int, str]) -> Verdict:
    """The line with the slot behind each GPU that has one."""

    def one(gpu: re.Match[str]) -> str:
        slot = slots.get(int(gpu[1]))
        return f"{gpu[0]} (slot {slot})" if slot else gpu[0]

    return replace(found, why=re.sub(r"\bGPU (\d+)\b", one, found.why))


def silent(slots: Mapping[int, str], root: Path = DEVICES) -> list[str]:
    """Slots of GPUs that the kernel sees and nvidia-smi tells nothing of; none where it tells of no GPU at all."""
    return sorted(each.name for each in root.glob("*") if slots and each.name not in slots.values() and _is_gpu(each))


def _is_gpu(device: Path) -> bool:
    try:
        vendor, kind = ((device / each).read_text(encoding="utf-8").strip() for each in ("vendor", "class"))
    except OSError:
        return False
    return vendor == _VENDOR and kind.startswith(_GPUS)
