"""GPUs, heat and power."""

from tests.monitoring.cases.case import Case
from tests.monitoring.healthy import Series, bmc, dcgm, in_cluster, ready, then_rising, turns, unready

_A0 = {"node": "gpu-a", "gpu": "0", "pool": "train"}
_A = {"node": "gpu-a", "pool": "train"}


def _xid(number: int, gpu: int = 0, node: str = "gpu-a") -> Series:
    """The exporter's count over 5 minutes, for an XID that comes once."""
    found = dcgm("DCGM_EXP_XID_ERRORS_COUNT", node, gpu, window_size_in_ms="300000", xid=str(number))
    return {found: turns(0, 1, minute=16)}


def _clock_event(name: str, samples: int) -> Series:
    event = {"window_size_in_ms": "300000", "clock_event": name}
    return {dcgm("DCGM_EXP_CLOCK_EVENTS_COUNT", "gpu-a", 0, **event): turns(0, samples)}


def _allocatable(count: int, node: str = "gpu-a") -> Series:
    labels = {"node": node, "resource": "nvidia_com_gpu", "unit": "integer"}
    return {in_cluster("kube_node_status_allocatable", **labels): turns(2, count)}


HARDWARE: dict[str, Case] = {
    "gpu-unavailable": Case(
        firing=_xid(79) | _allocatable(1),
        silent=_xid(31) | _allocatable(2),
        labels=(_A,),
        summary="Node gpu-a of pool train has lost 1 of its GPUs.",
        gone=tuple(dcgm(metric, "gpu-a", 0) for metric in ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE")),
    ),
    "gpu-memory": Case(
        firing=_xid(48)
        | _xid(63)
        | _allocatable(1)
        | unready("gpu-a", "AcceleratedHardwareReady")
        | {
            dcgm("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "gpu-a", 0): turns(0, 1, minute=16),
            dcgm("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "gpu-a", 0): turns(0, 1, minute=16),
        },
        silent=_xid(63)
        | _xid(92)
        | {dcgm("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "gpu-a", 0): then_rising(40)}
        | {dcgm("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "gpu-a", 0): turns(0, 1)},
        labels=(_A0,),
        summary="GPU 0 of node gpu-a has uncorrectable memory errors (1 in the last 5 minutes).",
    ),
    "gpu-memory-contained": Case(
        firing=_xid(94),
        silent=_xid(63),
        labels=(_A0,),
        summary="GPU 0 of node gpu-a contained a memory error: the process that hit it was killed.",
    ),
    "gpu-driver": Case(
        firing=_xid(119) | _allocatable(1) | unready("gpu-a", "AcceleratedHardwareReady"),
        silent=_xid(13) | _xid(43),
        labels=({**_A0, "xid": "119"},),
        summary="GPU 0 of node gpu-a reports XID 119: its driver or firmware hangs and needs a reset.",
    ),
    "gpu-nvlink": Case(
        firing=_xid(74)
        | _allocatable(1)
        | {
            dcgm("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "gpu-a", 0): then_rising(20),
            dcgm("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "gpu-a", 0): then_rising(0.5),
        },
        silent={dcgm("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "gpu-a", 0): then_rising(0.9)},
        labels=(_A0,),
        summary="GPU 0 of node gpu-a has NVLink errors (1 in the last 5 minutes).",
    ),
    "gpu-pcie": Case(
        firing={dcgm("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "gpu-a", 0): then_rising(30)},
        silent={dcgm("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "gpu-a", 0): then_rising(15)},
        labels=(_A0,),
        summary="The PCIe link of GPU 0 of node gpu-a replays 60 packets a minute.",
    ),
    "gpu-throttled": Case(
        firing=_clock_event("hw_thermal", 4) | {dcgm("DCGM_FI_DEV_GPU_TEMP", "gpu-a", 0): turns(48, 88)},
        silent=_clock_event("hw_thermal", 2) | _clock_event("power_cap", 10),
        labels=(_A0,),
        summary="GPU 0 of node gpu-a throttled because of heat in 4 of 10 samples in the last 5 minutes.",
    ),
    "gpu-hot": Case(
        firing={dcgm("DCGM_FI_DEV_GPU_TEMP", "gpu-a", 0): turns(48, 85)},
        silent={dcgm("DCGM_FI_DEV_GPU_TEMP", "gpu-a", 0): turns(48, 84)},
        labels=(_A0,),
        summary="GPU 0 of node gpu-a has been at 85 C for 5 minutes.",
    ),
    "gpu-power-brake": Case(
        firing=_clock_event("hw_power_brake", 10),
        silent=_clock_event("power_cap", 10) | _clock_event("hw_power_brake", 2),
        labels=(_A0,),
        summary="GPU 0 of node gpu-a was power-braked by its server in 10 of 10 samples in the last 5 minutes.",
    ),
    "power-supply-lost": Case(
        firing={bmc("bmc_power_supply_ok", "gpu-a", supply="PSU1"): turns(1, 0)},
        silent={bmc("bmc_power_supply_ok", "gpu-c", supply="PSU9"): turns(1, 0)},
        labels=(_A,),
        summary="Machine gpu-a of pool train has lost 1 of its power supplies.",
    ),
    "fan-failed": Case(
        firing={bmc("bmc_fan_ok", "gpu-a", fan="FAN2"): turns(1, 0)},
        labels=({**_A, "fan": "FAN2"},),
        summary="Fan FAN2 of machine gpu-a has failed.",
    ),
    "inlet-hot": Case(
        firing={bmc("bmc_inlet_celsius", "gpu-a", sensor="Intake"): turns(24, 31)},
        silent={
            bmc("bmc_inlet_celsius", "gpu-a", sensor="Intake"): turns(24, 30),
            bmc("bmc_inlet_celsius", "gpu-c", sensor="Intake"): turns(24, 35),
        },
        labels=(_A,),
        summary="Machine gpu-a of pool train has drawn in air of 31 C for 5 minutes, more than it may be given.",
    ),
    "controller-silent": Case(
        firing={bmc("bmc_up", "gpu-a"): turns(1, 0, minute=3)},
        silent={bmc("bmc_up", "gpu-b"): turns(1, 0, minute=6)},
        labels=(_A,),
        summary="The management controller of machine gpu-a has not answered for 15 minutes.",
        gone=(bmc("bmc_inlet_celsius", "gpu-a", sensor="Intake"),),
    ),
    "nodes-lost-together": Case(
        firing=ready("gpu-a", "unknown") | ready("gpu-b", "unknown"),
        labels=({"pool": "train"},),
        summary="2 nodes of pool train stopped reporting within 15 minutes.",
    ),
}
