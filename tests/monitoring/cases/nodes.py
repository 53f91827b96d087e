"""Nodes, their fabric and storage."""

from tests.monitoring.cases.case import Case
from tests.monitoring.healthy import (
    condition,
    file_system,
    in_cluster,
    lnet,
    on_node,
    ready,
    rising,
    series,
    still,
    then_rising,
    turns,
    unready,
)

_A = {"node": "gpu-a", "pool": "train"}
_RUN = {"run": "pretrain", "pool": "train"}
_PORT = {"device": "mlx5_0", "port": "1"}
_ROOT = {"device": "/dev/nvme0n1p1", "fstype": "xfs", "mountpoint": "/", "device_error": ""}
_LUSTRE = {"device": "10.0.0.1@tcp:/fsx", "fstype": "lustre", "mountpoint": "/data", "device_error": ""}
_COPY = {"namespace": "tracking", "cronjob": "mlflow-backup"}
_MYSQL = {"namespace": "katib", "persistentvolumeclaim": "mysql"}


NODES: dict[str, Case] = {
    "node-memory": Case(
        firing={on_node("node_memory_HardwareCorrupted_bytes", "gpu-a"): turns(0, 4096)},
        silent={on_node("node_edac_correctable_errors_total", "gpu-a", controller="0"): then_rising(5)},
        labels=(_A,),
        summary="Main memory of node gpu-a is defective: 4kiB taken out of use.",
    ),
    "node-mount": Case(
        firing={
            on_node(
                "node_filesystem_device_error", "gpu-a", **{**_LUSTRE, "device_error": "mountpoint timeout"}
            ): turns(0, 1)
        },
        silent={
            on_node("node_filesystem_device_error", "gpu-a", **{**_ROOT, "device_error": "permission denied"}): still(1)
        },
        labels=(_A,),
        summary="Node gpu-a has a file system that hangs (mounts affected: 1) or a read-only root.",
    ),
    "node-ethernet": Case(
        firing={on_node("node_network_up", "gpu-a", device="ens6"): turns(1, 0)} | unready("gpu-a", "NetworkingReady"),
        silent={on_node("node_network_up", "gpu-a", device="eni0a1b2c3d4e5"): turns(1, 0)},
        labels=(_A,),
        summary="Ethernet links down on node gpu-a: 1.",
    ),
    "node-service": Case(
        firing=ready("gpu-a", "false"),
        silent={condition("gpu-a", "Ready", each): still(each == "false") for each in ("true", "false", "unknown")},
        labels=(_A,),
        summary="A system service of node gpu-a has failed (container runtime, kernel or a systemd unit).",
    ),
    "node-unreachable": Case(
        firing=ready("gpu-a", "unknown"),
        silent=ready("gpu-a", "unknown", minute=20),
        labels=(_A,),
        summary="Node gpu-a of pool train stopped reporting over a minute ago.",
    ),
    "node-disk": Case(
        firing={on_node("node_filesystem_avail_bytes", "gpu-a", **_ROOT): turns(5e11, 9e10)},
        silent={on_node("node_filesystem_avail_bytes", "gpu-a", **_ROOT): turns(5e11, 1.1e11)},
        labels=({**_A, "mountpoint": "/"},),
        summary="File system / of node gpu-a has 9% of its space left.",
    ),
    "fabric-link": Case(
        firing={
            on_node("node_infiniband_state_id", "gpu-a", **_PORT): turns(4, 1),
            on_node("node_infiniband_link_downed_total", "gpu-a", **_PORT): turns(0, 1),
        },
        silent={on_node("node_infiniband_link_downed_total", "gpu-a", **_PORT): turns(0, 2)},
        labels=(_A,),
        summary="Fabric links down on node gpu-a: 1.",
    ),
    "fabric-flaps": Case(
        firing={on_node("node_infiniband_link_downed_total", "gpu-a", **_PORT): turns(0, 4)},
        silent={on_node("node_infiniband_symbol_error_total", "gpu-a", **_PORT): then_rising(0.9)},
        labels=({**_A, **_PORT},),
        summary="Port mlx5_0 of node gpu-a flaps or has symbol errors: 4 in all.",
    ),
    "fabric-drops": Case(
        firing={on_node("node_infiniband_port_discards_received_total", "gpu-a", **_PORT): then_rising(6_000)},
        silent={on_node("node_infiniband_port_discards_received_total", "gpu-a", **_PORT): then_rising(2_900)},
        labels=({**_A, "device": "mlx5_0"},),
        summary="Port mlx5_0 of node gpu-a has dropped 200 packets a second for a minute.",
    ),
    "run-on-tcp": Case(
        firing={
            on_node("node_infiniband_port_data_transmitted_bytes_total", node, **_PORT): rising(3_000)
            for node in ("gpu-a", "gpu-b")
        },
        silent={
            on_node("node_infiniband_port_data_transmitted_bytes_total", node, **_PORT): rising(3e7)
            for node in ("gpu-a", "gpu-b")
        },
        labels=(_RUN,),
        summary="Run pretrain trains on several nodes, but has sent almost nothing over the fabric for 5 minutes.",
    ),
    "shared-files-busy": Case(
        firing={file_system("bytes_per_second", operation="read"): turns(2e8, 7.5e8, minute=3)},
        silent={file_system("bytes_per_second", operation="read"): turns(2e8, 6.9e8, minute=3)},
        labels=({"file_system": "fs-1"},),
        summary="The shared file system fs-1 has carried 95% of its planned rate for 15 minutes.",
    ),
    "shared-files-full": Case(
        firing={on_node("node_filesystem_avail_bytes", "gpu-a", **_LUSTRE): turns(5e11, 1.5e11)},
        silent={on_node("node_filesystem_avail_bytes", "gpu-a", **_LUSTRE): turns(5e11, 2.1e11)},
        labels=({"device": "10.0.0.1@tcp:/fsx"},),
        summary="The shared file system 10.0.0.1@tcp:/fsx is 85% full.",
    ),
    "lustre-over-tcp": Case(
        firing={lnet("messages_total", "efa", direction=each): rising(0) for each in ("sent", "received")}
        | {lnet("messages_total", "tcp", direction=each): then_rising(30_000) for each in ("sent", "received")},
        silent={lnet("messages_total", "tcp", direction=each): then_rising(29_000) for each in ("sent", "received")},
        also={lnet("interfaces_up", "efa"): turns(8, 7)},
        labels=({"node": "gpu-c", "pool": "serve"},),
        summary="Lustre on node gpu-c has gone over TCP, wholly or in part, for 10 minutes.",
        minute=25,
    ),
    "volume-full": Case(
        firing={series("kubelet_volume_stats_available_bytes", **_MYSQL, node="system-a"): turns(5e10, 5e9)},
        silent={series("kubelet_volume_stats_available_bytes", **_MYSQL, node="system-a"): turns(5e10, 1.1e10)},
        labels=(_MYSQL,),
        summary="Volume katib/mysql is 95% full.",
    ),
    "database-uncopied": Case(
        firing={in_cluster("kube_cronjob_status_last_schedule_time", **_COPY): turns(100, 500)},
        silent={
            in_cluster("kube_cronjob_status_last_schedule_time", **_COPY): turns(100, 500),
            in_cluster("kube_cronjob_status_last_successful_time", **_COPY): turns(160, 2_400, minute=40),
        },
        labels=(_COPY,),
        summary="The copy tracking/mlflow-backup was due an hour ago and is not in the bucket.",
        minute=70,
    ),
    "ceph-slow": Case(
        firing={series("ceph_osd_op_r_latency_sum", ceph_daemon="osd.0"): then_rising(24)},
        silent={series("ceph_osd_op_r_latency_sum", ceph_daemon="osd.0"): then_rising(14)},
        labels=({"operation": "read"},),
        summary="Ceph has taken 8ms per read for 10 minutes.",
        minute=30,
    ),
}
