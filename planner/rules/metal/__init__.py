"""The rules about on-premises racks, by subject; importing this package registers them."""

from planner.rules.metal import (  # noqa: F401 - each registers its rules
    ceph,
    controllers,
    cost,
    fabric,
    facility,
    lustre_machines,
    machine_parts,
    machines,
    pipelines,
    servers,
    site,
    storage_servers,
)
