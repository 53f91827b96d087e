"""Volumes, the shared file system and Ceph."""

from monitoring.rule import Group, Recording, in_pool


def _ceph_latency(operation: str, of: str) -> Recording:
    """Time of an operation as its client sees it: Ceph exports sums and counts, no such gauge (ST16)."""
    return Recording(
        "gpucluster:ceph:operation_latency_seconds",
        f"sum(rate(ceph_osd_op_{of}_latency_sum[5m])) / sum(rate(ceph_osd_op_{of}_latency_count[5m]))",
        (),
        constant={"operation": operation},
    )


STORAGE = Group(
    name="storage",
    rules=(
        Recording(
            "gpucluster:volume:used_ratio",
            "max by (namespace, persistentvolumeclaim) (1 - kubelet_volume_stats_available_bytes /"
            " kubelet_volume_stats_capacity_bytes)",
            ("namespace", "persistentvolumeclaim"),
        ),
        Recording(
            "gpucluster:database:copies_due",
            'count by (namespace, cronjob) (kube_cronjob_status_last_schedule_time{cronjob=~".+-backup"}'
            " unless on (namespace, cronjob) (kube_cronjob_status_last_successful_time >="
            " kube_cronjob_status_last_schedule_time))",
            ("namespace", "cronjob"),
        ),
        # The FSx CSI driver gives the kubelet no volume statistics: what the nodes' mounts say is all there is.
        Recording(
            "gpucluster:shared_files:used_ratio",
            '1 - min by (device) (node_filesystem_avail_bytes{fstype="lustre",device_error=""} /'
            " node_filesystem_size_bytes)",
            ("device",),
        ),
        # Of who keeps the file system, where somebody asks (monitoring.fileSystem): one of all, or each of its part.
        Recording(
            "gpucluster:shared_files:bytes_per_second",
            "sum by (file_system, operation) (shared_files_bytes_per_second)",
            ("file_system", "operation"),
        ),
        Recording(
            "gpucluster:shared_files:operations_per_second",
            "sum by (file_system, operation) (shared_files_operations_per_second)",
            ("file_system", "operation"),
        ),
        Recording(
            "gpucluster:shared_files:rate_ratio",
            "sum by (file_system) (gpucluster:shared_files:bytes_per_second) /"
            " max by (file_system) (shared_files_rate_bytes_per_second)",
            ("file_system",),
        ),
        Recording(
            "gpucluster:shared_files:fullest_target_ratio",
            "max by (file_system) (shared_files_fullest_target_ratio)",
            ("file_system",),
        ),
        # LNet counts messages by network, and bytes in sum only (lnetctl net show -v).
        Recording(
            "gpucluster:lnet:messages_per_second",
            in_pool('sum by (node, net) (rate(node_lnet_messages_total{direction!="dropped"}[5m]))'),
            ("node", "net", "pool"),
        ),
        Recording(
            "gpucluster:lnet:interfaces_missing",
            in_pool('sum by (node) (node_lnet_interfaces_wanted) - sum by (node) (node_lnet_interfaces_up{net="efa"})'),
            ("node", "pool"),
        ),
        _ceph_latency("read", "r"),
        _ceph_latency("write", "w"),
        Recording("gpucluster:ceph:used_ratio", "max(ceph_cluster_total_used_bytes / ceph_cluster_total_bytes)", ()),
    ),
)
