"""The shared file system, volumes, the nodes' own disks, and copies of checkpoints (X05)."""

from monitoring.dashboards.alerts import bounds
from monitoring.dashboards.model import Bounds, Dashboard, Panel, Query, Section, Unit, Variable
from monitoring.dashboards.queries import by_pool, line, per_second
from monitoring.dashboards.references import References

_BYTES_PER_GB = 1e9


def storage(plan: References) -> Dashboard:
    """What stores: filling, speed, and what is copied on."""
    ceph = plan.storage is not None and plan.storage.kind == "ceph"
    return Dashboard(
        uid="gpucluster-storage",
        title="Storage",
        description="Filling and speed of file systems and disks, and copies of checkpoints.",
        variables=(Variable(name="node", label="node", metric="gpucluster:node:pool"),),
        sections=(
            Section(title="Filling", panels=_filling()),
            Section(
                title="Speed",
                panels=(*(_servers(plan) if plan.rates else ()), *_nodes(plan), *(_ceph() if ceph else ())),
            ),
            Section(title="Copies", panels=_copies()),
        ),
    )


def _filling() -> tuple[Panel, ...]:
    return (
        Panel(
            title="Shared file system in use",
            description="Full, every save fails, and the newest checkpoint grows old: remove old saves first.",
            unit=Unit.PART,
            queries=[Query("max by (device) (gpucluster:shared_files:used_ratio)", "{{device}}")],
            bounds=bounds("shared-files-full", "used"),
            most=1,
        ),
        Panel(
            title="Volumes in use, the ten fullest",
            description="A full volume of Prometheus ends its history, a full one of a service its writes.",
            unit=Unit.PART,
            kind="bargauge",
            queries=[Query("topk(10, gpucluster:volume:used_ratio)", "{{namespace}}/{{persistentvolumeclaim}}")],
            bounds=bounds("volume-full", "used"),
            most=1,
        ),
        Panel(
            title="Disks of nodes, least left",
            description="Below 10 % the kubelet evicts pods; images and checkpoints on local disks fill it.",
            unit=Unit.PART,
            kind="bargauge",
            queries=[
                Query('bottomk(10, gpucluster:node:filesystem_free_ratio{node=~"$node"})', "{{node}} {{mountpoint}}")
            ],
            bounds=bounds("node-disk", "free", below=True),
            most=1,
        ),
    )


def _servers(plan: References) -> tuple[Panel, ...]:
    """What the file system's servers tell, where somebody asks them."""
    shared = plan.storage
    return (
        Panel(
            title="Shared file system, read and written",
            description="As its servers tell. At the dashed line it is the limit, whatever the nodes could do.",
            unit=Unit.BYTES_PER_SECOND,
            queries=[
                Query("gpucluster:shared_files:bytes_per_second", "{{file_system}} {{operation}}"),
                *([line("planned rate", shared.read_gb_per_s * _BYTES_PER_GB)] if shared else ()),
            ],
        ),
        Panel(
            title="Part of the file system's rate",
            description="Reads and writes together, against the planned rate: near 100 % steps wait for data.",
            unit=Unit.PART,
            queries=[Query("gpucluster:shared_files:rate_ratio", "{{file_system}}")],
            bounds=bounds("shared-files-busy", "part"),
        ),
        Panel(
            title="Operations of the file system",
            description="Many operations of metadata and few bytes: small files, pack them into larger ones.",
            unit=Unit.PER_SECOND,
            queries=[Query("gpucluster:shared_files:operations_per_second", "{{file_system}} {{operation}}")],
        ),
        Panel(
            title="Fullest target",
            description="One full OST fails writes while others have space: a file striped over one of them fills it.",
            unit=Unit.PART,
            queries=[Query("gpucluster:shared_files:fullest_target_ratio", "{{file_system}}")],
            bounds=bounds("shared-files-full", "used"),
            most=1,
        ),
    )


def _network(way: str) -> str:
    """Bytes per second of the nodes' own interfaces, by pool."""
    own = f'node_network_{way}_bytes_total{{device!~"lo|veth.*|cali.*|eni.*|cni.*|docker.*"}}'
    return f"sum by (pool) ({by_pool(per_second(own))})"


def _nodes(plan: References) -> tuple[Panel, ...]:
    of_nodes = '{node=~"$node", device=~"nvme.*|sd.*|vd.*|md.*"}'
    shared = plan.storage
    return (
        Panel(
            title="Read by the nodes' network",
            description="Bursts at a run's start are its data; at the dashed line the file system is the limit.",
            unit=Unit.BYTES_PER_SECOND,
            queries=[
                Query(_network("receive"), "{{pool}}"),
                *([line("file system reads", shared.read_gb_per_s * _BYTES_PER_GB)] if shared else ()),
            ],
            width=12,
        ),
        Panel(
            title="Sent by the nodes' network",
            description="Bursts are checkpoints; at the dashed line a save takes as long as it can.",
            unit=Unit.BYTES_PER_SECOND,
            queries=[
                Query(_network("transmit"), "{{pool}}"),
                *([line("file system writes", shared.write_gb_per_s * _BYTES_PER_GB)] if shared else ()),
            ],
            width=12,
        ),
        Panel(
            title="Local disks, the ten busiest",
            description="At 100 % a save to the local disk stalls the step that waits for it.",
            unit=Unit.PART,
            queries=[
                Query(
                    f"topk(10, rate(node_disk_io_time_seconds_total{of_nodes}[$__rate_interval]))",
                    "{{node}} {{device}}",
                )
            ],
            most=1,
        ),
        Panel(
            title="Local disks, read and written",
            description="Writes between saves on a training node: somebody swaps, or logs too much.",
            unit=Unit.BYTES_PER_SECOND,
            queries=[
                Query(f"sum(rate(node_disk_{what}_bytes_total{of_nodes}[$__rate_interval]))", what)
                for what in ("read", "written")
            ],
        ),
        Panel(
            title="Time of an operation on local disks",
            description="One disk far above the others is worn out, or shared with a neighbour.",
            unit=Unit.SECONDS,
            queries=[
                Query(
                    f"topk(4, rate(node_disk_{what}_time_seconds_total{of_nodes}[$__rate_interval])"
                    f" / (rate(node_disk_{done}_completed_total{of_nodes}[$__rate_interval]) > 0))",
                    f"{{{{node}}}} {{{{device}}}} {what}",
                )
                for what, done in (("read", "reads"), ("write", "writes"))
            ],
        ),
    )


def _ceph() -> tuple[Panel, ...]:
    return (
        Panel(
            title="Time of an operation in Ceph",
            description="Above 5 ms pods that read data wait for disks: look for a slow OSD or for recovery.",
            unit=Unit.SECONDS,
            queries=[Query("gpucluster:ceph:operation_latency_seconds", "{{operation}}")],
            bounds=bounds("ceph-slow", "seconds"),
        ),
        Panel(
            title="Ceph in use",
            description="At 85 % Ceph warns, at 95 % it stops every write.",
            unit=Unit.PART,
            queries=[Query("gpucluster:ceph:used_ratio", "used")],
            # Ceph: mon_osd_nearfull_ratio 0.85, mon_osd_full_ratio 0.95.
            bounds=Bounds(warn=0.85, bad=0.95),
            most=1,
        ),
        Panel(
            title="OSDs that are down",
            description="Their data is copied from the others, which makes everything slower until it is done.",
            unit=Unit.COUNT,
            queries=[Query("count(ceph_osd_up == 0) or vector(0)", "down")],
            bounds=Bounds(warn=1),
        ),
        Panel(
            title="Slow operations",
            description="Requests that wait longer than 30 s in an OSD's queue: a disk dies, or a network flaps.",
            unit=Unit.COUNT,
            queries=[Query("sum(ceph_healthcheck_slow_ops) or vector(0)", "slow")],
            bounds=Bounds(warn=1),
        ),
    )


def _copies() -> tuple[Panel, ...]:
    return (
        Panel(
            title="Since the last copy of checkpoints to the object store",
            description="Older than its schedule: the copy fails, or there is no whole save; read the Job's log.",
            unit=Unit.SECONDS,
            kind="bargauge",
            queries=[
                Query(
                    'time() - max by (cronjob) (kube_cronjob_status_last_successful_time{namespace="training"})',
                    "{{cronjob}}",
                )
            ],
            width=12,
            height=4,
        ),
        Panel(
            title="Copies that failed",
            description="Weights, data or checkpoints that did not arrive: the Job's pod says why.",
            unit=Unit.COUNT,
            kind="bargauge",
            queries=[
                Query(
                    'sum by (namespace, job_name) (kube_job_status_failed{namespace=~"training|inference"}) > 0',
                    "{{namespace}}/{{job_name}}",
                )
            ],
            bounds=Bounds(bad=1),
            width=12,
            nothing="none",
            height=4,
        ),
    )
