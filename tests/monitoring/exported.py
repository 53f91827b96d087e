"""The metrics that rules read, as the exporters of the deployed versions export them, each list with its source.

A rule on a name that no exporter has never fires, and nobody notices: a test compares every rule with these lists, and
the lists with the vendors' own where those are at hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from monitoring.counters import DCGM_COUNTERS

GAUGE, COUNTER, HISTOGRAM, UNTYPED = "gauge", "counter", "histogram", "untyped"


@dataclass(frozen=True)
class Exporter:
    """What a program exports. `version` is the one that is deployed, `metrics` are types by name."""

    name: str
    version: str
    source: str
    metrics: Mapping[str, str]

    def series(self) -> frozenset[str]:
        """Names of its series: a histogram has three."""
        return frozenset(
            name + suffix
            for name, kind in self.metrics.items()
            for suffix in (("_bucket", "_sum", "_count") if kind == HISTOGRAM else ("",))
        )


def _all(kind: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, kind)


EXPORTERS = (
    Exporter(
        "dcgm-exporter",
        "4.5.3-4.8.2",
        "go-dcgm ec245c0 pkg/dcgm/const_fields.go, as monitoring/counters.py asks for them",
        {each.field: each.kind for each in DCGM_COUNTERS if each.kind != "label"},
    ),
    Exporter(
        "node_exporter",
        "1.12.1",
        "prometheus/node_exporter v1.12.1 collector/fixtures/e2e-output.txt, infiniband_linux.go,"
        " meminfo_linux.go, systemd_linux.go",
        {
            **_all(
                GAUGE,
                "node_filesystem_avail_bytes",
                "node_filesystem_device_error",
                "node_filesystem_readonly",
                "node_filesystem_size_bytes",
                "node_infiniband_info",
                "node_infiniband_state_id",
                "node_memory_HardwareCorrupted_bytes",
                "node_memory_MemAvailable_bytes",
                "node_memory_MemTotal_bytes",
                "node_network_up",
                "node_systemd_unit_state",
            ),
            **_all(
                COUNTER,
                "node_cpu_seconds_total",
                "node_edac_correctable_errors_total",
                "node_edac_uncorrectable_errors_total",
                "node_infiniband_excessive_buffer_overrun_errors_total",
                "node_infiniband_link_downed_total",
                "node_infiniband_link_error_recovery_total",
                "node_infiniband_local_ack_timeout_errors_total",
                "node_infiniband_local_link_integrity_errors_total",
                "node_infiniband_out_of_buffer_drops_total",
                "node_infiniband_port_data_received_bytes_total",
                "node_infiniband_port_data_transmitted_bytes_total",
                "node_infiniband_port_discards_received_total",
                "node_infiniband_port_discards_transmitted_total",
                "node_infiniband_port_errors_received_total",
                "node_infiniband_symbol_error_total",
                "node_network_receive_bytes_total",
                "node_network_receive_errs_total",
                "node_network_transmit_errs_total",
                "node_pressure_io_waiting_seconds_total",
            ),
            "node_vmstat_oom_kill": UNTYPED,
        },
    ),
    Exporter(
        "EFA",
        "awsome-distributed-ai 4.validation_and_observability/3.efa-node-exporter",
        "its amazon_efa_linux.go; the same names in the SageMaker HyperPod user guide, EFA metrics",
        _all(
            COUNTER,
            "node_amazonefa_rdma_read_wr_err",
            "node_amazonefa_rdma_write_wr_err",
            "node_amazonefa_rx_bytes",
            "node_amazonefa_rx_drops",
            "node_amazonefa_tx_bytes",
        ),
    ),
    Exporter(
        "LNet",
        "node/lustre/counters.sh",
        "that script; tests/node/test_lnet_counters.py runs it",
        {
            **_all(GAUGE, "node_lnet_interfaces_up", "node_lnet_interfaces_wanted"),
            **_all(COUNTER, "node_lnet_messages_total"),
        },
    ),
    Exporter(
        "kube-state-metrics",
        "2.20.0",
        "kubernetes/kube-state-metrics v2.20.0 docs/metrics/",
        _all(
            GAUGE,
            "kube_cronjob_status_last_schedule_time",
            "kube_cronjob_status_last_successful_time",
            "kube_daemonset_status_desired_number_scheduled",
            "kube_daemonset_status_number_available",
            "kube_deployment_spec_replicas",
            "kube_deployment_status_replicas_available",
            "kube_deployment_status_replicas_ready",
            "kube_horizontalpodautoscaler_status_condition",
            "kube_horizontalpodautoscaler_status_current_replicas",
            "kube_node_labels",
            "kube_node_status_allocatable",
            "kube_node_status_capacity",
            "kube_node_status_condition",
            "kube_pod_container_status_last_terminated_reason",
            "kube_pod_container_status_last_terminated_timestamp",
            "kube_pod_container_status_terminated_reason",
            "kube_pod_labels",
        ),
    ),
    Exporter(
        "kubelet",
        "1.36",
        "kubernetes v1.36 pkg/kubelet/metrics/metrics.go and collectors/volume_stats.go; cAdvisor's"
        " metrics/prometheus.go",
        _all(
            GAUGE,
            "container_memory_working_set_bytes",
            "kubelet_volume_stats_available_bytes",
            "kubelet_volume_stats_capacity_bytes",
        ),
    ),
    Exporter(
        "volcano",
        "1.14.1",
        "volcano-sh/volcano v1.14.4 pkg/controllers/metrics/queue.go",
        _all(GAUGE, "volcano_queue_pod_group_inqueue_count", "volcano_queue_pod_group_pending_count"),
    ),
    Exporter(
        "vllm",
        "0.2x",
        "vllm-project/vllm vllm/v1/metrics/loggers.py; http_requests_total by prometheus-fastapi-instrumentator",
        {
            **_all(GAUGE, "vllm:kv_cache_usage_perc", "vllm:num_requests_running", "vllm:num_requests_waiting"),
            **_all(COUNTER, "vllm:generation_tokens_total", "vllm:request_success_total", "http_requests_total"),
            **_all(
                HISTOGRAM,
                "vllm:inter_token_latency_seconds",
                "vllm:request_queue_time_seconds",
                "vllm:time_to_first_token_seconds",
            ),
        },
    ),
    Exporter(
        "cert-manager",
        "1.21.1",
        "cert-manager v1.21.1 internal/collectors/certificate_collector.go",
        _all(
            GAUGE,
            "certmanager_certificate_expiration_timestamp_seconds",
            "certmanager_certificate_renewal_timestamp_seconds",
        ),
    ),
    Exporter(
        "keda",
        "2.20.2",
        "kedacore/keda v2.20.2 pkg/metricscollector/prommetrics.go",
        _all(COUNTER, "keda_scaler_detail_errors_total"),
    ),
    Exporter(
        "ceph",
        "20.2",
        "Ceph documentation, monitoring: manager module prometheus",
        {
            **_all(GAUGE, "ceph_cluster_total_bytes", "ceph_cluster_total_used_bytes"),
            **_all(
                COUNTER,
                "ceph_osd_op_r_latency_count",
                "ceph_osd_op_r_latency_sum",
                "ceph_osd_op_w_latency_count",
                "ceph_osd_op_w_latency_sum",
            ),
        },
    ),
    Exporter(
        "run",
        "of this project",
        "the metrics that a run's own script exports on `metricsPort`",
        {
            **_all(GAUGE, "training_checkpoint_timestamp_seconds", "training_step_seconds"),
            "training_tokens_total": COUNTER,
        },
    ),
    Exporter(
        "sensors",
        "of this project",
        "node/sensors/sensors.py, from DMTF Redfish schemas Power, Thermal, PowerSupply, Fan and ThermalMetrics",
        _all(GAUGE, "bmc_fan_ok", "bmc_inlet_celsius", "bmc_power_supply_ok", "bmc_power_watts", "bmc_up"),
    ),
    Exporter(
        "file system",
        "of this project",
        "node/file_system/rates.py, from what FSx for Lustre tells CloudWatch",
        _all(
            GAUGE,
            "shared_files_bytes_per_second",
            "shared_files_fullest_target_ratio",
            "shared_files_operations_per_second",
            "shared_files_rate_bytes_per_second",
        ),
    ),
    Exporter("prometheus", "3.14.0", "Prometheus documentation, jobs and instances", _all(GAUGE, "up")),
)


def exported() -> frozenset[str]:
    """Every series that some exporter has."""
    return frozenset().union(*(each.series() for each in EXPORTERS))
