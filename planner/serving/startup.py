"""How long a replica takes until it answers. Seconds; rates in GB/s one way."""

from catalogue.units import BYTES_PER_GB

_SHORTEST_BUDGET_S = 600
_BUDGET_FACTOR = 2
_IMAGE_GB = 10.0
_PULL_GB_PER_S = 0.2


def load_seconds(weights_bytes: float, gb_per_s: float) -> float:
    """Seconds to read the weights from a store of that rate."""
    return weights_bytes / (gb_per_s * BYTES_PER_GB)


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
