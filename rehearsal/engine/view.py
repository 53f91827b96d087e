"""What one cluster runs, read from its API: nodes with their extended resources, gangs, services."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rehearsal.effects.services import listens, unanswered
from rehearsal.kube.client import ApiError, Kube
from rehearsal.plugins.kubernetes.reasons import explain

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"
POD_GROUP = ("scheduling.volcano.sh/v1beta1", "PodGroup")
GROUP_OF_POD = "scheduling.k8s.io/group-name"
SYSTEM_NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease"})

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Node:
    name: str
    instance_type: str
    zone: str
    ready: bool
    gpus: int
    efa: int


@dataclass(frozen=True)
class Gang:
    """A Volcano PodGroup: all of `members` pods start together or none does. `why` says what they wait for."""

    namespace: str
    name: str
    members: int
    running: int
    phase: str
    why: Sequence[str] = ()


@dataclass(frozen=True)
class Service:
    """A Deployment and the ready addresses behind the Services that select its pods; `why` its pods are not ready."""

    namespace: str
    name: str
    ready: int
    desired: int
    endpoints: int
    why: Sequence[str] = ()


@dataclass(frozen=True)
class ClusterView:
    """What one cluster runs, as its API tells it. `unanswered` are sentences about Services that lead nowhere."""

    name: str
    nodes: Sequence[Node] = field(default=())
    gangs: Sequence[Gang] = field(default=())
    services: Sequence[Service] = field(default=())
    unanswered: Sequence[str] = field(default=())

    def unready(self) -> list[str]:
        """One sentence for each thing that does not run as asked, with the reason that Kubernetes gives."""
        return [
            *(f"node {node.name} is not Ready" for node in self.nodes if not node.ready),
            *(
                f"gang {each.namespace}/{each.name} has {each.running} of {each.members} pods running ({each.phase})"
                + _because(each.why)
                for each in self.gangs
                if each.running < each.members
            ),
            *(
                f"deployment {each.namespace}/{each.name} has {each.ready} of {each.desired} replicas ready"
                + _because(each.why)
                for each in self.services
                if each.ready < each.desired
            ),
            *self.unanswered,
        ]


def _because(why: Sequence[str]) -> str:
    return f": {'; '.join(why)}" if why else ""


def view(name: str, kube: Kube) -> ClusterView:
    """Look at a cluster; raises what the client raises if the API server does not answer."""
    deployments, fronts = kube.list("apps/v1", "Deployment"), kube.list("v1", "Service")
    slices = kube.list("discovery.k8s.io/v1", "EndpointSlice")
    running = services(deployments, fronts, slices, kube.list("autoscaling/v2", "HorizontalPodAutoscaler"))
    ours = (each for each in fronts if each["metadata"]["namespace"] not in SYSTEM_NAMESPACES)
    return ClusterView(
        name,
        nodes=[node(each) for each in kube.list("v1", "Node")],
        gangs=[_explained_gang(gang(each), kube) for each in _listed_if_served(kube, *POD_GROUP)],
        services=[_explained_service(each, deployments, kube) for each in running],
        unanswered=unanswered(ours, slices, lambda where, pod, port: listens(kube.get("v1", "Pod", pod, where), port)),
    )


def _explained_gang(found: Gang, kube: Kube) -> Gang:
    """With what its first waiting pod waits for, as the others do too; without pods, why the queue does not let it in.

    Volcano tells that in events of the PodGroup, some of them `Normal`.
    """
    if found.running >= found.members:
        return found
    pods = kube.list("v1", "Pod", found.namespace)
    members = (pod for pod in pods if (pod["metadata"].get("annotations") or {}).get(GROUP_OF_POD) == found.name)
    first = next(filter(None, (explain({"kind": "Pod", **pod}, kube) for pod in members)), None)
    return replace(found, why=first or _refusals(found, kube))


def _refusals(found: Gang, kube: Kube) -> list[str]:
    selector = f"involvedObject.kind=PodGroup,involvedObject.name={found.name}"
    events = kube.list("v1", "Event", found.namespace, field_selector=selector)
    newest = sorted(events, key=lambda event: event.get("lastTimestamp") or "")
    return [f"{event['reason']}: {event['message']}" for event in {each["type"]: each for each in newest}.values()]


def _explained_service(found: Service, deployments: Iterable[Object], kube: Kube) -> Service:
    if found.ready >= found.desired:
        return found
    names = ((each, each["metadata"]["namespace"], each["metadata"]["name"]) for each in deployments)
    deployment = next(each for each, *name in names if name == [found.namespace, found.name])
    return replace(found, why=explain({"kind": "Deployment", **deployment}, kube))


def _listed_if_served(kube: Kube, api_version: str, kind: str) -> list[dict[str, Any]]:
    try:
        return kube.list(api_version, kind)
    except ApiError as error:
        if error.reason in {"NoMatch", "NotFound"}:
            return []
        raise


def node(item: Object) -> Node:
    labels = item["metadata"].get("labels") or {}
    status = item.get("status") or {}
    allocatable = status.get("allocatable") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return Node(
        name=item["metadata"]["name"],
        instance_type=labels.get("node.kubernetes.io/instance-type", "-"),
        zone=labels.get("topology.kubernetes.io/zone", "-"),
        ready=conditions.get("Ready") == "True",
        gpus=int(allocatable.get(GPU, 0)),
        efa=int(allocatable.get(EFA, 0)),
    )


def gang(item: Object) -> Gang:
    status = item.get("status") or {}
    return Gang(
        namespace=item["metadata"]["namespace"],
        name=item["metadata"]["name"],
        members=int(item["spec"].get("minMember", 1)),
        running=int(status.get("running", 0)),
        phase=status.get("phase", ""),
    )


def services(
    deployments: Iterable[Object], ports: Iterable[Object], slices: Iterable[Object], autoscalers: Iterable[Object] = ()
) -> list[Service]:
    """The Deployments outside the system namespaces, each with the ready addresses of the Services in front of it.

    A Deployment starts with one pod; an autoscaler with a higher minimum has not come to it yet, but asks for more.
    """
    least = {
        (each["metadata"]["namespace"], each["spec"]["scaleTargetRef"]["name"]): int(each["spec"].get("minReplicas", 1))
        for each in autoscalers
        if each["spec"]["scaleTargetRef"]["kind"] == "Deployment"
    }
    addresses = Counter[tuple[str, str]]()
    for each in slices:
        metadata = each["metadata"]
        owner = (metadata.get("labels") or {}).get("kubernetes.io/service-name", "")
        ready = sum(_ready(endpoint) for endpoint in each.get("endpoints") or ())
        addresses[metadata["namespace"], owner] += ready
    known = list(ports)
    return [
        _service(each, known, addresses, least.get((each["metadata"]["namespace"], each["metadata"]["name"]), 0))
        for each in deployments
        if each["metadata"]["namespace"] not in SYSTEM_NAMESPACES
    ]


def _ready(endpoint: Object) -> int:
    return len(endpoint["addresses"]) if (endpoint.get("conditions") or {}).get("ready", True) else 0


def _service(deployment: Object, ports: Iterable[Object], addresses: Counter[tuple[str, str]], least: int) -> Service:
    namespace = deployment["metadata"]["namespace"]
    labels = (deployment["spec"]["template"]["metadata"].get("labels") or {}).items()
    fronts = (
        port["metadata"]["name"]
        for port in ports
        if port["metadata"]["namespace"] == namespace
        and (selector := port["spec"].get("selector"))
        and selector.items() <= labels
    )
    return Service(
        namespace=namespace,
        name=deployment["metadata"]["name"],
        ready=int((deployment.get("status") or {}).get("readyReplicas", 0)),
        desired=max(least, int(deployment["spec"].get("replicas", 1))),
        endpoints=sum(addresses[namespace, name] for name in fronts),
    )
