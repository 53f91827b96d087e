"""The rules about racks of one's own, by subject; importing this package registers them."""

from planner.rules.metal import (
    ceph,
    cooling,
    cost,
    fabric,
    facility,
    hardware,
    machine_parts,
    machines,
    servers,
    site,
    storage_servers,
    versions,
)

__all__ = [
    "ceph",
    "cooling",
    "cost",
    "fabric",
    "facility",
    "hardware",
    "machine_parts",
    "machines",
    "servers",
    "site",
    "storage_servers",
    "versions",
]
