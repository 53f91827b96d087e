"""Plausible ranges for the numbers of a site's own rows: every machine on the market lies within."""

from collections.abc import Mapping

BOUNDS: Mapping[str, tuple[float, float]] = {
    # GPUs
    "memory_gb": (1, 100_000),
    "memory_tb_per_s": (0, 1_000),
    "compute_capability": (1, 100),
    "fp16_tflops": (0, 1_000_000),
    "bf16_tflops": (0, 1_000_000),
    "fp8_tflops": (0, 1_000_000),
    "tdp_w": (1, 100_000),
    "nvlink_one_way_gb_per_s": (0, 100_000),
    "nvlink_links": (0, 1_000),
    "nvlink_gpus": (1, 1_024),
    "pcie_generation": (3, 8),
    "max_sm_clock_mhz": (100, 100_000),
    "driver_mib": (256, 100_000_000),
    "MigProfile.count": (1, 64),
    # machines
    "vcpu": (1, 16_384),
    "memory_gib": (1, 1_000_000),
    "gpu_count": (0, 256),
    "neuron_count": (0, 256),
    "cores": (1, 4_096),
    "sockets": (1, 16),
    "threads_per_core": (1, 8),
    "watts": (1, 100_000),
    "redundant": (0, 63),
    "max_w": (1, 1_000_000),
    "rack_units": (1, 60),
    "inlet_c": (10, 60),
    "PowerSupplies.count": (1, 64),
    "Nvme.count": (1, 256),
    "size_gb": (1, 1_000_000),
    "drives": (1, 4_096),
    "drive_tb": (0, 10_000),
    "drive_read_gb_per_s": (0, 1_000),
    "drive_write_gb_per_s": (0, 1_000),
    # networks
    "index": (0, 255),
    "max_interfaces": (1, 255),
    "addresses_per_interface": (2, 1_000),
    "network_gbit_per_s": (0, 1_000_000),
    "efa_max": (0, 256),
    "ports": (1, 2_048),
    "ports_per_cage": (1, 64),
    "NicGroup.count": (1, 64),
    "ways": (2, 64),
    # models
    "parameters": (1, 10**15),
    "layers": (1, 100_000),
    "hidden": (1, 10_000_000),
    "heads": (1, 100_000),
    "kv_heads": (1, 100_000),
    "head_dim": (1, 100_000),
    "ffn": (1, 100_000_000),
    "vocab": (1, 100_000_000),
    "context": (256, 10**9),
    "windowed_layers": (0, 100_000),
    "window": (0, 10**9),
    "bytes_per_parameter": (0, 16),
    "kv_rank": (1, 1_000_000),
    "query_rank": (0, 1_000_000),
    "nope_dim": (0, 100_000),
    "rope_dim": (0, 100_000),
    "value_dim": (1, 100_000),
    "Experts.count": (1, 1_000_000),
    "active": (1, 1_000_000),
    "shared": (0, 1_000_000),
    # prices
    "usd_per_hour": (0, 1_000_000),
    "usd": (0, 10**9),
    "low": (0, 10**9),
    "high": (0, 10**9),
}
"""Smallest and largest by field, or by type and field where a name means several things. Whole numbers may be the
smallest; others are above a smallest of 0, but for those of `MAY_BE_NOTHING`."""

MAY_BE_NOTHING = ("nvlink_one_way_gb_per_s",)

ENTRIES: Mapping[str, int] = {"cards": 1, "usage_classes": 1}
"""Lists that are never empty, and their fewest entries."""


def bounds(kind: type, field: str) -> tuple[float, float]:
    """The smallest and largest value of a row type's field. Raises KeyError where none are recorded."""
    own = f"{kind.__name__}.{field}"
    return BOUNDS[own] if own in BOUNDS else BOUNDS[field]
