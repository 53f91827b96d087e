"""The committed stack of machines with Ceph in place of Lustre and of the site's object store."""

from copy import deepcopy
from typing import Any

from tests.graph.stackfiles import stack_config

SERVERS = ("osd-1", "osd-2", "osd-3")
DISKS = [f"/dev/disk/by-path/pci-0000:{number:02x}:00.0-nvme-1" for number in range(0x81, 0x81 + 24)]
SERIALS = ["SX9R31", "SX9R32", "SX9R33"]

HOSTS: dict[str, Any] = {
    "name": "osd-[1-3]",
    "storage": "osd",
    "address": "10.20.0.[31-33]",
    "bmc": "10.20.4.[31-33]",
    "racks": "r[1-3]",
    "units": [20],
    "osDisk": "/dev/disk/by-path/pci-0000:64:00.0-nvme-1",
    "disks": DISKS,
    "hostKeys": [f"ssh-ed25519 {letter * 68}" for letter in "XYZ"],
    "serials": SERIALS,
    "allowFormat": SERIALS,
}
CEPH: dict[str, Any] = {
    "server": "OSD 24x15.36TB NDR",
    "count": 3,
    "replicas": 3,
    "failureDomain": "rack",
    "bucket": "gpucluster-metal",
}

CHATS = {"name": "chats", "gb": 90, "source": "s3://gpucluster-metal/chats", "snapshot": "2026-11"}
"""A dataset that runs read as of a snapshot."""


def with_ceph(hosts: dict[str, Any] | None = None, **ceph: Any) -> dict[str, Any]:
    """The stack file's content; `hosts` change the entry of Ceph's machines, `ceph` its section."""
    config = deepcopy(stack_config("metal"))
    inventory = config["gpucluster:inventory"]
    del inventory["sharedFiles"], inventory["objectStore"]
    entry = {key: value for key, value in {**HOSTS, **(hosts or {})}.items() if value is not None}
    inventory["hosts"] = [*(each for each in inventory["hosts"] if "storage" not in each), entry]
    config["gpucluster:storage"] = {"ceph": {**CEPH, **ceph}}
    return config
