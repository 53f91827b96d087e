"""What runs on the system pools besides the workloads' Jobs, and whether their nodes hold it.

Requests are what the charts and add-ons ask for at the versions that are deployed, and for those that ask for nothing
what they use on a quiet cluster; Prometheus' own follow from the series.
"""

from collections.abc import Sequence
from typing import NamedTuple

from planner.external_secrets import CONTROLLER_REQUEST
from planner.mlops import DATABASE_REQUEST, MLFLOW_REQUEST, has_mlflow
from planner.monitoring.types import PodRequest, Requests, SystemRoom
from planner.nodes import CONTROLLER_REQUEST as KARPENTER_REQUEST
from planner.pool_types import AwsPoolPlan, PoolPlan
from planner.serving.gateway import REQUEST as PEOPLE_REQUEST
from planner.serving.gateway import GatewayPlan
from settings.model import Settings


class _Pods(NamedTuple):
    """`replicas` alike pods, and what each of them asks for."""

    what: str
    cpu_millicores: int
    memory_mib: int
    replicas: int = 1


def requests(cpu_millicores: int, memory_mib: int, nodes: int) -> Requests:
    """What the containers of monitoring ask for, with a Prometheus of so many millicores and MiB.

    Memory is their limit, too. Sources: the limits in prometheus-operator/kube-prometheus, manifests;
    kube-state-metrics, README, "Resource recommendation", which grows by 2 MiB with each node beyond a hundred.
    """
    return Requests(
        prometheus=PodRequest(cpu_millicores=cpu_millicores, memory_mib=memory_mib),
        alertmanager=PodRequest(cpu_millicores=50, memory_mib=100),
        grafana=PodRequest(cpu_millicores=100, memory_mib=512),
        dashboard_loader=PodRequest(cpu_millicores=10, memory_mib=128),
        state_metrics=PodRequest(cpu_millicores=100, memory_mib=250 + 2 * max(0, nodes - _NODES_OF_DEFAULT)),
        operator=PodRequest(cpu_millicores=100, memory_mib=200),
        reloader=PodRequest(cpu_millicores=10, memory_mib=50),
        node_exporter=PodRequest(cpu_millicores=50, memory_mib=180),
        fabric_counters=PodRequest(cpu_millicores=5, memory_mib=16),
        log_collector=PodRequest(cpu_millicores=50, memory_mib=128),
    )


_NODES_OF_DEFAULT = 100

_SERVICES = (
    _Pods("CoreDNS", 100, 70, 2),
    _Pods("metrics-server", 100, 200, 2),
    _Pods("controllers of volumes", 110, 400, 2),
    _Pods("what waits for volumes to go", 100, 64),
    _Pods("GPU Operator and feature discovery", 310, 356),
    _Pods("Volcano", 400, 600),
    _Pods("training operator", 100, 128),
    _Pods("a copy of weights or data", 1100, 1280),
)
GATEWAY_REQUEST = (500, 256)
"""Millicores and MiB of a pod of the gateway, which keeps TLS and streams open and buffers nothing."""
CERTIFICATES = _Pods("cert-manager, its webhook and injector", 30, 192)
KEDA_REQUEST = (100, 256)
"""Millicores and MiB of KEDA's operator, and of its metrics server: its chart's for processors, and room for the caches
of one namespace (assumed)."""
_KEDA = _Pods("KEDA and its metrics server", *KEDA_REQUEST, 2)
_PEOPLE = _Pods("what asks people who they are", *PEOPLE_REQUEST)
_KATIB = (_Pods("Katib", 200, 384), _Pods("the trials' database", 250, 1024))
_SEARCH = _Pods("an experiment's algorithm", 200, 512)
"""As they are registered (components/kubeflow); an algorithm's service goes when its experiment has ended."""

_TRACKING = (_Pods("MLflow", *MLFLOW_REQUEST), _Pods("the tracker's database", *DATABASE_REQUEST))
_OUTSIDE = _Pods("External Secrets", *CONTROLLER_REQUEST)
_ISOLATION = _Pods("what isolates broken nodes", 100, 128)
_FILE_SYSTEM = _Pods("what reads the file system's rates", 100, 128)
_KARPENTER = _Pods("Karpenter", *KARPENTER_REQUEST, 2)
_PIPELINES = (
    _Pods("Kubeflow Pipelines", 600, 2048),
    _Pods("the pipelines' database", *DATABASE_REQUEST),
)
"""As they are registered (components/kubeflow/pipelines.py): API server, Argo, metadata, agents and UI together."""
_DAEMONS = _Pods("daemons of a node", 300, 512)


def optional(settings: Settings, pools: Sequence[PoolPlan], gateway: GatewayPlan | None) -> list[_Pods]:
    """What runs on the system pools because this stack file asks for it. Steps of pipelines are no part of it."""
    training, found = settings.training, list[_Pods]()
    if gateway:
        found.append(_Pods("gateway", *GATEWAY_REQUEST, gateway.most_replicas))
    if gateway or training.experiments:
        found.append(CERTIFICATES)
    if any(each.scale_to_zero for each in settings.serving.services):
        found.append(_KEDA)
    if gateway and gateway.people:
        found.append(_PEOPLE._replace(replicas=gateway.most_replicas))
    if training.experiments:
        found += [*_KATIB, _SEARCH._replace(replicas=len(training.experiments))]
    if has_mlflow(training):
        found += _TRACKING
    if training.pipelines:
        found += [each._replace(replicas=1 + len(training.pipelines.teams)) for each in _PIPELINES]
    if getattr(settings, "external_secrets", None):
        found.append(_OUTSIDE)
    if settings.monitoring and settings.monitoring.isolation:
        found.append(_ISOLATION)
    if settings.watches_files and settings.platform.kind == "aws":
        found.append(_FILE_SYSTEM)
    if any(isinstance(pool, AwsPoolPlan) and pool.scaled for pool in pools):
        found.append(_KARPENTER)
    return found


def system_room(pools: Sequence[PoolPlan], asked: Requests, beside: Sequence[_Pods]) -> SystemRoom:
    """Sum up the system pools, and what runs there: every stack's services, monitoring, and what is `beside` them."""
    system = [pool for pool in pools if pool.role == "system"]
    nodes = sum(pool.count for pool in system)
    prometheus = _together("Prometheus", asked.prometheus, asked.reloader)
    watching = (
        prometheus,
        _together("Alertmanager", asked.alertmanager, asked.reloader),
        _together("Grafana", asked.grafana, asked.dashboard_loader, asked.dashboard_loader),
        _together("kube-state-metrics", asked.state_metrics),
        _together("Prometheus operator", asked.operator),
    )
    own = _together("monitoring on a node", asked.node_exporter, asked.fabric_counters, asked.log_collector)
    daemons = _Pods(
        "daemons", own.cpu_millicores + _DAEMONS.cpu_millicores, own.memory_mib + _DAEMONS.memory_mib, nodes
    )
    everything = (*_SERVICES, *watching, *beside, daemons)
    return SystemRoom(
        asked_cpu_millicores=sum(each.cpu_millicores * each.replicas for each in everything),
        asked_memory_mib=sum(each.memory_mib * each.replicas for each in everything),
        offered_cpu_millicores=sum(pool.count * pool.allocatable_cpu_millicores for pool in system),
        offered_memory_mib=sum(pool.count * pool.allocatable_memory_mib for pool in system),
        largest_cpu_millicores=prometheus.cpu_millicores + daemons.cpu_millicores,
        largest_memory_mib=prometheus.memory_mib + daemons.memory_mib,
        node_cpu_millicores=max((pool.allocatable_cpu_millicores for pool in system), default=0),
        node_memory_mib=max((pool.allocatable_memory_mib for pool in system), default=0),
    )


def _together(what: str, *containers: PodRequest) -> _Pods:
    return _Pods(what, sum(each.cpu_millicores for each in containers), sum(each.memory_mib for each in containers))
