"""The fields that the GPU Operator's DCGM exporter exports, and no more (U02, U10, DC10).

The operator's own list leaves out most of what tells a sick GPU (XIDs as counts, uncorrectable ECC errors, clock event
reasons, NVLink errors), so alerts on those would never fire. Names are those of dcgm-exporter 4.5.3-4.8.2, which GPU
Operator 26.3.3 deploys, and of go-dcgm ec245c0, by which that exporter reads its list: it ends at an unknown name.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Counter:
    """A line of the exporter's list. `help` has no comma: the list is CSV of exactly three fields."""

    field: str
    kind: Literal["gauge", "counter", "label"]
    help: str


def _gauge(field: str, text: str) -> Counter:
    return Counter(field=field, kind="gauge", help=text)


def _counter(field: str, text: str) -> Counter:
    return Counter(field=field, kind="counter", help=text)


DCGM_COUNTERS = (
    _gauge("DCGM_FI_DEV_GPU_TEMP", "GPU temperature in C."),
    _gauge("DCGM_FI_DEV_MEMORY_TEMP", "Memory temperature in C."),
    _gauge("DCGM_FI_DEV_GPU_TEMP_LIMIT", "Degrees C left until the nearest slowdown threshold."),
    _gauge("DCGM_FI_DEV_POWER_USAGE", "Power draw in W."),
    _gauge("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "Power limit that the driver enforces in W."),
    _counter("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "Energy since the driver was loaded in mJ."),
    _gauge("DCGM_FI_DEV_SM_CLOCK", "SM clock in MHz."),
    _gauge("DCGM_FI_DEV_GPU_UTIL", "Time in which a kernel ran in percent."),
    _gauge("DCGM_FI_PROF_SM_ACTIVE", "Part of the cycles in which an SM has a warp."),
    _gauge("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "Part of the cycles in which the tensor pipe is active."),
    _gauge("DCGM_FI_PROF_DRAM_ACTIVE", "Part of the cycles in which the memory interface is active."),
    _gauge("DCGM_FI_PROF_NVLINK_TX_BYTES", "NVLink bytes sent per second."),
    _gauge("DCGM_FI_PROF_NVLINK_RX_BYTES", "NVLink bytes received per second."),
    _gauge("DCGM_FI_DEV_FB_USED", "Memory used in MiB."),
    _gauge("DCGM_FI_DEV_FB_FREE", "Memory free in MiB."),
    _gauge("DCGM_FI_DEV_FB_RESERVED", "Memory that the driver keeps in MiB."),
    # Counts over a window that slides, 5 minutes by default: they fall again, so they are no counters.
    _gauge("DCGM_EXP_XID_ERRORS_COUNT", "XID errors of the last 5 minutes."),
    _gauge("DCGM_EXP_CLOCK_EVENTS_COUNT", "Samples of the last 5 minutes in which a clock event was engaged."),
    _counter("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "Corrected ECC errors since the driver was loaded."),
    _counter("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "Uncorrectable ECC errors since the driver was loaded."),
    _gauge("DCGM_FI_DEV_ROW_REMAP_PENDING", "1 where a row waits for a reset to be remapped."),
    _gauge("DCGM_FI_DEV_ROW_REMAP_FAILURE", "1 where remapping of a row has failed."),
    _counter("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "Rows remapped for uncorrectable errors."),
    _counter("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "Rows remapped for correctable errors."),
    _counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "PCIe packets sent again."),
    _gauge("DCGM_FI_DEV_PCIE_LINK_WIDTH", "PCIe lanes in use."),
    _gauge("DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", "PCIe lanes that the GPU and its slot can use."),
    _counter("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "NVLink flow control CRC errors."),
    _counter("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "NVLink data CRC errors."),
    _counter("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "NVLink packets sent again."),
    _counter("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "NVLink links that had to recover."),
    Counter(field="DCGM_FI_DRIVER_VERSION", kind="label", help="Driver version."),
)


def dcgm_csv() -> str:
    """The list as the exporter reads it, for the key `dcgm-metrics.csv` of the ConfigMap that the operator names."""
    return "".join(f"{each.field}, {each.kind}, {each.help}\n" for each in DCGM_COUNTERS)
