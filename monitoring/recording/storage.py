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
        # The FSx CSI driver gives the kubelet no volume statistics: what the nodes' mounts say is all there is.
        Recording(
            name="gpucluster:shared_files:used_ratio",
            expression='1 - min by (device) (node_filesystem_avail_bytes{fstype="lustre",device_error=""} /'
            " node_filesystem_size_bytes)",
            labels=("device",),
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
