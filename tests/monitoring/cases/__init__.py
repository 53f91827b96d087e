"""For each failure: series that show it, as the vendor's exporter does, and series that only come near it."""

from tests.monitoring.cases.hardware import HARDWARE
from tests.monitoring.cases.nodes import NODES
from tests.monitoring.cases.platform import PLATFORM
from tests.monitoring.cases.work import WORK

CASES = HARDWARE | NODES | WORK | PLATFORM

INJECTED = {
    "oom": "out-of-memory",
    "gpu-unavailable": "gpu-unavailable",
    "gpu-memory": "gpu-memory",
    "gpu-driver": "gpu-driver",
    "nvlink": "gpu-nvlink",
    "ib-link": "fabric-link",
    "filesystem-mount": "node-mount",
    "main-memory": "node-memory",
    "ethernet-link": "node-ethernet",
    "pcie": "gpu-pcie",
    "nccl-timeout": "run-failed",
    "system-services": "node-service",
}
"""The failure that each fault of a rehearsal is told as."""

MEASURED = frozenset({"gpu-slow", "fabric-manager"})
"""Faults that no exporter tells: a run's gate measures them."""
