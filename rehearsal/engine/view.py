"""What one cluster runs, read from its API: nodes with their extended resources, gangs, services."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rehearsal.engine import judged, runs
from rehearsal.engine.declared import Declared
from rehearsal.engine.look import Look, because
from rehearsal.engine.scarcity import scarce
from rehearsal.kube.client import Kube
from rehearsal.kubelet.images import Images
from rehearsal.kubelet.services import unanswered
from rehearsal.plugins.kubernetes.reasons import explain

GPU = "nvidia.com/gpu"
EFA, RDMA = "vpc.amazonaws.com/efa", "rdma/"
GROUP_OF_POD = "scheduling.k8s.io/group-name"
NETWORK_POLICY = ("networking.k8s.io/v1", "NetworkPolicy")
SYSTEM_NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease"})
_FEW = 5

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Node:
    name: str
    instance_type: str
    zone: str
    ready: bool
    gpus: int
    efa: int
    rdma: int = 0


@dataclass(frozen=True)
class Gang:
    """A Volcano PodGroup: all of `members` pods start together or none does. `why` says what they wait for."""

    namespace: str
    name: str
    members: int
    running: int
    phase: str
    why: Sequence[str] = ()

    @property
    def short(self) -> bool:
        """Whether pods are missing that should run; those of a gang that ended are not."""
        return self.running < self.members and self.phase != "Completed"


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
    """What one cluster runs, as its API tells it. `unanswered` are sentences about Services that lead nowhere.

    `missed` are those about what the program declared and what is not there or does not do what it is for,
    `complaints` about pods of gangs that run, but not as they were to. `unproven` says what nothing here proves;
    `unplayed` images do nothing but run.
    """

    name: str
    nodes: Sequence[Node] = field(default=())
    gangs: Sequence[Gang] = field(default=())
    services: Sequence[Service] = field(default=())
    unanswered: Sequence[str] = field(default=())
    missed: Sequence[str] = field(default=())
    unproven: Sequence[str] = field(default=())
    complaints: Sequence[str] = field(default=())
    unplayed: Sequence[str] = field(default=())

    def unready(self) -> list[str]:
        """One sentence for each thing that does not run as asked, with the reason that Kubernetes gives."""
        return [
            *(f"node {node.name} is not Ready" for node in self.nodes if not node.ready),
            *(
                f"gang {each.namespace}/{each.name} has {each.running} of {each.members} pods running ({each.phase})"
                + because(each.why)
                for each in self.gangs
                if each.short
            ),
            *(
                f"deployment {each.namespace}/{each.name} has {each.ready} of {each.desired} replicas ready"
                + because(each.why)
                for each in self.services
                if each.ready < each.desired
            ),
            *self.unanswered,
            *self.missed,
            *self.complaints,
        ]


def view(name: str, kube: Kube, images: Images, declared: Iterable[Declared] = ()) -> ClusterView:
    """Look at a cluster, and in it for what programs declared; raises what the client raises if it does not answer.

    Where a container listens is what `images` say of it: another process than the one that plays the kubelets knows
    no more.
    """
    look = Look(kube)
    deployments, fronts = look.all("apps/v1", "Deployment"), look.all("v1", "Service")
    slices = look.all("discovery.k8s.io/v1", "EndpointSlice")
    running = services(deployments, fronts, slices, look.all(*judged.SCALERS))
    wanted = list(declared)
    named = {(each.namespace, each.name) for each in wanted if each.kind == "Service"}
    ours = (
        each
        for each in fronts
        for where in [each["metadata"]["namespace"]]
        if where not in SYSTEM_NAMESPACES or (where, each["metadata"]["name"]) in named
    )
    told = {("Deployment", each.namespace, each.name) for each in running if each.ready < each.desired}
    return ClusterView(
        name,
        nodes=[node(each) for each in look.all("v1", "Node")],
        gangs=[_explained_gang(gang(each), look) for each in look.all(*runs.VOLCANO)],
        services=[_explained_service(each, deployments, kube) for each in running],
        missed=judged.complaints(wanted, look, told),
        unproven=unenforced(look.all(*NETWORK_POLICY)),
        unanswered=unanswered(
            ours, slices, lambda where, pod, port: images.listens(kube.get("v1", "Pod", pod, where), port)
        ),
        complaints=images.complaints(look.all("v1", "Pod")),
        unplayed=images.unplayed(look.all("v1", "Pod")),
    )


def unenforced(policies: Iterable[Object]) -> list[str]:
    """A sentence about NetworkPolicies, which need a network plugin to hold: simulated pods have no network.

    A few are named, many are counted by namespace.
    """
    names = sorted((each["metadata"]["namespace"], each["metadata"]["name"]) for each in policies)
    if not names:
        return []
    if len(names) > _FEW:
        spaces = Counter(namespace for namespace, _ in names)
        listed = ", ".join(f"{count} in {namespace}" for namespace, count in spaces.items())
        those = f"the {len(names)} that there are ({listed}); `kubectl get networkpolicies -A` lists them"
    else:
        those = ", ".join("/".join(name) for name in names)
    return [f"not proven: no packet passes here that a NetworkPolicy could stop, so nothing tried {those}"]


def _explained_gang(found: Gang, look: Look) -> Gang:
    """With what its first waiting pod waits for, as the others do too; without pods, why the queue does not let it in.

    Volcano tells that in events of the PodGroup, some of them `Normal`. It counts what runs once in each of its rounds
    (pkg/scheduler/framework/session.go), so pods that went since then, or whose node did, still stand in its status.
    """
    members = [
        pod
        for pod in look.all("v1", "Pod")
        if pod["metadata"].get("namespace") == found.namespace
        and (pod["metadata"].get("annotations") or {}).get(GROUP_OF_POD) == found.name
    ]
    found = replace(found, running=min(found.running, sum(_runs(pod, look) for pod in members)))
    if not found.short:
        return found
    first = next(filter(None, (explain({"kind": "Pod", **pod}, look.kube) for pod in members)), None)
    lacking = scarce(members, look.all("v1", "Pod"), look.all("v1", "Node"))
    return replace(found, why=[*(first or look.events("PodGroup", found.name, found.namespace)), *lacking])


def _runs(pod: Object, look: Look) -> bool:
    """Whether a pod runs on a node that there is."""
    return pod["status"].get("phase") == "Running" and bool(look.find("v1", "Node", pod["spec"]["nodeName"], None))


def _explained_service(found: Service, deployments: Iterable[Object], kube: Kube) -> Service:
    if found.ready >= found.desired:
        return found
    names = ((each, each["metadata"]["namespace"], each["metadata"]["name"]) for each in deployments)
    deployment = next(each for each, *name in names if name == [found.namespace, found.name])
    return replace(found, why=explain({"kind": "Deployment", **deployment}, kube))


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
        rdma=sum(int(count) for name, count in allocatable.items() if name.startswith(RDMA)),
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
