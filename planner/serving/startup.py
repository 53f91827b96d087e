"""How long a replica takes until it answers. Seconds; rates in GB/s one way."""

from catalogue.units import BYTES_PER_GB
from planner.serving.sources import HubSource, ObjectSource, source_of
from planner.storage.s3 import SCHEDULED_SECONDS

_SHORTEST_BUDGET_S = 600
_BUDGET_FACTOR = 2
_IMAGE_GB = 10.0
_PULL_GB_PER_S = 0.2
_HUB_GB_PER_S = 0.1
"""Assumed: a hub promises no rate, and a node's way to it goes through a NAT or a proxy."""

_SUMS_GB_PER_S = 0.3
"""Assumed: SHA-256 by one process; GNU coreutils 9 on one processor of a virtual machine, sha256sum: 0.38."""

_PROCESS_GB_PER_S = 2.0
"""Assumed: what one process of vLLM copies from the page cache to its GPU, tensor by tensor."""


def load_seconds(weights_bytes: float, gb_per_s: float) -> float:
    """Seconds to read the weights from a store of that rate."""
    return weights_bytes / (gb_per_s * BYTES_PER_GB)


def load_rate_gb_per_s(shared: float, node: float | None, pcie: float, gpus: int) -> float:
    """The slowest on the weights' way to so many GPUs of a node, in GB/s: the file system's whole rate, the node's
    network to it (None or 0: unknown), the GPUs' PCIe lanes, the processes that read, one for each GPU.
    """
    return min(shared, gpus * pcie, gpus * _PROCESS_GB_PER_S, *((node,) if node else ()))


def startup_seconds(load_s: float) -> int:
    """Budget of the startup probe: twice the time to read the weights, at least 600 s for compilation.

    Without it the liveness probe would kill a server that still loads, again and again.
    """
    return max(_SHORTEST_BUDGET_S, int(_BUDGET_FACTOR * load_s))


def scale_up_seconds(
    load_s: float, node_s: float = 0.0, image_gb: float = _IMAGE_GB, pull_gb_per_s: float = _PULL_GB_PER_S
) -> float:
    """Seconds from the autoscaler's decision to the first answer: node start, image pull, weights.

    A pool of fixed size has its nodes already. The image's 10 GB at 0.2 GB/s are assumed for a node without it.
    """
    return node_s + image_gb / pull_gb_per_s + load_s


def copy_seconds(weights: str, weights_bytes: float, from_store_s: int) -> int:
    """Budget of the Job that brings a model to the file system: `from_store_s` from an object store; from a hub twice
    what it takes at 0.1 GB/s. Until the Job has a node comes on top, and for objects twice what it takes to compare
    them with their SHA256SUMS.
    """
    hub = isinstance(source_of(weights), HubSource)
    slow = int(_BUDGET_FACTOR * load_seconds(weights_bytes, _HUB_GB_PER_S)) if hub else 0
    stored = isinstance(source_of(weights), ObjectSource)
    compared = int(_BUDGET_FACTOR * load_seconds(weights_bytes, _SUMS_GB_PER_S)) if stored else 0
    return max(from_store_s, slow) + compared + SCHEDULED_SECONDS
