"""S3 as the place of last resort for checkpoints: how fast one pod brings them there."""

from catalogue.types import Instance
from catalogue.units import gbyte_per_s

_GBIT_PER_S_PER_VCPU = 12.5 / 32
"""What a type of "up to" so much keeps when its burst is over: m7i, m6i and g6e sizes up to 8xlarge, in proportion.

Source: EC2 user guide, "Amazon EC2 instance network bandwidth" (baselines of the types).
"""

_HASHING_GB_PER_S = 1.0
"""Approximate: sha256sum on one core with SHA instructions reads 1 to 2 GB/s."""

SCHEDULED_SECONDS = 1800
"""Until the Job of a copier has a node, which comes on top of what it may take to copy."""


def copier_gb_per_s(instance: Instance) -> float:
    """GB/s that one pod on a node of that type reads from the file system, hashes, and sends to S3."""
    network = min(instance.network_gbit_per_s, _GBIT_PER_S_PER_VCPU * instance.vcpu)
    return min(gbyte_per_s(network), _HASHING_GB_PER_S)
