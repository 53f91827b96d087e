"""The series of a small cluster in which nothing is wrong, under the vendors' names and labels.

Pool `train` has two nodes of two GPUs with an InfiniBand port each, on which the run `pretrain` trains; pool `serve`
has a node of one GPU with an EFA device, on which the service `llama` answers. Samples are 30 seconds apart.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from monitoring.counters import DCGM_COUNTERS
from monitoring.limits import BlockLimits, Limits, MachineLimits, PoolLimits, RunLimits, ServiceLimits

Series = dict[str, str]

SAMPLES = 160
"""80 minutes."""

LIMITS = Limits(
    pools=(PoolLimits(name="train", gpus_per_node=2), PoolLimits(name="serve", gpus_per_node=1)),
    machines=(MachineLimits(pool="train", power_supplies=2, inlet_c=30), MachineLimits(pool="serve", power_supplies=1)),
    runs=(RunLimits(name="pretrain", pool="train", nodes=2, tokens_per_s=20_000, mfu=0.4, checkpoint_s=900),),
    services=(ServiceLimits(name="llama", most=2), ServiceLimits(name="draft", most=1, to_zero=True)),
    blocks=(
        BlockLimits(pool="booked", reservation="cr-1", leaves=datetime(1970, 1, 2, 0, 10, tzinfo=UTC)),
        BlockLimits(pool="later", reservation="cr-2", leaves=datetime(1970, 1, 3, tzinfo=UTC)),
    ),
)
NODES = {"gpu-a": ("train", 2), "gpu-b": ("train", 2), "gpu-c": ("serve", 1)}
PODS = {
    "gpu-a": ("training", "pretrain-master-0", "pytorch"),
    "gpu-b": ("training", "pretrain-worker-0", "pytorch"),
    "gpu-c": ("inference", "llama-0", "vllm"),
}
_READINGS = {
    "DCGM_FI_DEV_GPU_TEMP": 48,
    "DCGM_FI_DEV_MEMORY_TEMP": 60,
    "DCGM_FI_DEV_GPU_TEMP_LIMIT": 39,
    "DCGM_FI_DEV_POWER_USAGE": 680,
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT": 700,
    "DCGM_FI_DEV_SM_CLOCK": 1980,
    "DCGM_FI_DEV_GPU_UTIL": 96,
    "DCGM_FI_PROF_SM_ACTIVE": 0.79,
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.42,
    "DCGM_FI_PROF_DRAM_ACTIVE": 0.5,
    "DCGM_FI_PROF_NVLINK_TX_BYTES": 1e11,
    "DCGM_FI_PROF_NVLINK_RX_BYTES": 1e11,
    "DCGM_FI_DEV_FB_USED": 70_000,
    "DCGM_FI_DEV_FB_FREE": 10_000,
    "DCGM_FI_DEV_FB_RESERVED": 1_000,
    "DCGM_FI_DEV_PCIE_LINK_WIDTH": 16,
    "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH": 16,
}


def series(metric: str, /, **labels: str) -> str:
    """A series as promtool writes it, labels in order of their names."""
    inside = ",".join(f'{name}="{value}"' for name, value in sorted(labels.items()))
    return f"{metric}{{{inside}}}"


def still(value: float) -> str:
    """The same value all the time."""
    return f"{value:g}+0x{SAMPLES}"


def rising(by: float, start: float = 0) -> str:
    """A counter that rises by so much in 30 seconds."""
    return f"{start:g}+{by:g}x{SAMPLES}"


def turns(before: float, after: float, minute: int = 5) -> str:
    """One value until that minute, another one from then on."""
    return f"{before:g}+0x{2 * minute - 1} {after:g}+0x{SAMPLES - 2 * minute}"


def then_rising(by: float, minute: int = 5) -> str:
    """A counter that stands still until that minute, and rises by so much in 30 seconds from then on."""
    return f"0+0x{2 * minute - 1} {by:g}+{by:g}x{SAMPLES - 2 * minute}"


def gone(before: float, minute: int = 5) -> str:
    """A series that ends at that minute."""
    return f"{before:g}+0x{2 * minute - 1} stale"


def dcgm(metric: str, node: str, gpu: int, **more: str) -> str:
    """A series of dcgm-exporter as Prometheus keeps it: the pod that has the GPU stands in exported labels."""
    namespace, pod, container = PODS[node]
    return series(
        metric,
        **{
            "gpu": str(gpu),
            "UUID": f"GPU-{node}-{gpu}",
            "device": f"nvidia{gpu}",
            "modelName": "NVIDIA H100 80GB HBM3",
            "Hostname": node,
            "node": node,
            "exported_namespace": namespace,
            "exported_pod": pod,
            "exported_container": container,
            "namespace": "gpu-operator",
            "pod": f"nvidia-dcgm-exporter-{node}",
            "job": "nvidia-dcgm-exporter",
            **more,
        },
    )


def on_node(metric: str, node: str, **more: str) -> str:
    """A series of node_exporter."""
    return series(metric, node=node, job="node-exporter", namespace="monitoring", **more)


def lnet(metric: str, net: str, **more: str) -> str:
    """A series of what LNet carries on the node with EFA."""
    return on_node(f"node_lnet_{metric}", "gpu-c", net=net, **more)


def in_cluster(metric: str, **more: str) -> str:
    """A series of kube-state-metrics, whose own labels are kept."""
    return series(metric, job="kube-state-metrics", **more)


def served(metric: str, **more: str) -> str:
    """A series of vLLM."""
    return series(metric, **{"namespace": "inference", "service": "llama", "pod": "llama-0", "job": "llama", **more})


def scaler_errors() -> str:
    """Of the trigger of a service that goes to zero, as KEDA counts them."""
    trigger = {"scaler": "prometheusScaler", "triggerIndex": "0", "metric": "s0-prometheus", "type": "scaledobject"}
    of = {"exported_namespace": "inference", "scaledObject": "draft", "namespace": "keda", "job": "keda-operator"}
    return series("keda_scaler_detail_errors_total", **of, **trigger)


def condition(node: str, kind: str, status: str) -> str:
    """A node's condition."""
    return in_cluster("kube_node_status_condition", node=node, condition=kind, status=status)


def ready(node: str, status: str, minute: int = 8) -> Series:
    """The condition Ready with that status from that minute on."""
    return {
        condition(node, "Ready", each): turns(each == "true", each == status, minute)
        for each in ("true", "false", "unknown")
    }


def unready(node: str, kind: str) -> Series:
    """A condition that is no longer true."""
    return {condition(node, kind, "true"): turns(1, 0), condition(node, kind, "false"): turns(0, 1)}


def _gpus(node: str, count: int) -> Iterator[tuple[str, str]]:
    for gpu in range(count):
        for each in DCGM_COUNTERS:
            if each.kind != "label":
                more = {"window_size_in_ms": "300000"} if each.field.startswith("DCGM_EXP") else {}
                start = _READINGS.get(each.field, 0)
                moves = each.field == "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
                yield dcgm(each.field, node, gpu, **more), rising(2.1e7) if moves else still(start)


def _node(node: str, pool: str, gpus: int) -> Iterator[tuple[str, str]]:
    yield in_cluster("kube_node_labels", node=node, label_gpucluster_pool=pool), still(1)
    yield in_cluster("kube_node_status_allocatable", node=node, resource="nvidia_com_gpu", unit="integer"), still(gpus)
    for status in ("true", "false", "unknown"):
        yield condition(node, "Ready", status), still(status == "true")
        for kind in ("KernelReady", "ContainerRuntimeReady", "NetworkingReady", "StorageReady"):
            yield condition(node, kind, status), still(status == "true")
    yield on_node("node_memory_MemTotal_bytes", node), still(2e12)
    yield on_node("node_memory_MemAvailable_bytes", node), still(1e12)
    yield on_node("node_memory_HardwareCorrupted_bytes", node), still(0)
    yield on_node("node_vmstat_oom_kill", node), still(0)
    yield on_node("node_edac_correctable_errors_total", node, controller="0"), still(0)
    yield on_node("node_edac_uncorrectable_errors_total", node, controller="0"), still(0)
    yield on_node("node_cpu_seconds_total", node, cpu="0", mode="idle"), rising(15)
    yield on_node("node_network_up", node, device="ens5"), still(1)
    yield on_node("node_network_up", node, device="ens6"), still(1)
    yield on_node("node_network_up", node, device="ens7"), still(0)
    yield on_node("node_systemd_unit_state", node, name="containerd.service", state="active", type="notify"), still(1)
    yield on_node("node_systemd_unit_state", node, name="containerd.service", state="failed", type="notify"), still(0)
    root = {"device": "/dev/nvme0n1p1", "fstype": "xfs", "mountpoint": "/", "device_error": ""}
    lustre = {"device": "10.0.0.1@tcp:/fsx", "fstype": "lustre", "mountpoint": "/data", "device_error": ""}
    for mount in (root, lustre):
        yield on_node("node_filesystem_size_bytes", node, **mount), still(1e12)
        yield on_node("node_filesystem_avail_bytes", node, **mount), still(5e11)
        yield on_node("node_filesystem_device_error", node, **mount), still(0)
        yield on_node("node_filesystem_readonly", node, **mount), still(0)


def _fabric() -> Iterator[tuple[str, str]]:
    for node in ("gpu-a", "gpu-b"):
        port = {"device": "mlx5_0", "port": "1"}
        yield on_node("node_infiniband_info", node, device="mlx5_0"), still(1)
        yield on_node("node_infiniband_state_id", node, **port), still(4)
        yield on_node("node_infiniband_state_id", node, device="mlx5_9", port="1"), still(1)
        yield on_node("node_infiniband_link_downed_total", node, **port), still(0)
        yield on_node("node_infiniband_symbol_error_total", node, **port), still(0)
        yield on_node("node_infiniband_port_discards_received_total", node, **port), still(0)
        yield on_node("node_infiniband_port_data_transmitted_bytes_total", node, **port), rising(6e11)
    yield (
        in_cluster("kube_node_status_capacity", node="gpu-c", resource="vpc_amazonaws_com_efa", unit="integer"),
        still(1),
    )
    yield on_node("node_infiniband_info", "gpu-c", device="rdmap0s31"), still(1)
    yield on_node("node_infiniband_state_id", "gpu-c", device="rdmap0s31", port="1"), still(4)
    yield on_node("node_amazonefa_tx_bytes", "gpu-c", device="rdmap0s31", port="1"), rising(1e9)
    yield on_node("node_amazonefa_rx_drops", "gpu-c", device="rdmap0s31", port="1"), still(0)
    yield lnet("interfaces_wanted", "efa"), still(8)
    for net, up, by in (("efa", 8, 30_000), ("tcp", 1, 15)):
        yield lnet("interfaces_up", net), still(up)
        for direction in ("sent", "received"):
            yield lnet("messages_total", net, direction=direction), rising(by)
        yield lnet("messages_total", net, direction="dropped"), still(0)


def _workloads() -> Iterator[tuple[str, str]]:
    for namespace, pod, _ in PODS.values():
        run = {"label_gpucluster_run": "pretrain"} if namespace == "training" else {}
        yield in_cluster("kube_pod_labels", namespace=namespace, pod=pod, **run), still(1)
    of_run = {"run": "pretrain", "namespace": "training", "pod": "pretrain-master-0", "job": "training-runs"}
    yield series("training_tokens_total", **of_run), rising(600_000)
    yield series("training_step_seconds", **of_run), still(12)
    yield series("training_checkpoint_timestamp_seconds", **of_run), "0+0x29 900+0x29 1800+0x29 2700+0x29 3600+0x40"
    for metric, value in (("num_requests_running", 8), ("num_requests_waiting", 0), ("kv_cache_usage_perc", 0.4)):
        yield served(f"vllm:{metric}"), still(value)
    yield served("vllm:generation_tokens_total"), rising(9_000)
    yield served("http_requests_total", handler="/v1/completions", method="POST", status="2xx"), rising(300)
    yield served("http_requests_total", handler="/v1/completions", method="POST", status="5xx"), still(0)
    for le, count in (("0.5", 250), ("1.0", 290), ("2.5", 300), ("5.0", 300), ("+Inf", 300)):
        yield served("vllm:time_to_first_token_seconds_bucket", le=le), rising(count)
    deployment = {"namespace": "inference", "deployment": "llama"}
    yield in_cluster("kube_deployment_status_replicas_ready", **deployment), still(1)
    scaler = {"namespace": "inference", "horizontalpodautoscaler": "llama"}
    yield in_cluster("kube_horizontalpodautoscaler_status_current_replicas", **scaler), still(1)
    yield scaler_errors(), still(4)
    for status in ("true", "false", "unknown"):
        yield (
            in_cluster(
                "kube_horizontalpodautoscaler_status_condition", **scaler, condition="ScalingActive", status=status
            ),
            still(status == "true"),
        )


def _platform() -> Iterator[tuple[str, str]]:
    for job, namespace in (("kube-state-metrics", "monitoring"), ("nvidia-dcgm-exporter", "gpu-operator")):
        yield series("up", job=job, namespace=namespace, instance="10.0.0.9:8080"), still(1)
    scheduler = {"namespace": "volcano-system", "deployment": "volcano-scheduler"}
    yield in_cluster("kube_deployment_spec_replicas", **scheduler), still(1)
    yield in_cluster("kube_deployment_status_replicas_available", **scheduler), still(1)
    exporter = {"namespace": "gpu-operator", "daemonset": "nvidia-dcgm-exporter"}
    yield in_cluster("kube_daemonset_status_desired_number_scheduled", **exporter), still(3)
    yield in_cluster("kube_daemonset_status_number_available", **exporter), still(3)
    copy = {"namespace": "tracking", "cronjob": "mlflow-backup"}
    yield in_cluster("kube_cronjob_status_last_schedule_time", **copy), still(100)
    yield in_cluster("kube_cronjob_status_last_successful_time", **copy), still(160)
    for name in ("inqueue", "pending"):
        yield series(f"volcano_queue_pod_group_{name}_count", queue_name="training"), still(0)
    certificate = {"name": "llama", "exported_namespace": "inference", "namespace": "cert-manager"}
    yield series("certmanager_certificate_expiration_timestamp_seconds", **certificate), still(7_776_000)
    yield series("certmanager_certificate_renewal_timestamp_seconds", **certificate), still(5_184_000)
    for namespace, claim in (("monitoring", "prometheus-0"), ("katib", "mysql")):
        volume = {"namespace": namespace, "persistentvolumeclaim": claim, "node": "system-a"}
        yield series("kubelet_volume_stats_available_bytes", **volume), still(5e10)
        yield series("kubelet_volume_stats_capacity_bytes", **volume), still(1e11)
    for operation in ("r", "w"):
        yield series(f"ceph_osd_op_{operation}_latency_sum", ceph_daemon="osd.0"), rising(3)
        yield series(f"ceph_osd_op_{operation}_latency_count", ceph_daemon="osd.0"), rising(3_000)


def file_system(metric: str, **more: str) -> str:
    """A series of what asks for the file system's rates."""
    return series(f"shared_files_{metric}", file_system="fs-1", job="file-system", namespace="monitoring", **more)


def _file_system() -> Iterator[tuple[str, str]]:
    yield file_system("rate_bytes_per_second"), still(1e9)
    yield file_system("fullest_target_ratio"), still(0.5)
    for operation in ("read", "write"):
        yield file_system("bytes_per_second", operation=operation), still(2e8)
        yield file_system("operations_per_second", operation=operation), still(200)


def bmc(metric: str, node: str, **more: str) -> str:
    """A series of what reads controllers."""
    return series(metric, node=node, job="sensors", namespace="monitoring", **more)


def _machine(node: str, supplies: int) -> Iterator[tuple[str, str]]:
    yield bmc("bmc_up", node), still(1)
    for supply in range(supplies):
        yield bmc("bmc_power_supply_ok", node, supply=f"PSU{supply}"), still(1)
    for fan in ("FAN1", "FAN2"):
        yield bmc("bmc_fan_ok", node, fan=fan), still(1)
    yield bmc("bmc_inlet_celsius", node, sensor="Intake"), still(24)
    yield bmc("bmc_power_watts", node), still(6200)


def healthy() -> Series:
    """Every series of the cluster."""
    made = dict(_fabric()) | dict(_workloads()) | dict(_platform()) | dict(_file_system())
    for node, (pool, gpus) in NODES.items():
        made |= dict(_node(node, pool, gpus)) | dict(_gpus(node, gpus))
        made |= dict(_machine(node, gpus))
    return made
