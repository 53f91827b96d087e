"""What the exporters of a healthy and a slightly sick cluster say over some hours, as OpenMetrics.

Names and labels are those of the exporters of the pinned charts: dcgm-exporter (honorLabels off, so its users are
exported_*), node_exporter with its InfiniBand collector, kube-state-metrics, Volcano, vLLM, cert-manager and the
kubelet, as Prometheus stores them after scraping; and those of a run's own script (monitoring/run_metrics.py).
"""

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from monitoring.run_metrics import CHECKPOINT_PAUSE, CHECKPOINT_TIME, LOSS, STEP, STEP_SECONDS, TOKENS

Value = Callable[[float], float | None]
"""A value by the seconds since the beginning; None where the exporter says nothing."""

GPUS = 8
TRAINERS, SERVERS = ("train-0", "train-1", "train-2", "train-3"), ("serve-0",)
STEP_S, TOKENS_PER_STEP, SAVE_S = 9.1, 524_288, 1800.0
FELL, CAME_BACK, LOST_STEPS = 9000.0, 9900.0, 120
"""The run is away between these seconds, and has so many steps to do again."""


@dataclass
class Exporters:
    """Collects series; `text` is the whole of them from `start` to `end`, a sample every `every` seconds."""

    series: dict[str, list[tuple[Mapping[str, str], Value]]] = field(default_factory=dict)

    def add(self, name: str, value: Value | float, /, **labels: str) -> None:
        """A series, of a constant or of a function of time."""
        of_time = value if callable(value) else lambda _, constant=value: constant
        self.series.setdefault(name, []).append((labels, of_time))

    def text(self, start: float, end: float, every: float) -> Iterator[str]:
        """Lines of OpenMetrics."""
        for name, rows in self.series.items():
            for labels, value in rows:
                told = ",".join(f'{key}="{text}"' for key, text in labels.items())
                for index in range(int((end - start) / every) + 1):
                    found = value(index * every)
                    if found is not None:
                        yield f"{name}{{{told}}} {found:.10g} {start + index * every:.0f}\n"
        yield "# EOF\n"


def wave(middle: float, swing: float, period: float, noise: float = 0.0, seed: str = "") -> Value:
    """A value that goes up and down, the same in every run of the tests."""
    phase = random.Random(seed).random() * 2 * math.pi  # noqa: S311 - not for secrets

    def at(seconds: float) -> float:
        wobble = random.Random(f"{seed}{seconds}").uniform(-noise, noise)  # noqa: S311 - not for secrets
        return middle + swing * math.sin(2 * math.pi * seconds / period + phase) + wobble

    return at


def rising(per_second: Value | float) -> Value:
    """A counter that rises so fast; asked for growing times."""
    total, last = 0.0, 0.0

    def at(seconds: float) -> float:
        nonlocal total, last
        rate = per_second(seconds) if callable(per_second) else per_second
        total += max(rate or 0.0, 0.0) * (seconds - last)
        last = seconds
        return total

    return at


def running(seconds: float) -> bool:
    """Whether the run trains."""
    return not FELL <= seconds < CAME_BACK


def step(seconds: float) -> float | None:
    """The run's step: it comes back behind where it was."""
    if not running(seconds):
        return None
    if seconds < FELL:
        return math.floor(1000 + seconds / STEP_S)
    return math.floor(1000 + FELL / STEP_S - LOST_STEPS + (seconds - CAME_BACK) / STEP_S)


def _while_running(value: Value, otherwise: float | None) -> Value:
    return lambda seconds: value(seconds) if running(seconds) else otherwise


def _later(before: float, after: float) -> Value:
    """One value until the run has come back, and another from then on."""
    return lambda seconds: after if seconds > CAME_BACK else before


def _until_back(value: Value) -> Value:
    return lambda seconds: 0.0 if seconds > CAME_BACK else value(seconds)


def _times(value: Value, factor: float) -> Value:
    return lambda seconds: factor * (value(seconds) or 0.0)


def exporters(run: str, service: str, *, hours: float) -> Exporters:
    """All of them, for so many hours that end now."""
    now = time.time()
    start = now - hours * 3600
    all_ = Exporters()
    for node in (*TRAINERS, *SERVERS):
        _node(all_, node)
        _machine(all_, node)
        for gpu in range(GPUS):
            _gpu(all_, node, gpu, run, service)
    for node in TRAINERS:
        _fabric(all_, node)
    _pods(all_, run, service)
    _file_system(all_)
    _run(all_, run, start)
    for replica in range(2):
        _server(all_, service, replica)
    _platform(all_, now)
    return all_


def _pool(node: str) -> str:
    return "training" if node in TRAINERS else "inference"


def _user(node: str, run: str, service: str) -> tuple[str, str]:
    """Namespace and pod that hold the node's GPUs."""
    if node in TRAINERS:
        return "training", f"{run}-worker-{TRAINERS.index(node)}"
    return "inference", f"{service}-{0}"


def _gpu(all_: Exporters, node: str, gpu: int, run: str, service: str) -> None:
    training = node in TRAINERS
    namespace, pod = _user(node, run, service)
    of = {
        "node": node,
        "gpu": str(gpu),
        "modelName": "NVIDIA H100 80GB HBM3",
        "Hostname": node,
        "job": "nvidia-dcgm-exporter",
    }
    of |= {"exported_namespace": namespace, "exported_pod": pod, "exported_container": "main"}
    name = f"{node}{gpu}"
    warm = 20.0 if name == "train-25" else 0.0
    busy = _while_running(wave(0.97, 0.02, 700, 0.01, name), 0.0) if training else wave(0.5, 0.3, 7200, 0.05, name)

    def load(scale: float, idle: float = 0.0) -> Value:
        return lambda seconds: idle + scale * (busy(seconds) or 0.0)

    gauges: dict[str, Value | float] = {
        "DCGM_FI_DEV_GPU_TEMP": load(36, 31 + warm),
        "DCGM_FI_DEV_GPU_TEMP_LIMIT": load(-36, 56 - warm),
        "DCGM_FI_DEV_MEMORY_TEMP": load(40, 38 + warm),
        "DCGM_FI_DEV_POWER_USAGE": load(570, 105),
        "DCGM_FI_DEV_ENFORCED_POWER_LIMIT": 700,
        "DCGM_FI_DEV_SM_CLOCK": load(-200, 1980 - 20 * warm),
        "DCGM_FI_DEV_GPU_UTIL": load(100),
        "DCGM_FI_PROF_SM_ACTIVE": load(0.78),
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": load(0.44),
        "DCGM_FI_PROF_DRAM_ACTIVE": load(0.55),
        "DCGM_FI_PROF_NVLINK_TX_BYTES": load(1.2e11),
        "DCGM_FI_PROF_NVLINK_RX_BYTES": load(1.18e11),
        "DCGM_FI_DEV_FB_USED": 73_500 if training else 68_000,
        "DCGM_FI_DEV_FB_FREE": 6_900 if training else 12_400,
        "DCGM_FI_DEV_FB_RESERVED": 600,
        "DCGM_FI_DEV_ROW_REMAP_PENDING": lambda seconds: float(name == "train-31" and seconds > FELL),
        "DCGM_FI_DEV_ROW_REMAP_FAILURE": 0,
        "DCGM_FI_DEV_PCIE_LINK_WIDTH": 16,
        "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH": 16,
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": rising(lambda seconds: 1000 * (105 + 570 * (busy(seconds) or 0.0))),
        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": rising(3e-4 if gpu % 3 == 0 else 0),
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": lambda seconds: float(name == "train-31" and seconds > FELL),
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": lambda seconds: float(name == "train-31" and seconds > CAME_BACK),
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": float(gpu % 4),
        "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": rising(0.01 if name == "train-14" else 0),
        **{
            f"DCGM_FI_DEV_NVLINK_{kind}_ERROR_COUNT_TOTAL": rising(
                0.002 if name == "train-16" and kind == "REPLAY" else 0
            )
            for kind in ("CRC_FLIT", "CRC_DATA", "REPLAY", "RECOVERY")
        },
    }
    for field_, value in gauges.items():
        all_.add(field_, value, **of)
    throttled = load(4) if warm else 0.0
    all_.add("DCGM_EXP_CLOCK_EVENTS_COUNT", throttled, clock_event="sw_thermal", **of)
    if name == "train-31":
        struck = lambda seconds: 1.0 if FELL <= seconds < FELL + 300 else 0.0  # noqa: E731 - as the others beside it
        all_.add("DCGM_EXP_XID_ERRORS_COUNT", struck, xid="48", **of)


def _node(all_: Exporters, node: str) -> None:
    of = {"node": node, "job": "node-exporter"}
    all_.add("kube_node_labels", 1, node=node, label_gpucluster_pool=_pool(node), job="kube-state-metrics")
    all_.add("kube_node_status_condition", 1, node=node, condition="Ready", status="true", job="kube-state-metrics")
    for what in ("allocatable", "capacity"):
        all_.add(f"kube_node_status_{what}", GPUS, node=node, resource="nvidia_com_gpu", job="kube-state-metrics")
    for cpu in ("0", "1"):
        all_.add("node_cpu_seconds_total", rising(wave(0.55, 0.2, 3000, 0.05, node + cpu)), cpu=cpu, mode="idle", **of)
        all_.add("node_cpu_seconds_total", rising(wave(0.45, 0.2, 3000, 0.05, node + cpu)), cpu=cpu, mode="user", **of)
    all_.add("node_memory_MemTotal_bytes", 2e12, **of)
    all_.add("node_memory_MemAvailable_bytes", wave(1.1e12, 1e11, 4000, 1e10, node), **of)
    disk = {"device": "/dev/nvme0n1p1", "mountpoint": "/", "fstype": "xfs", "device_error": ""}
    all_.add("node_filesystem_size_bytes", 5e11, **disk, **of)
    all_.add("node_filesystem_avail_bytes", wave(2.2e11, 5e10, 9000, 0, node), **disk, **of)
    shared = {"device": "fs-1.fsx@tcp:/abc", "mountpoint": "/checkpoints", "fstype": "lustre", "device_error": ""}
    all_.add("node_filesystem_size_bytes", 1.9e13, **shared, **of)
    all_.add("node_filesystem_avail_bytes", lambda seconds: 7e12 - 1e8 * seconds, **shared, **of)
    all_.add("node_network_up", 1, device="ens5", **of)
    for way in ("receive", "transmit"):
        all_.add(f"node_network_{way}_bytes_total", rising(wave(4e8, 3e8, 1800, 5e7, node + way)), device="ens5", **of)
        all_.add(f"node_network_{way}_errs_total", 0, device="ens5", **of)
    nvme = {"device": "nvme1n1", **of}
    for what, done in (("read", "reads"), ("write", "writes")):
        all_.add(f"node_disk_{what}_time_seconds_total", rising(0.3), **nvme)
        all_.add(f"node_disk_{done}_completed_total", rising(900), **nvme)
    for what in ("read", "written"):
        all_.add(f"node_disk_{what}_bytes_total", rising(wave(8e8, 6e8, 1800, 0, node + what)), **nvme)
    all_.add("node_disk_io_time_seconds_total", rising(wave(0.4, 0.2, 1800, 0, node)), **nvme)
    all_.add("node_hwmon_temp_celsius", wave(58, 5, 4000, 1, node), chip="coretemp", sensor="temp1", **of)


def _file_system(all_: Exporters) -> None:
    of = {"file_system": "fs-1", "job": "file-system"}
    all_.add("shared_files_rate_bytes_per_second", 3e9, **of)
    all_.add("shared_files_fullest_target_ratio", 0.63, **of)
    for operation, mean in (("read", 1.2e9), ("write", 6e8)):
        all_.add("shared_files_bytes_per_second", wave(mean, 5e8, 1800, 5e7, operation), operation=operation, **of)
        all_.add("shared_files_operations_per_second", wave(2000, 900, 1800, 50, operation), operation=operation, **of)
    all_.add("shared_files_operations_per_second", wave(300, 200, 1800, 20, "m"), operation="metadata", **of)


def _machine(all_: Exporters, node: str) -> None:
    of = {"node": node, "job": "sensors"}
    all_.add("bmc_up", 1, **of)
    for supply in range(6):
        all_.add(
            "bmc_power_supply_ok", _later(1, 0 if node == "train-1" and supply == 3 else 1), supply=f"PSU{supply}", **of
        )
    for fan in range(2):
        all_.add("bmc_fan_ok", 1, fan=f"FAN{fan}", **of)
    all_.add("bmc_inlet_celsius", wave(24, 2, 9000, 0.2, node), sensor="Intake", **of)
    all_.add("bmc_power_watts", wave(7200, 900, 3000, 50, node), **of)


def _fabric(all_: Exporters, node: str) -> None:
    for card in range(8):
        of = {"node": node, "device": f"mlx5_{card}", "port": "1", "job": "node-exporter"}
        name = f"{node}{card}"
        down = name == "train-17"
        sent = _while_running(wave(3.8e10, 5e9, 600, 1e9, name), 0.0)
        all_.add("node_infiniband_info", 1, **of)
        all_.add("node_infiniband_state_id", _later(4, 1 if down else 4), **of)
        all_.add("node_infiniband_link_downed_total", _later(0, float(down)), **of)
        for way in ("transmitted", "received"):
            live = _until_back(sent) if down else sent
            all_.add(f"node_infiniband_port_data_{way}_bytes_total", rising(live), **of)
            all_.add(f"node_infiniband_port_discards_{way}_total", 0, **of)
        all_.add("node_infiniband_symbol_error_total", rising(0.02 if down else 0), **of)
        for error in ("port_errors_received", "link_error_recovery", "local_link_integrity_errors"):
            all_.add(f"node_infiniband_{error}_total", 0, **of)
        all_.add("node_infiniband_port_transmit_wait_total", rising(wave(4e4, 3e4, 900, 0, name)), **of)


def _pods(all_: Exporters, run: str, service: str) -> None:
    of = {"job": "kube-state-metrics"}
    for node in (*TRAINERS, *SERVERS):
        pods = [_user(node, run, service)]
        if node in SERVERS:
            pods.append(("inference", f"{service}-1"))
        for namespace, pod in pods:
            who = {"namespace": namespace, "pod": pod, **of}
            held = GPUS // len(pods)
            all_.add(
                "kube_pod_container_resource_requests",
                held,
                resource="nvidia_com_gpu",
                node=node,
                container="main",
                **who,
            )
            all_.add("kube_pod_status_phase", lambda seconds: float(running(seconds)), phase="Running", **who)
            all_.add("kube_pod_status_phase", lambda seconds: float(not running(seconds)), phase="Pending", **who)
            label = {"label_gpucluster_run": run} if namespace == "training" else {}
            label |= {"label_app_kubernetes_io_instance": service} if namespace == "inference" else {}
            all_.add("kube_pod_labels", 1, **label, **who)
            all_.add(
                "kube_pod_container_status_restarts_total",
                _later(0, float(namespace == "training")),
                container="main",
                **who,
            )
    all_.add(
        "kube_deployment_status_replicas_ready",
        lambda s: 1 if s < 7200 else 2,
        namespace="inference",
        deployment=service,
        **of,
    )
    all_.add("kube_job_status_failed", 1, namespace="training", job_name="backup-pretrain-29384", **of)


def _run(all_: Exporters, run: str, start: float) -> None:
    of = {"namespace": "training", "pod": f"{run}-master-0", "run": run, "job": "training/training-runs"}
    all_.add(STEP.name, step, **of)
    all_.add(STEP_SECONDS.name, _while_running(wave(STEP_S, 0.1, 1200, 0.15, "step"), None), **of)
    all_.add(TOKENS.name, _while_running(rising(_while_running(wave(57_000, 500, 900, 300, "t"), 0.0)), None), **of)
    all_.add(LOSS.name, lambda seconds: 1.8 + 3 * math.exp(-seconds / 9000) if running(seconds) else None, **of)
    all_.add(CHECKPOINT_TIME.name, lambda seconds: start + seconds // SAVE_S * SAVE_S, **of)
    all_.add(CHECKPOINT_PAUSE.name, _while_running(wave(48, 6, SAVE_S, 2, "save"), None), **of)


def _server(all_: Exporters, service: str, replica: int) -> None:
    of = {
        "namespace": "inference",
        "service": service,
        "pod": f"{service}-{replica}",
        "model_name": service,
        "job": service,
    }
    here: Value = lambda seconds: float(replica == 0 or seconds > 7200)  # noqa: E731 - a value like the others

    def while_here(value: Value) -> Value:
        return lambda seconds: value(seconds) if here(seconds) else None

    load = wave(0.5, 0.4, 10_800, 0.05, service)
    all_.add("vllm:num_requests_running", while_here(lambda s: 60 * (load(s) or 0)), **of)
    all_.add("vllm:num_requests_waiting", while_here(lambda s: max(0.0, 40 * ((load(s) or 0) - 0.6))), **of)
    all_.add("vllm:kv_cache_usage_perc", while_here(lambda s: max(0.0, min(1.0, 1.05 * (load(s) or 0)))), **of)
    all_.add("vllm:num_preemptions_total", while_here(rising(lambda s: max(0.0, (load(s) or 0) - 0.85))), **of)
    all_.add("vllm:prefix_cache_queries_total", while_here(rising(2000)), **of)
    all_.add("vllm:prefix_cache_hits_total", while_here(rising(wave(1200, 200, 5000, 20, "hits"))), **of)
    all_.add("vllm:generation_tokens_total", while_here(rising(lambda s: 1500 * (load(s) or 0))), **of)
    for name, length in (("prompt", 900), ("generation", 300)):
        all_.add(f"vllm:request_{name}_tokens_sum", while_here(rising(_times(load, 6 * length))), **of)
        all_.add(f"vllm:request_{name}_tokens_count", while_here(rising(lambda s: 6 * (load(s) or 0))), **of)
    for name, typical in (("time_to_first_token", 0.4), ("inter_token_latency", 0.03), ("request_queue_time", 0.05)):
        for edge in (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, math.inf):
            part = lambda s, edge=edge, middle=typical: (  # noqa: E731 - a value like the others
                6 * (load(s) or 0) * (1 - math.exp(-edge / (middle * (0.6 + (load(s) or 0)))))
            )
            le = "+Inf" if edge == math.inf else f"{edge:g}"
            all_.add(f"vllm:{name}_seconds_bucket", while_here(rising(part)), le=le, **of)
    web = {"handler": "/v1/chat/completions", "method": "POST", **of}
    all_.add("http_requests_total", while_here(rising(lambda s: 6 * (load(s) or 0))), status="2xx", **web)
    all_.add("http_requests_total", while_here(rising(0.02)), status="5xx", **web)


def _platform(all_: Exporters, now: float) -> None:
    for queue, gpus in (("training", 32_000), ("experiments", 0)):
        of = {"queue_name": queue, "job": "volcano"}
        held = _while_running(wave(gpus, 0, 1), 0.0)
        all_.add("volcano_queue_allocated_scalar_resources", held, resource="nvidia.com/gpu", **of)
        all_.add("volcano_queue_deserved_scalar_resources", 16_000, resource="nvidia.com/gpu", **of)
        all_.add(
            "volcano_queue_pod_group_pending_count",
            _times(_while_running(wave(0, 0, 1), 1.0), float(queue == "training")),
            **of,
        )
    all_.add(
        "certmanager_certificate_expiration_timestamp_seconds",
        now + 20 * 86_400,
        exported_namespace="gateway",
        name="llama",
        job="cert-manager",
    )
    for job, up in (("node-exporter", 1), ("kubelet", 1), ("volcano", 0)):
        all_.add("up", up, job=job, namespace="monitoring", instance=job)
    for claim, used in (("prometheus-0", 0.62), ("model-weights", 0.84)):
        of = {"namespace": "monitoring", "persistentvolumeclaim": claim, "job": "kubelet"}
        all_.add("kubelet_volume_stats_capacity_bytes", 1e11, **of)
        all_.add("kubelet_volume_stats_available_bytes", (1 - used) * 1e11, **of)
    all_.add(
        "kube_cronjob_status_last_successful_time",
        now - 15_000,
        namespace="training",
        cronjob="backup-pretrain",
        job="kube-state-metrics",
    )
    for level_, count in (("warning", 2), ("critical", 1)):
        for index in range(count):
            all_.add(
                "ALERTS",
                lambda s: 1.0 if s > CAME_BACK else None,
                alertname=f"Sample{index}",
                alertstate="firing",
                severity=level_,
            )
