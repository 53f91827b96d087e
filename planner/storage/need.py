"""What a training run asks of storage. Sizes in decimal GB, rates in GB/s one way, times in seconds."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from catalogue.units import BYTES_PER_GB
from planner.reliability.checkpoints import Saving

_ADAM_MOMENTS_BYTES = 8
_MASTER_BYTES = 4
_SAVED_WEIGHT_BYTES = {"bf16": 2, "fp16": 2, "fp8": 2, "fp32": 4}
_BYTES_PER_TOKEN = 4


class Staging(StrEnum):
    """What a node copies to its NVMe before it trains: nothing, its share of the dataset, or all of it."""

    NONE = "none"
    SHARD = "shard"
    FULL = "full"


@dataclass(frozen=True, kw_only=True)
class RunIo:
    """A run's use of storage: the size and the times of its checkpoints, where it saves any, and its dataset."""

    name: str
    nodes: int
    checkpoint_gb: float = 0.0
    saving: Saving | None = None
    dataset_gb: float = 0.0
    staging: Staging = Staging.NONE

    @property
    def kept_gb(self) -> float:
        """GB of all checkpoints that are kept."""
        return self.checkpoint_gb * self.saving.keep if self.saving else 0.0


def checkpoint_bytes_per_parameter(precision: str = "bf16") -> int:
    """Bytes that Adam training saves per parameter: weights, an fp32 master copy, two fp32 moments.

    fp8 training saves its weights as bf16; fp32 weights are their own master copy. Gradients are not saved. Source:
    ZeRO (Rajbhandari et al. 2020), mixed-precision states. Raises ValueError on another precision.
    """
    if precision not in _SAVED_WEIGHT_BYTES:
        raise ValueError(f"no precision {precision!r}: {', '.join(_SAVED_WEIGHT_BYTES)}")
    weights = _SAVED_WEIGHT_BYTES[precision]
    return weights + _ADAM_MOMENTS_BYTES + (0 if weights == _MASTER_BYTES else _MASTER_BYTES)


def checkpoint_gb(parameters: float, precision: str = "bf16") -> float:
    """Size of one checkpoint of so many trained parameters, in GB."""
    return parameters * checkpoint_bytes_per_parameter(precision) / BYTES_PER_GB


def shared_write_gb_per_s(run: RunIo) -> float:
    """What the run's checkpoints ask of the shared file system while they are written to it."""
    if run.saving is None:
        return 0.0
    return run.checkpoint_gb / (run.saving.file_system_s if run.saving.local else run.saving.within_s)


def target_gb_per_s(runs: Iterable[RunIo]) -> float:
    """What the runs' checkpoints ask of the file system together, if all write at the same time."""
    return sum(shared_write_gb_per_s(run) for run in runs)


def local_write_seconds(run: RunIo, node_write_gb_per_s: float) -> float:
    """Seconds until every node has its part of a checkpoint on its own NVMe."""
    return run.checkpoint_gb / run.nodes / node_write_gb_per_s


def shared_copy_seconds(run: RunIo, *, storage: float, node: float, hashing: float) -> int:
    """Whole seconds from the nodes' disks to the file system, each node its part; 0 where nothing is copied, or no way
    is known. The rates are GB/s, of the file system and of one node's network and hashes: copiers hash what they read.
    """
    reached = min(storage, run.nodes * min(node, hashing))
    copies = run.saving is not None and run.saving.local
    return math.ceil(run.checkpoint_gb / reached) if copies and reached else 0


def object_copy_seconds(size_gb: float, copier_gb_per_s: float) -> float:
    """Seconds to copy a checkpoint to the object store: it is read twice, to check its hashes and to send it."""
    return 2 * size_gb / copier_gb_per_s


def text_gb(tokens: float) -> float:
    """GB of text as token ids of four bytes; GB/s where tokens are those of a second."""
    return tokens * _BYTES_PER_TOKEN / BYTES_PER_GB


def staged_gb_per_node(dataset_gb: float, nodes: int, staging: Staging) -> float:
    """What staging puts on each node's NVMe."""
    return {Staging.NONE: 0.0, Staging.SHARD: dataset_gb / nodes, Staging.FULL: dataset_gb}[staging]


def staging_seconds(run: RunIo, *, storage: float, node_network: float, node_write: float) -> float:
    """Seconds to stage the dataset on all nodes; the rates are GB/s, of the file system and of one node."""
    volume = staged_gb_per_node(run.dataset_gb, run.nodes, run.staging) * run.nodes
    return volume / min(storage, run.nodes * node_network, run.nodes * node_write)
