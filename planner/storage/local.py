"""A node's own NVMe: whether what a run keeps there fits, and how fast it is."""

from catalogue.types import Nvme
from planner.storage.need import RunIo, staged_gb_per_node

FILL = 0.8
"""Share of the NVMe that a plan may fill: drives slow down and file systems fragment above it."""

NODE_READ_WARNING_GB_PER_S = 25.0
"""Above this a node reads more than CephFS clients are known to sustain (25 to 30 GB/s)."""

_DRIVE_WRITE_GB_PER_S = 4.0
"""Approximate: data-centre PCIe 4 drives of 3.84 TB (Samsung PM9A3 data sheet: 4.1 GB/s)."""


def raw_gb(nvme: Nvme | None) -> float:
    """Decimal GB of a node's NVMe."""
    return float(nvme.count * nvme.size_gb) if nvme else 0.0


def write_gb_per_s(nvme: Nvme | None) -> float:
    """GB/s that a node writes to its NVMe striped as RAID 0, approximately."""
    return nvme.count * _DRIVE_WRITE_GB_PER_S if nvme else 0.0


def local_gb(run: RunIo) -> float:
    """GB a run puts on each node's NVMe: the staged data, and its part of the checkpoints that are kept there."""
    checkpoints = run.kept_gb / run.nodes if run.saving and run.saving.local else 0.0
    return staged_gb_per_node(run.dataset_gb, run.nodes, run.staging) + checkpoints


def fits(run: RunIo, nvme: Nvme | None) -> bool:
    """Whether the run's data stays within the share of the NVMe that may be filled."""
    return local_gb(run) <= FILL * raw_gb(nvme)
