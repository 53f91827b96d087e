"""The rules by subject, without those about racks. Importing this package registers them in the draft's registry."""

from planner.rules import (
    capacity,
    checkpoints,
    cost,
    hardware,
    layout,
    mig,
    network,
    placement,
    quotas,
    reliability,
    serving,
    storage,
    throughput,
    training,
    versions,
)

__all__ = [
    "capacity",
    "checkpoints",
    "cost",
    "hardware",
    "layout",
    "mig",
    "network",
    "placement",
    "quotas",
    "reliability",
    "serving",
    "storage",
    "throughput",
    "training",
    "versions",
]
