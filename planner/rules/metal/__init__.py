"""The rules about on-premises racks, by subject; importing this package registers them."""

from planner.rules.metal import (  # noqa: F401 - each registers its rules
    ceph,
    ceph_machines,
    controllers,
    cooling,
    cost,
    fabric,
    facility,
    hardware,
    homes,
    lustre_machines,
    machine_parts,
    machines,
    servers,
    site,
    slurm,
    storage_servers,
    versions,
)
