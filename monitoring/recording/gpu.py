"""GPUs by node and index. What users of a GPU change must not make new series: pods' labels go."""

from monitoring.rule import Group, Recording, in_pool

_MIB = 1 << 20


def _of_gpu(what: str, expression: str, *more: str) -> Recording:
    """The greatest by GPU: a GPU that two containers share, or MIG cuts, is reported once for each."""
    by = ", ".join(("node", "gpu", *more))
    return Recording(f"gpucluster:gpu:{what}", in_pool(f"max by ({by}) ({expression})"), ("node", "gpu", "pool", *more))


def _kinds(what: str, label: str, fields: dict[str, str]) -> tuple[Recording, ...]:
    """One name for several fields, told apart by `label`."""
    return tuple(
        Recording(
            f"gpucluster:gpu:{what}",
            in_pool(f"max by (node, gpu) ({field})"),
            ("node", "gpu", "pool"),
            constant={label: kind},
        )
        for kind, field in fields.items()
    )


GPU = Group(
    name="gpu",
    rules=(
        _of_gpu("temperature_celsius", "DCGM_FI_DEV_GPU_TEMP"),
        _of_gpu("temperature_margin_celsius", "DCGM_FI_DEV_GPU_TEMP_LIMIT"),
        _of_gpu("memory_temperature_celsius", "DCGM_FI_DEV_MEMORY_TEMP"),
        _of_gpu("power_watts", "DCGM_FI_DEV_POWER_USAGE"),
        _of_gpu("power_limit_watts", "DCGM_FI_DEV_ENFORCED_POWER_LIMIT"),
        _of_gpu("energy_joules", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION / 1000"),
        _of_gpu("sm_clock_megahertz", "DCGM_FI_DEV_SM_CLOCK"),
        _of_gpu("utilisation_ratio", "DCGM_FI_DEV_GPU_UTIL / 100"),
        _of_gpu("sm_active_ratio", "DCGM_FI_PROF_SM_ACTIVE"),
        _of_gpu("tensor_active_ratio", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"),
        _of_gpu("memory_active_ratio", "DCGM_FI_PROF_DRAM_ACTIVE"),
        _of_gpu("memory_used_bytes", f"DCGM_FI_DEV_FB_USED * {_MIB}"),
        _of_gpu(
            "memory_total_bytes", f"(DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE + DCGM_FI_DEV_FB_RESERVED) * {_MIB}"
        ),
        *_kinds(
            "nvlink_bytes_per_second",
            "direction",
            {"tx": "DCGM_FI_PROF_NVLINK_TX_BYTES", "rx": "DCGM_FI_PROF_NVLINK_RX_BYTES"},
        ),
        *_kinds(
            "nvlink_errors",
            "kind",
            {
                "crc_flit": "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
                "crc_data": "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
                "replay": "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
                "recovery": "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
            },
        ),
        # Without errors the exporter shows one series of 0 that names no XID.
        _of_gpu("xid_errors", 'DCGM_EXP_XID_ERRORS_COUNT{xid!=""}', "xid"),
        _of_gpu("clock_event_samples", 'DCGM_EXP_CLOCK_EVENTS_COUNT{clock_event!=""}', "clock_event"),
        _of_gpu("ecc_uncorrectable_errors", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"),
        _of_gpu("ecc_corrected_errors", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"),
        _of_gpu("row_remap_pending", "DCGM_FI_DEV_ROW_REMAP_PENDING"),
        _of_gpu("row_remap_failure", "DCGM_FI_DEV_ROW_REMAP_FAILURE"),
        *_kinds(
            "remapped_rows",
            "kind",
            {
                "correctable": "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
                "uncorrectable": "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
            },
        ),
        _of_gpu("pcie_replays", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER"),
        _of_gpu("pcie_width_ratio", "DCGM_FI_DEV_PCIE_LINK_WIDTH / DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH"),
        Recording(
            "gpucluster:gpu:run",
            in_pool(
                "max by (node, gpu, run) (0 * max by (node, gpu, namespace, pod)"
                ' (label_replace(label_replace(DCGM_FI_DEV_GPU_TEMP{exported_pod!=""}, "pod", "$1", "exported_pod",'
                ' "(.+)"), "namespace", "$1", "exported_namespace", "(.+)")) + on (namespace, pod) group_left (run)'
                " gpucluster:pod:run)"
            ),
            ("node", "gpu", "pool", "run"),
        ),
        Recording(
            "gpucluster:gpu:idle_memory_bytes",
            in_pool(f'max by (node, gpu) (DCGM_FI_DEV_FB_USED{{exported_pod=""}} * {_MIB})'),
            ("node", "gpu", "pool"),
        ),
    ),
)

TRENDS = Group(
    name="gpu-trends",
    interval="1h",
    rules=(
        Recording(
            "gpucluster:gpu:temperature_drift_celsius",
            "avg_over_time(gpucluster:gpu:temperature_celsius[1d]) -"
            " avg_over_time(gpucluster:gpu:temperature_celsius[1d] offset 1w)",
            ("node", "gpu", "pool"),
        ),
        Recording(
            "gpucluster:gpu:ecc_corrected_errors_per_day",
            "increase(gpucluster:gpu:ecc_corrected_errors[1d])",
            ("node", "gpu", "pool"),
        ),
        Recording(
            "gpucluster:pool:utilisation_ratio",
            "avg by (pool) (avg_over_time(gpucluster:gpu:utilisation_ratio[1d]))",
            ("pool",),
        ),
        Recording(
            "gpucluster:pool:energy_kilowatt_hours_per_day",
            "sum by (pool) (increase(gpucluster:gpu:energy_joules[1d])) / 3.6e6",
            ("pool",),
        ),
    ),
)
