"""Nodes, their memory, mounts, units and ordinary interfaces."""

from monitoring.rule import NODE_POOL, Group, Recording, in_pool

_PHYSICAL = 'device=~"(eth|en[opsx]|ib|bond).*"'
"""Names that the kernel and systemd give to cards; eni… and veth… are ends of pods' own."""

_NETWORK_MOUNTS = 'device_error!~".*(permission denied|operation not permitted).*"'


def _of_node(what: str, expression: str, *more: str, by: str = "max", **constant: str) -> Recording:
    labels = ", ".join(("node", *more))
    return Recording(
        f"gpucluster:node:{what}",
        in_pool(f"{by} by ({labels}) ({expression})"),
        ("node", "pool", *more),
        constant=constant,
    )


def _condition(condition: str) -> Recording:
    """A condition that the node's agent reports false; a node that was never Ready is still being set up."""
    return _of_node(
        "condition_bad",
        f'(kube_node_status_condition{{condition="{condition}",status="false"}} == 1)'
        " and on (node) max_over_time(gpucluster:node:ready[1d]) == 1",
        condition=condition,
    )


NODE = Group(
    name="node",
    rules=(
        Recording(
            NODE_POOL,
            'max by (node, pool) (label_replace(kube_node_labels{label_gpucluster_pool!=""}, "pool", "$1",'
            ' "label_gpucluster_pool", "(.+)"))',
            ("node", "pool"),
        ),
        _of_node("ready", 'kube_node_status_condition{condition="Ready",status="true"}'),
        _of_node("unreachable", 'kube_node_status_condition{condition="Ready",status="unknown"}'),
        _of_node("gpus_allocatable", 'kube_node_status_allocatable{resource="nvidia_com_gpu"}'),
        *(
            _condition(each)
            for each in ("Ready", "KernelReady", "ContainerRuntimeReady", "NetworkingReady", "StorageReady")
        ),
        _of_node("cpu_utilisation_ratio", '1 - avg by (node) (rate(node_cpu_seconds_total{mode="idle"}[5m]))'),
        _of_node("memory_available_ratio", "node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes"),
        _of_node(
            "filesystem_free_ratio",
            'node_filesystem_avail_bytes{fstype!~"lustre|tmpfs",device_error=""} / node_filesystem_size_bytes',
            "mountpoint",
            by="min",
        ),
        _of_node("mount_errors", f"node_filesystem_device_error{{{_NETWORK_MOUNTS}}} == 1", by="count"),
        _of_node("root_readonly", 'node_filesystem_readonly{mountpoint="/"}'),
        _of_node("memory_errors", "node_edac_correctable_errors_total", by="sum", kind="corrected"),
        _of_node("memory_errors", "node_edac_uncorrectable_errors_total", by="sum", kind="uncorrectable"),
        _of_node("memory_corrupted_bytes", "node_memory_HardwareCorrupted_bytes"),
        _of_node("oom_kills", "node_vmstat_oom_kill"),
        _of_node(
            "unit_failed",
            'label_replace(node_systemd_unit_state{state="failed"}, "unit", "$1", "name", "(.+)")',
            "unit",
        ),
        _of_node("ethernet_up", f"node_network_up{{{_PHYSICAL}}}", "device"),
        _of_node(
            "ethernet_errors_per_second",
            f"rate(node_network_receive_errs_total{{{_PHYSICAL}}}[5m])"
            f" + rate(node_network_transmit_errs_total{{{_PHYSICAL}}}[5m])",
            "device",
        ),
    ),
)
