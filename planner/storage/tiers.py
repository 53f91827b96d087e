"""Where a run's data and checkpoints can be: the nodes' own NVMe, the shared file system, the object store (T01)."""

from collections.abc import Iterator

from catalogue.types import Instance, Nvme
from catalogue.units import gbyte_per_s
from planner.reliability.checkpoints import Tier, stood_part
from planner.storage.need import RunIo, local_write_seconds, staged_gb_per_node
from planner.storage.types import RunStorage

_GBIT_PER_S_PER_VCPU = 12.5 / 32
"""What a type of "up to" so much keeps when its burst is over: m7i, m6i and g6e sizes up to 8xlarge, in proportion.

Source: EC2 user guide, "Amazon EC2 instance network bandwidth" (baselines of the types).
"""

_HASHING_GB_PER_S = 1.0
"""Approximate: sha256sum on one core with SHA instructions reads 1 to 2 GB/s."""

NODE_HASHING_GB_PER_S = 4 * _HASHING_GB_PER_S
"""Of the copiers of a node, which take so many files at once (node/trainer/copying.py)."""

SUMS_GB_PER_S = 0.3
"""Assumed: SHA-256 by one process; GNU coreutils 9 on one processor of a virtual machine, sha256sum: 0.38."""

SCHEDULED_SECONDS = 1800
"""Until the Job of a copier has a node, which comes on top of what it may take to copy."""


def copier_gb_per_s(instance: Instance) -> float:
    """GB/s that one pod on a node of that type reads from the file system, hashes, and sends to S3."""
    network = min(instance.network_gbit_per_s, _GBIT_PER_S_PER_VCPU * instance.vcpu)
    return min(gbyte_per_s(network), _HASHING_GB_PER_S)


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


LOCAL, SHARED, OBJECTS = "local disks", "file system", "object store"


def checkpoint_tiers(run: RunStorage, shared_gb_per_s: float) -> Iterator[Tier]:
    """The nodes' own disks, the file system at what it takes from all clients or at what the run's nodes send, and the
    object store where the newest checkpoint is copied there.

    Training waits for the first place that the run uses. What goes on from there is copied beside the training.
    """
    io, saving = run.io, run.io.saving
    if not io.checkpoint_gb or saving is None:
        return
    disks, reached = write_gb_per_s(run.nvme), min(shared_gb_per_s, run.nodes_gb_per_s)
    local_s = local_write_seconds(io, disks) if disks else 0.0
    shared_s = saving.copy_s or (io.checkpoint_gb / reached if reached else 0.0)
    stood = stood_part(local_s if saving.local else shared_s, saving.every_s)
    if local_s:
        yield Tier(name=LOCAL, pause_s=local_s, every_s=saving.every_s)
    if shared_s and saving.local:
        yield Tier(name=SHARED, pause_s=shared_s, every_s=saving.file_system_s, waits=False, stood_part=stood)
    elif shared_s:
        yield Tier(name=SHARED, pause_s=shared_s, every_s=saving.every_s)
    if saving.object_store_s and run.object_copy_s:
        taken, every = run.object_copy_s, saving.object_store_s
        yield Tier(name=OBJECTS, pause_s=taken, every_s=every, waits=False, direct=False, stood_part=stood)
