"""The cluster as a whole: is everything there, is it used, does anything wait."""

from monitoring.dashboards.alerts import bounds
from monitoring.dashboards.model import Bounds, Dashboard, Panel, Query, Section, Unit
from monitoring.dashboards.queries import gpus_of_pods, line
from monitoring.dashboards.references import References

_LATE_S = 30 * 86_400 / 4
"""cert-manager renews with a third of the life left: of 90 days 30, of which a quarter is late."""


def cluster(plan: References) -> Dashboard:
    """What somebody looks at first, and what hangs on a wall."""
    return Dashboard(
        uid="gpucluster-cluster",
        title="Cluster",
        description="Nodes, GPUs, queues and alerts of the whole cluster.",
        sections=(
            Section(title="Now", panels=_now(plan)),
            Section(title="GPUs and queues", panels=_gpus(plan)),
            Section(title="Nodes", panels=_nodes()),
            Section(title="Pods and monitoring", panels=_pods()),
        ),
    )


def _now(plan: References) -> tuple[Panel, ...]:
    return (
        Panel(
            title="Critical alerts",
            description="Each is a failure that a runbook describes; the annotation of the alert links to it.",
            unit=Unit.COUNT,
            kind="stat",
            queries=[Query('count(ALERTS{alertstate="firing", severity="critical"}) or vector(0)', "firing")],
            bounds=Bounds(bad=1),
            width=4,
            height=4,
        ),
        Panel(
            title="Warnings",
            description="Work for the day: a warning that stays becomes a failure at night.",
            unit=Unit.COUNT,
            kind="stat",
            queries=[Query('count(ALERTS{alertstate="firing", severity="warning"}) or vector(0)', "firing")],
            bounds=Bounds(warn=1),
            width=4,
            height=4,
        ),
        Panel(
            title=f"Nodes ready, of {plan.nodes} planned",
            description="Fewer than planned: a node did not join, or is not ready, and its pods wait elsewhere.",
            unit=Unit.COUNT,
            kind="stat",
            queries=[Query("sum(gpucluster:node:ready)", "ready")],
            bounds=Bounds(bad=plan.nodes, below=True),
            width=4,
            height=4,
        ),
        Panel(
            title=f"GPUs offered, of {plan.gpus} planned",
            description="Fewer than planned: the device plugin took a GPU out, mostly after an Xid error.",
            unit=Unit.COUNT,
            kind="stat",
            queries=[Query("sum(gpucluster:node:gpus_allocatable)", "allocatable")],
            bounds=Bounds(bad=sum(pool.nodes * pool.devices for pool in plan.pools.values()), below=True),
            width=4,
            height=4,
        ),
        Panel(
            title="GPUs held by pods",
            description="A low part is paid for and given to nobody: look at the queues below.",
            unit=Unit.PART,
            kind="stat",
            queries=[Query(f"sum({gpus_of_pods()}) / sum(gpucluster:node:gpus_allocatable)", "held")],
            decimals=0,
            width=4,
            height=4,
        ),
        Panel(
            title="Gangs that wait",
            description="Runs without room in their queue; they start together once all their GPUs are free.",
            unit=Unit.COUNT,
            kind="stat",
            queries=[Query("sum(gpucluster:queue:gangs_pending) or vector(0)", "waiting")],
            bounds=Bounds(warn=1),
            width=4,
            height=4,
        ),
    )


def _gpus(plan: References) -> tuple[Panel, ...]:
    devices = sum(pool.nodes * pool.devices for pool in plan.pools.values())
    return (
        Panel(
            title="GPUs held, by namespace",
            description="The gap up to the dashed line is idle; a stack that shrinks lost pods.",
            unit=Unit.COUNT,
            queries=[
                Query(f"sum by (namespace) ({gpus_of_pods()})", "{{namespace}}"),
                line("planned", devices),
            ],
            stacked=True,
        ),
        Panel(
            title="GPUs held, by queue",
            description="A queue at zero while its gangs wait is blocked by another's weight or by its own cap.",
            unit=Unit.COUNT,
            queries=[
                # Volcano counts scalar resources in thousandths (pkg/scheduler/api/resource_info.go, NewResource).
                Query(
                    'sum by (queue_name) (volcano_queue_allocated_scalar_resources{resource="nvidia.com/gpu"}) / 1000',
                    "{{queue_name}}",
                )
            ],
            stacked=True,
        ),
        Panel(
            title="GPU utilisation, by pool",
            description="Held and not busy: a hang, a slow loader, or a service without traffic.",
            unit=Unit.PART,
            queries=[
                Query("avg by (pool) (gpucluster:gpu:utilisation_ratio)", "{{pool}} busy"),
                Query("avg by (pool) (gpucluster:gpu:tensor_active_ratio)", "{{pool}} tensor cores"),
            ],
            most=1,
        ),
    )


def _nodes() -> tuple[Panel, ...]:
    return (
        Panel(
            title="Processors, the ten busiest",
            description="A GPU node at its limit starves its data loaders; look for pods without limits.",
            unit=Unit.PART,
            queries=[Query("topk(10, gpucluster:node:cpu_utilisation_ratio)", "{{node}}")],
            most=1,
        ),
        Panel(
            title="Memory left, the ten fullest",
            description="Towards zero the kernel kills the largest process, and a gang begins again.",
            unit=Unit.PART,
            queries=[Query("bottomk(10, gpucluster:node:memory_available_ratio)", "{{node}}")],
            most=1,
        ),
        Panel(
            title="Disk left, the ten fullest",
            description="Below 15 % the kubelet removes images, below 10 % it evicts pods.",
            unit=Unit.PART,
            queries=[Query("bottomk(10, gpucluster:node:filesystem_free_ratio)", "{{node}} {{mountpoint}}")],
            bounds=bounds("node-disk", "free", below=True),
            most=1,
        ),
    )


def _pods() -> tuple[Panel, ...]:
    return (
        Panel(
            title="Pods that wait or failed",
            description="Pending for long: no room, a missing volume, or an image that cannot be had.",
            unit=Unit.COUNT,
            queries=[
                Query(
                    'sum by (namespace, phase) (kube_pod_status_phase{phase=~"Pending|Failed|Unknown"}) > 0',
                    "{{namespace}} {{phase}}",
                )
            ],
            width=6,
            nothing="none",
        ),
        Panel(
            title="Containers that began again, in an hour",
            description="Steady restarts are a crash loop; one of all pods of a run at once is a gang that restarts.",
            unit=Unit.COUNT,
            queries=[
                Query("sum by (namespace) (increase(kube_pod_container_status_restarts_total[1h]))", "{{namespace}}")
            ],
            decimals=0,
            width=6,
        ),
        Panel(
            title="Targets that do not answer",
            description="What is not scraped raises no alert: panels that are empty begin here.",
            unit=Unit.COUNT,
            queries=[Query("gpucluster:target:down", "{{namespace}}/{{job}}")],
            width=6,
            nothing="none",
        ),
        Panel(
            title="Certificates end in",
            description="When a certificate expires, every client refuses the connection.",
            unit=Unit.SECONDS,
            kind="bargauge",
            queries=[Query("gpucluster:certificate:expires_in_seconds", "{{namespace}}/{{name}}")],
            bounds=Bounds(warn=_LATE_S, below=True),
            width=6,
        ),
    )
