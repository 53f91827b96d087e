"""The committed stack of machines with its own servers of Lustre in place of somebody else's."""

from copy import deepcopy
from typing import Any

from tests.graph.stackfiles import stack_config

OSS_DISKS = [f"/dev/disk/by-path/pci-0000:{number:02x}:00.0-nvme-1" for number in range(0x81, 0x81 + 24)]
MDS_DISKS = OSS_DISKS[:8]
OS_DISK = "/dev/disk/by-path/pci-0000:64:00.0-nvme-1"
SERVED: dict[str, dict[str, Any]] = {
    "oss-[1-4]": {
        "storageAddresses": ["10.22.0.[31-34]", "10.22.1.[31-34]"],
        "targets": [0, 2, 4, 6],
        "disks": OSS_DISKS,
        "allowFormat": ["SX9R11", "SX9R12", "SX9R13", "SX9R14"],
        "osDisk": OS_DISK,
    },
    "mds-[1-2]": {
        "storageAddresses": ["10.22.0.[35-36]"],
        "targets": [0, 1],
        "disks": MDS_DISKS,
        "allowFormat": ["SX9R21", "SX9R22"],
        "osDisk": OS_DISK,
    },
    "dgx-[01-08]": {"storageAddresses": ["10.22.0.[21-28]"]},
}
ENCLOSURE = [f"/dev/disk/by-id/wwn-0x5000c500a1b2c3{number:02x}" for number in range(16)]


def with_lustre(hosts: dict[str, dict[str, Any]] | None = None, inventory: Any = None, **lustre: Any) -> dict[str, Any]:
    """The stack file's content; `hosts` change entries by their names, `lustre` its section. None takes a key away."""
    config = deepcopy(stack_config("metal"))
    listed = config["gpucluster:inventory"]
    del listed["sharedFiles"]
    for entry in listed["hosts"]:
        entry |= deepcopy(SERVED.get(entry["name"], {})) | (hosts or {}).get(entry["name"], {})
        for key in [key for key, value in entry.items() if value is None]:
            del entry[key]
    listed |= inventory or {}
    config["gpucluster:storage"]["lustre"] |= lustre
    return config


def told_of(config: dict[str, Any]) -> dict[str, Any]:
    """The same with monitoring that asks the servers of Lustre."""
    config["gpucluster:monitoring"] = {"fileSystem": True}
    config["gpucluster:inventory"]["logs"] = {"host": "10.20.0.5"}
    return config


def paired(**changes: dict[str, Any]) -> dict[str, Any]:
    """The same with two metadata servers at one enclosure; `changes` are to the one named, with _ for -."""
    config = with_lustre()
    listed = config["gpucluster:inventory"]["hosts"]
    at = next(index for index, entry in enumerate(listed) if entry["name"] == "mds-[1-2]")
    both = listed.pop(at)
    for number in (1, 2):
        own = {
            "name": f"mds-{number}",
            "address": f"10.20.0.{34 + number}",
            "bmc": f"10.20.4.{34 + number}",
            "racks": f"r{number}",
            "hostKeys": [both["hostKeys"][number - 1]],
            "serials": [both["serials"][number - 1]],
            "allowFormat": [both["serials"][number - 1]],
            "storageAddresses": [f"10.22.0.{34 + number}"],
            "targets": [number - 1],
            "disks": ENCLOSURE[8 * (number - 1) : 8 * number],
            "partner": f"mds-{3 - number}",
        }
        listed.append({**both, **own, **changes.get(f"mds_{number}", {})})
    return config
