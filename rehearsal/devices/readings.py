"""What DCGM reads of a GPU, field by field. Pure.

Source: DCGM, "Field Identifiers" (units, which GPUs have a field); dcgm-exporter leaves out what DCGM has no value for.
A field that is not here has no value: it is not simulated. Shares that say ASSUMED stand for what depends on a program.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rehearsal.devices import boards
from rehearsal.devices.boards import Board
from rehearsal.devices.gpus import Gpu
from rehearsal.kubelet.allotted import Work
from rehearsal.kubelet.faults import GpuState

DRIVER = "580.105.08"
"""NVIDIA's driver on EKS' optimised AMIs of November 2025 (amazon-eks-ami, CHANGELOG)."""

RESERVED_MIB = 600
IDLE_MHZ = 300
SLOWED_SHARE = 0.5
"""Of its clock that a GPU keeps in a hardware slowdown, at most (nvidia-smi(1), clocks_event_reasons.hw_slowdown)."""
# ASSUMED, while kernels run: SMs with a warp, warps of those possible, tensor pipe, memory interface, NVLink, PCIe.
SM_SHARE, OCCUPANCY, TENSOR_SHARE, DRAM_SHARE, LINK_SHARE, PCIE_SHARE = 0.8, 0.3, 0.4, 0.5, 0.1, 0.02
PCIE_BYTES_PER_SECOND = 64e9
PCIE_LANES = 16
REMAPS_ROWS = frozenset({"ampere", "ada-lovelace", "hopper", "blackwell"})
"""Families that remap rows; older ones retire pages (NVIDIA, GPU Memory Error Management)."""


@dataclass(frozen=True)
class Reading:
    """One GPU, or one slice of it, at one moment. `memory` is what there is of it, in MiB; `peers` hold its links."""

    gpu: Gpu
    board: Board
    work: Work
    state: GpuState
    energy_mj: int
    memory: int
    peers: bool = False
    sliced: bool = False

    @property
    def link_bytes(self) -> float:
        """NVLink bytes a second in one direction."""
        return self.board.links * self.board.link_gbps * 1e9 * LINK_SHARE * self.work.compute if self.peers else 0.0

    @property
    def used(self) -> int:
        return int(self.work.memory * (self.memory - RESERVED_MIB))


Field = Callable[[Reading], float | None]


def _linked(of: Field) -> Field:
    return lambda reading: of(reading) if reading.board.links else None


def _whole(of: Field) -> Field:
    """A field that no slice has (NVIDIA, MIG user guide, "Monitoring MIG with DCGM")."""
    return lambda reading: None if reading.sliced else of(reading)


def _remapping(of: Field) -> Field:
    return lambda reading: of(reading) if reading.gpu.family in REMAPS_ROWS else None


def _retiring(of: Field) -> Field:
    return lambda reading: None if reading.gpu.family in REMAPS_ROWS else of(reading)


def _nothing(_: Reading) -> float:
    return 0


FIELDS: Mapping[str, Field] = {
    "DCGM_FI_DEV_SM_CLOCK": lambda r: (
        int(r.board.sm_mhz * (SLOWED_SHARE if r.state.slowed else 1)) if r.work.compute else IDLE_MHZ
    ),
    "DCGM_FI_DEV_MEM_CLOCK": lambda r: r.board.memory_mhz,
    "DCGM_FI_DEV_GPU_TEMP": lambda r: int(boards.celsius(r.work.compute)),
    "DCGM_FI_DEV_MEMORY_TEMP": lambda r: (
        int(boards.celsius(r.work.compute) + boards.MEMORY_ABOVE) if r.board.hbm else 0
    ),
    "DCGM_FI_DEV_GPU_TEMP_LIMIT": lambda r: int(boards.SLOWDOWN_CELSIUS - boards.celsius(r.work.compute)),
    "DCGM_FI_DEV_POWER_USAGE": lambda r: round(boards.watts(r.board, r.work.compute), 3),
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT": lambda r: r.board.watts,
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": lambda r: r.board.watts,
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": lambda r: r.energy_mj,
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": lambda r: r.state.replays,
    "DCGM_FI_DEV_PCIE_LINK_WIDTH": lambda _: PCIE_LANES,
    "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH": lambda _: PCIE_LANES,
    "DCGM_FI_DEV_GPU_UTIL": _whole(lambda r: round(100 * r.work.compute)),
    "DCGM_FI_DEV_MEM_COPY_UTIL": _whole(lambda r: round(100 * r.work.compute * DRAM_SHARE)),
    "DCGM_FI_DEV_ENC_UTIL": _whole(_nothing),
    "DCGM_FI_DEV_DEC_UTIL": _whole(_nothing),
    "DCGM_FI_DEV_FB_TOTAL": lambda r: r.memory,
    "DCGM_FI_DEV_FB_USED": lambda r: r.used,
    "DCGM_FI_DEV_FB_FREE": lambda r: r.memory - RESERVED_MIB - r.used,
    "DCGM_FI_DEV_FB_RESERVED": lambda _: RESERVED_MIB,
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": _nothing,
    "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL": _nothing,
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": lambda r: r.state.double_bit,
    "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL": lambda r: r.state.double_bit,
    "DCGM_FI_DEV_RETIRED_SBE": _retiring(_nothing),
    "DCGM_FI_DEV_RETIRED_DBE": _retiring(lambda r: r.state.remapped_rows),
    "DCGM_FI_DEV_RETIRED_PENDING": _retiring(lambda r: int(r.state.xid == 63)),
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": _remapping(lambda r: r.state.remapped_rows),
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": _remapping(_nothing),
    "DCGM_FI_DEV_ROW_REMAP_PENDING": _remapping(lambda r: int(r.state.xid == 63)),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": _remapping(_nothing),
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL": _linked(lambda r: int(2 * r.link_bytes / 1e6)),
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": _linked(lambda r: r.state.link_errors),
    "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL": _linked(lambda r: r.state.link_errors),
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL": _linked(lambda r: r.state.link_errors),
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": _linked(lambda r: r.state.link_recoveries),
    "DCGM_FI_DEV_VGPU_LICENSE_STATUS": _nothing,
    "DCGM_FI_DEV_POWER_VIOLATION": _nothing,
    "DCGM_FI_DEV_THERMAL_VIOLATION": _nothing,
    "DCGM_FI_DEV_SYNC_BOOST_VIOLATION": _nothing,
    "DCGM_FI_DEV_BOARD_LIMIT_VIOLATION": _nothing,
    "DCGM_FI_DEV_LOW_UTIL_VIOLATION": _nothing,
    "DCGM_FI_DEV_RELIABILITY_VIOLATION": _nothing,
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": lambda r: round(r.work.compute, 6),
    "DCGM_FI_PROF_SM_ACTIVE": lambda r: round(r.work.compute * SM_SHARE, 6),
    "DCGM_FI_PROF_SM_OCCUPANCY": lambda r: round(r.work.compute * OCCUPANCY, 6),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": lambda r: round(r.work.compute * TENSOR_SHARE, 6),
    "DCGM_FI_PROF_DRAM_ACTIVE": lambda r: round(r.work.compute * DRAM_SHARE, 6),
    "DCGM_FI_PROF_PCIE_TX_BYTES": lambda r: int(r.work.compute * PCIE_SHARE * PCIE_BYTES_PER_SECOND),
    "DCGM_FI_PROF_PCIE_RX_BYTES": lambda r: int(r.work.compute * PCIE_SHARE * PCIE_BYTES_PER_SECOND),
    "DCGM_FI_PROF_NVLINK_TX_BYTES": _linked(lambda r: int(r.link_bytes)),
    "DCGM_FI_PROF_NVLINK_RX_BYTES": _linked(lambda r: int(r.link_bytes)),
}

XID = "DCGM_FI_DEV_XID_ERRORS"
"""The one field that a GPU which is gone still has."""


def value(field: str, reading: Reading) -> float | None:
    """What DCGM reads of a field; None where it has no value for this GPU."""
    if field == XID:
        return reading.state.xid
    read = FIELDS.get(field)
    return None if read is None or reading.state.gone else read(reading)
