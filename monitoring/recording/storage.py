"""Volumes, the shared file system and Ceph."""

from monitoring.rule import Group, Recording


def _ceph_latency(operation: str, of: str) -> Recording:
    """Time of an operation as its client sees it: Ceph exports sums and counts, no such gauge (ST16)."""
    return Recording(
        name="gpucluster:ceph:operation_latency_seconds",
        expression=f"sum(rate(ceph_osd_op_{of}_latency_sum[5m])) / sum(rate(ceph_osd_op_{of}_latency_count[5m]))",
        labels=(),
        constant={"operation": operation},
    )


STORAGE = Group(
    name="storage",
    rules=(
        Recording(
            name="gpucluster:volume:used_ratio",
            expression="max by (namespace, persistentvolumeclaim) (1 - kubelet_volume_stats_available_bytes /"
            " kubelet_volume_stats_capacity_bytes)",
            labels=("namespace", "persistentvolumeclaim"),
        ),
        Recording(
            name="gpucluster:database:copies_due",
            expression='count by (namespace, cronjob) (kube_cronjob_status_last_schedule_time{cronjob=~".+-backup"}'
            " unless on (namespace, cronjob) (kube_cronjob_status_last_successful_time >="
            " kube_cronjob_status_last_schedule_time))",
            labels=("namespace", "cronjob"),
        ),
        # The FSx CSI driver gives the kubelet no volume statistics: what the nodes' mounts say is all there is.
        Recording(
            name="gpucluster:shared_files:used_ratio",
            expression='1 - min by (device) (node_filesystem_avail_bytes{fstype="lustre",device_error=""} /'
            " node_filesystem_size_bytes)",
            labels=("device",),
        ),
        # Of who keeps the file system, where somebody asks (monitoring.fileSystem): one of all, or each of its part.
        Recording(
            name="gpucluster:shared_files:bytes_per_second",
            expression="sum by (file_system, operation) (shared_files_bytes_per_second)",
            labels=("file_system", "operation"),
        ),
        Recording(
            name="gpucluster:shared_files:operations_per_second",
            expression="sum by (file_system, operation) (shared_files_operations_per_second)",
            labels=("file_system", "operation"),
        ),
        Recording(
            name="gpucluster:shared_files:rate_ratio",
            expression="sum by (file_system) (gpucluster:shared_files:bytes_per_second) /"
            " max by (file_system) (shared_files_rate_bytes_per_second)",
            labels=("file_system",),
        ),
        Recording(
            name="gpucluster:shared_files:fullest_target_ratio",
            expression="max by (file_system) (shared_files_fullest_target_ratio)",
            labels=("file_system",),
        ),
        _ceph_latency("read", "r"),
        _ceph_latency("write", "w"),
        Recording(
            name="gpucluster:ceph:used_ratio",
            expression="max(ceph_cluster_total_used_bytes / ceph_cluster_total_bytes)",
            labels=(),
        ),
    ),
)
