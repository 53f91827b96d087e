"""What panels read beside the recorded names, as the exporters of the deployed versions export it, with the source."""

from monitoring.run_metrics import CHECKPOINT_PAUSE, LOSS, STEP
from tests.monitoring.exported import COUNTER, GAUGE, Exporter

READ_BY_PANELS = (
    Exporter(
        "kube-state-metrics",
        "2.20.0",
        "kubernetes/kube-state-metrics v2.20.0 docs/metrics/workload",
        {
            "kube_cronjob_status_last_successful_time": GAUGE,
            "kube_job_status_failed": GAUGE,
            "kube_pod_container_resource_requests": GAUGE,
            "kube_pod_container_status_restarts_total": COUNTER,
            "kube_pod_labels": GAUGE,
            "kube_pod_status_phase": GAUGE,
        },
    ),
    Exporter(
        "node_exporter",
        "1.12.1",
        "prometheus/node_exporter v1.12.1 collector/diskstats_linux.go, hwmon_linux.go, infiniband_linux.go,"
        " netdev_common.go",
        {
            "node_disk_io_time_seconds_total": COUNTER,
            "node_disk_read_bytes_total": COUNTER,
            "node_disk_read_time_seconds_total": COUNTER,
            "node_disk_reads_completed_total": COUNTER,
            "node_disk_write_time_seconds_total": COUNTER,
            "node_disk_writes_completed_total": COUNTER,
            "node_disk_written_bytes_total": COUNTER,
            "node_hwmon_temp_celsius": GAUGE,
            "node_infiniband_np_cnp_packets_sent_total": COUNTER,
            "node_infiniband_np_ecn_marked_roce_packets_received_total": COUNTER,
            "node_infiniband_port_transmit_wait_total": COUNTER,
            "node_network_receive_bytes_total": COUNTER,
            "node_network_transmit_bytes_total": COUNTER,
        },
    ),
    Exporter(
        "volcano",
        "1.14.4",
        "volcano-sh/volcano pkg/scheduler/metrics/queue.go",
        {
            "volcano_queue_allocated_scalar_resources": GAUGE,
            "volcano_queue_deserved_scalar_resources": GAUGE,
        },
    ),
    Exporter(
        "vllm",
        "0.2x",
        "vllm-project/vllm vllm/v1/metrics/loggers.py",
        {
            "vllm:num_preemptions_total": COUNTER,
            "vllm:prefix_cache_hits_total": COUNTER,
            "vllm:prefix_cache_queries_total": COUNTER,
            "vllm:request_generation_tokens_count": COUNTER,
            "vllm:request_generation_tokens_sum": COUNTER,
            "vllm:request_prompt_tokens_count": COUNTER,
            "vllm:request_prompt_tokens_sum": COUNTER,
        },
    ),
    Exporter(
        "ceph",
        "20.2",
        "rook v1.20.6 deploy/charts/rook-ceph-cluster/prometheus/localrules.yaml",
        {"ceph_healthcheck_slow_ops": GAUGE, "ceph_osd_up": GAUGE},
    ),
    Exporter(
        "run",
        "of this project",
        "monitoring/run_metrics.py",
        {each.name: each.type for each in (STEP, LOSS, CHECKPOINT_PAUSE)},
    ),
    Exporter("prometheus", "3.14.0", "Prometheus documentation, alerting rules: the series ALERTS", {"ALERTS": GAUGE}),
)
"""Each is read by some panel, and no panel reads another."""
