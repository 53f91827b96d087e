"""How many series each exporter has: what it exports of a node, a GPU, a port, a pod, times how many there are.

Numbers beside a word are series counted in the exporter's own list or test fixtures at the version that is deployed;
`about` marks those that depend on the node and are rounded up. What a running cluster has: count({__name__=~".+"}) by
(job).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from monitoring.counters import DCGM_COUNTERS
from planner.monitoring.types import ExporterPlan
from planner.pool_types import AwsPoolPlan, MetalPoolPlan, PoolPlan
from planner.workload_types import RunPlan, ServicePlan

_BY_REASON, _REASONS = "DCGM_EXP_CLOCK_EVENTS_COUNT", 8
"""dcgm-exporter 4.5.3, pkg/dcgmprovider: one series of it for each reason that was seen, none without."""
_PER_GPU = sum(each.kind != "label" and each.field != _BY_REASON for each in DCGM_COUNTERS) + _REASONS

_PER_NODE, _PER_PROCESSOR, _PER_DISK, _PER_PORT, _PER_EFA = 620, 8, 27, 60, 28
"""node_exporter 1.12.1, collector/fixtures/e2e-output.txt, with the collectors that the chart's values leave on: about
620 of a node with two interfaces and three file systems, node_cpu_seconds_total in 8 modes of each processor, diskstats
of each disk, class_infiniband with its hw_counters of each port. EFA: linux, drivers/infiniband/hw/efa/efa_verbs.c, the
17 counters of a port, 5 of its retransmissions and `lifespan`, all in a text file; and 5 of the infiniband collector,
which takes a device of EFA for one of its own (as `i40iw0` in the fixtures, and `lifespan` again)."""

_PER_LNET = 9
"""Of a node whose Lustre client speaks EFA (node/lustre/counters.sh): two networks, and what is wanted of one."""

_KUBELET, _PER_CONTAINER, _PER_POD = 1_100, 34, 20
"""Kubernetes 1.36: about 1,100 of the kubelet's /metrics; cAdvisor's of a container, and of a pod's network and own
cgroup, less what the chart drops."""

_STATE_PER_NODE, _STATE_PER_POD, _STATE_PER_CONTAINER, _STATE_PER_OBJECT = 52, 36, 10, 12
"""kube-state-metrics 2.20, internal/store: a node with eight resources and nine conditions; a pod with six tolerations,
and every third with an init container; a container with three requests and limits; each Deployment, claim, Job and the
like."""

API_SERVERS, _API_SERVER = 2, 23_600
"""EKS keeps at least two (EKS guide, clusters); as a rehearsed one of dev, which is the real program, without buckets
that the chart drops."""

_DNS, _OPERATOR, _PROMETHEUS, _ALERTMANAGER, GRAFANA = 350, 630, 2_020, 740, 1_900
_VOLCANO, _VOLCANO_PER_QUEUE, _TRAINING_OPERATOR, _LOG_COLLECTOR = 1_110, 25, 250, 45
"""But for the first and the last of each line as a rehearsed dev has them; of Volcano scheduler and controllers."""

_VLLM = 420
"""vLLM 0.29, vllm/v1/metrics/loggers.py, without what switches add: 15 histograms of 6 to 23 buckets and 16 counters,
each with the time since when it counts; of two paths of its web server, and of its process."""

_RULES_PER_CONTAINER, _RULES_PER_NODE, _RULES_PER_GPU, _RULES = 8, 16, 6, 500
"""Recording rules: the chart's of containers and nodes, and the stack's own of GPUs."""

_EBS_CONTROLLERS, _EBS_CONTROLLER = 2, 235
"""aws-ebs-csi-driver, pkg/metrics/metrics.go: the times of 16 requests in 11 buckets, and of its own collector."""

_PER_MACHINE = 32
"""Of a machine whose controller is asked (node/sensors/sensors.py): up to eight supplies, twenty fans, two inlets."""

_PER_FILE_SERVER = 9
"""At most, of what tells of a file system (node/file_system): FSx as one, or each server of Lustre."""

_DAEMONS, _DAEMON_CONTAINERS = 8, 15
"""Of every node: network, proxy, pod identity, two volume drivers of three containers, health agent, two exporters."""
_GPU_DAEMONS, _GPU_DAEMON_CONTAINERS = 7, 8
"""Of a GPU node: device plugins, both feature discoveries, DCGM exporter, validator, MIG manager."""
_SYSTEM_PODS, _SYSTEM_CONTAINERS, _OBJECTS = 30, 48, 90

RULES_S = 30
"""Evaluation interval of rules that name none."""
VLLM_S = 15
"""The servers' own, as the autoscaler acts on them."""
OWN_INTERVAL = frozenset({"vllm", "rules"})
"""What another scrapeSeconds leaves as often as before."""


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """What there is to look at, at its most: every replica, every gang."""

    nodes: int
    gpu_nodes: int
    gpus: int
    processors: int
    disks: int
    ports: int
    efa: int
    pods: int
    containers: int
    replicas: int
    queues: int
    controllers: int = 0
    file_servers: int = 0
    ebs_controllers: int = 0
    lnet: int = 0


def fleet(
    pools: Iterable[PoolPlan],
    runs: Mapping[str, RunPlan],
    services: Mapping[str, ServicePlan],
    queues: int,
    controllers: int = 0,
    file_servers: int = 0,
) -> Fleet:
    """Count what the plan deploys; so many `controllers` of machines are asked for their sensors, so many
    `file_servers` for rates of the shared file system. Where GPUs are cut into slices, each slice counts as a GPU.
    """
    known = list(pools)
    nodes = sum(pool.count for pool in known)
    gpu_nodes = sum(pool.count for pool in known if pool.gpus)
    replicas = sum(each.max_replicas for each in services.values())
    workers = sum(run.pods for run in runs.values()) + replicas
    return Fleet(
        nodes=nodes,
        gpu_nodes=gpu_nodes,
        gpus=sum(pool.count * pool.devices_per_node for pool in known),
        processors=sum(pool.count * _processors(pool) for pool in known),
        disks=sum(pool.count * (1 + (pool.nvme.count if pool.nvme else 0)) for pool in known),
        ports=sum(pool.count * pool.rails for pool in known if isinstance(pool, MetalPoolPlan)),
        efa=sum(pool.count * pool.efa for pool in known if isinstance(pool, AwsPoolPlan)),
        pods=nodes * _DAEMONS + gpu_nodes * _GPU_DAEMONS + _SYSTEM_PODS + workers,
        containers=nodes * _DAEMON_CONTAINERS + gpu_nodes * _GPU_DAEMON_CONTAINERS + _SYSTEM_CONTAINERS + workers,
        replicas=replicas,
        queues=queues,
        controllers=controllers,
        file_servers=file_servers,
        lnet=sum(pool.count for pool in known if isinstance(pool, AwsPoolPlan) and pool.lustre_efa),
        ebs_controllers=_EBS_CONTROLLERS if any(isinstance(pool, AwsPoolPlan) for pool in known) else 0,
    )


def _processors(pool: PoolPlan) -> int:
    if isinstance(pool, AwsPoolPlan):
        return pool.instance.vcpu
    return pool.server.cpu.threads if isinstance(pool, MetalPoolPlan) else 0


def exporters(seen: Fleet, scrape_s: int) -> tuple[ExporterPlan, ...]:
    """Everything that is scraped, and the rules, which add series as well; those without targets are left out."""
    return tuple(each for each in _exporters(seen, scrape_s) if each.targets)


def _exporters(seen: Fleet, scrape_s: int) -> Iterator[ExporterPlan]:
    def each(name: str, targets: int, series: int, every_s: int = scrape_s) -> ExporterPlan:
        return ExporterPlan(name=name, targets=targets, series=series, every_s=every_s)

    hosts = seen.nodes * _PER_NODE + seen.processors * _PER_PROCESSOR + seen.disks * _PER_DISK
    cards = seen.ports * _PER_PORT + seen.efa * _PER_EFA + seen.lnet * _PER_LNET
    state = seen.nodes * _STATE_PER_NODE + seen.pods * _STATE_PER_POD + seen.containers * _STATE_PER_CONTAINER
    rules = seen.containers * _RULES_PER_CONTAINER + seen.nodes * _RULES_PER_NODE + seen.gpus * _RULES_PER_GPU
    yield each("dcgm-exporter", seen.gpu_nodes, seen.gpus * _PER_GPU)
    yield each("node-exporter", seen.nodes, hosts + cards)
    yield each("kubelet", seen.nodes, seen.nodes * _KUBELET)
    yield each("cadvisor", seen.nodes, seen.containers * _PER_CONTAINER + seen.pods * _PER_POD)
    yield each("kube-state-metrics", 1, state + _OBJECTS * _STATE_PER_OBJECT)
    yield each("apiserver", API_SERVERS, API_SERVERS * _API_SERVER)
    yield each("coredns", 2, 2 * _DNS)
    yield each("volcano", 2, _VOLCANO + seen.queues * _VOLCANO_PER_QUEUE)
    yield each("training-operator", 1, _TRAINING_OPERATOR)
    yield each("vllm", seen.replicas, seen.replicas * _VLLM, VLLM_S)
    yield each("sensors", min(seen.controllers, 1), seen.controllers * _PER_MACHINE)
    yield each("file system", seen.file_servers, seen.file_servers * _PER_FILE_SERVER)
    yield each("ebs-csi-controller", seen.ebs_controllers, seen.ebs_controllers * _EBS_CONTROLLER)
    yield each("fluent-bit", seen.nodes, seen.nodes * _LOG_COLLECTOR)
    yield each("monitoring", 4, _OPERATOR + _PROMETHEUS + _ALERTMANAGER + GRAFANA)
    yield each("rules", 1, rules + _RULES, RULES_S)
