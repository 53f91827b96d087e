"""Rules about pods and the nodes that they select: there are some, they have the devices, and plugins reach them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import EFA, GPU, amount, metadata_of, namespace_of, quantity, spec_of, whole
from policy.graph import Graph
from policy.owners import chart_of
from policy.places import of_group, tolerated
from policy.pods import Pod, is_kubernetes, pods
from policy.pools import Pool, pools
from policy.rule import Finding, rule

PRODUCT = "nvidia.com/gpu.product"
COUNTS = ("replicas", "parallelism")
LEFT = "scalingConfig"
"""Where an `up` leaves all sizes alone, they stand as they were once, whatever the program says now."""
SCALERS = ("cluster-autoscaler", "karpenter")
"""Charts of what adds nodes where pods wait for them."""

PLUGINS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    EFA: ("aws-efa-k8s-device-plugin", ("tolerations",)),
    GPU: ("gpu-operator", ("daemonsets", "tolerations")),
}
"""By resource: the chart that brings it, and where in its values the tolerations of its pods stand."""

OF_SLICES = r"(-MIG-[\w.+-]+)?(-SHARED)?"
"""What GPU Feature Discovery adds to a product's name where it is sliced, or offered to several pods."""

SHARING = {"nvidia.com/mig.config", "nvidia.com/device-plugin.config"}
"""Labels of nodes on which a GPU is offered in slices, or to several pods by turns."""


def selected(of_pools: list[Pool], pod: Pod) -> list[Pool]:
    """Pools whose nodes a pod selects. What else than the node group labels nodes is not looked at."""
    wanted = pod.spec.get("nodeSelector") or {}
    own = {key: value for key, value in wanted.items() if not key.startswith("nvidia.com/")}
    return [pool for pool in of_pools if own.items() <= (pool.group.inputs.get("labels") or {}).items()]


def devices(pool: Pool, resource: str) -> int | None:
    """How many of a resource a node has; None where the catalogue does not know its type, or its GPUs are shared."""
    if resource == EFA:
        return pool.efa if pool.template else None
    shared = SHARING & (pool.group.inputs.get("labels") or {}).keys()
    return pool.gpus if len(pool.instances) == len(pool.types) > 0 and not shared else None


@rule(
    source="Kubernetes: https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/; GPU Feature Discovery: "
    "https://github.com/NVIDIA/k8s-device-plugin/tree/main/docs/gpu-feature-discovery",
    remedy="ask for no more than a node of the pool has, and select the product that its type has",
)
def pods_fit_their_nodes(graph: Graph) -> Iterator[Finding]:
    """A pod requests no more GPUs and EFA devices than one node has, and a GPU product that it has (M13)."""
    of_pools = list(pools(graph))
    for pod in pods(graph):
        fitting = selected(of_pools, pod)
        for resource in PLUGINS:
            there = [devices(pool, resource) for pool in fitting]
            known = [each for each in there if each is not None]
            if known and len(known) == len(there) and amount(pod, resource) > max(known):
                names = ", ".join(pool.group.name for pool in fitting)
                yield (
                    pod.owner,
                    f"asks for {amount(pod, resource)} {resource} in one pod; nodes of {names} have {max(known)}",
                )
        yield from _beyond(pod, fitting)
        product = str((pod.spec.get("nodeSelector") or {}).get(PRODUCT) or "")
        products = [each.gpu.product if each.gpu else "no GPU" for pool in fitting for each in pool.instances]
        if (
            product
            and products
            and not any(re.fullmatch(rf"{re.escape(each)}{OF_SLICES}", product) for each in products)
        ):
            yield pod.owner, f"selects the GPU {product}; its nodes have {', '.join(sorted(set(products)))}"


def _beyond(pod: Pod, fitting: list[Pool]) -> Iterator[Finding]:
    """Processors and memory that no node of the pools has, of which the kubelet keeps a part to itself besides."""
    known = [each for pool in fitting for each in pool.instances]
    if not known or len(known) != sum(len(pool.types) for pool in fitting):
        return
    for resource, most, unit, one in (
        ("cpu", max(each.vcpu for each in known), "processors", 1),
        ("memory", max(each.memory_gib for each in known), "GiB of memory", 1024**3),
    ):
        given = [(each.get("resources") or {}).get("requests") or {} for each in pod.spec.get("containers") or []]
        asked = sum(quantity(each.get(resource)) or 0 for each in given) / one
        if asked > most:
            names = ", ".join(pool.group.name for pool in fitting)
            yield pod.owner, f"requests {asked:,.0f} {unit} in one pod; a node of {names} has {most:,}"


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html: "
    "scaling is by hand, or by an autoscaler that is installed",
    remedy="give the node group as many nodes as its gangs take, or install an autoscaler",
)
def pools_hold_what_selects_them(graph: Graph) -> Iterator[Finding]:
    """A pool without an autoscaler has enough nodes for each gang and service that selects it."""
    charts = {chart_of(each) for each in graph.of_type("Release")}
    if charts & set(SCALERS):
        return
    of_pools = list(pools(graph))
    wanted: dict[str, int] = {}
    places: dict[str, list[Pool]] = {}
    for pod in pods(graph):
        fitting = selected(of_pools, pod)
        if (pod.spec.get("nodeSelector") or {}) and fitting:
            places[pod.owner] = fitting
            wanted[pod.owner] = wanted.get(pod.owner, 0) + amount(pod, GPU) * _copies(graph, pod)
    for owner, fitting in places.items():
        names = ", ".join(pool.group.name for pool in fitting)
        if all(_most(pool, now=True) == 0 for pool in fitting):
            yield owner, f"selects {names}, which have no nodes and no autoscaler"
        known = [pool for pool in fitting if devices(pool, GPU) is not None and LEFT not in pool.group.ignore_changes]
        room = [_most(pool) * (devices(pool, GPU) or 0) for pool in known]
        if len(room) == len(fitting) and wanted[owner] > sum(room):
            yield owner, f"needs {wanted[owner]} GPUs at once; {names} have {sum(room)} at most"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-"
    "deployment (maxSurge and maxUnavailable are 25 % by default; the one is rounded up, the other down)",
    remedy="maxSurge: 0 and maxUnavailable: 1 where GPUs are all taken, or a node more in the pool",
)
def rollouts_have_room(graph: Graph) -> Iterator[Finding]:
    """A rollout that takes no pod away first finds GPUs for the one that it adds: else a new version never starts."""
    if {chart_of(each) for each in graph.of_type("Release")} & set(SCALERS):
        return
    of_pools = list(pools(graph))
    for pod in pods(graph):
        strategy = (pod.maker.inputs.get("spec") or {}).get("strategy") or {}
        if pod.kind != "Deployment" or strategy.get("type") == "Recreate" or not amount(pod, GPU):
            continue
        fitting = [pool for pool in selected(of_pools, pod) if pool.gpus or devices(pool, GPU) is None]
        known = [pool for pool in fitting if devices(pool, GPU) is not None and LEFT not in pool.group.ignore_changes]
        room = sum(_most(pool) * (devices(pool, GPU) or 0) for pool in known)
        rolling, copies = strategy.get("rollingUpdate") or {}, _copies(graph, pod)
        more = _share(rolling.get("maxSurge", "25%"), copies, up=True)
        fewer = _share(rolling.get("maxUnavailable", "25%"), copies, up=False)
        needed = amount(pod, GPU) * (copies + more)
        if fitting and len(known) == len(fitting) and not fewer and needed > room:
            names = ", ".join(pool.group.name for pool in fitting)
            yield pod.owner, f"updates with {needed} GPUs at once, and {names} have {room}: the new pod never starts"


def _share(value: Any, copies: int, *, up: bool) -> int:
    """A number of pods, or a percentage of them, as the Deployment's controller rounds it."""
    text = str(value)
    if not text.endswith("%"):
        return int(text) if text.isdigit() else 1
    part = int(text.removesuffix("%")) * copies
    return -(-part // 100) if up else part // 100


def _most(pool: Pool, *, now: bool = False) -> int:
    """Nodes of a pool at most, or for the beginning. A block that somebody else scales has what it may have."""
    scaling = pool.group.inputs.get("scalingConfig") or {}
    handed_over = any("scalingConfig" in each for each in pool.group.ignore_changes)
    size = scaling.get("desiredSize" if now and not handed_over else "maxSize")
    return size if isinstance(size, int) else 1


def _copies(graph: Graph, pod: Pod) -> int:
    """How many pods of this kind its owner makes at a time: an autoscaler's most, or the number beside its template."""
    owner = next(each for each in graph.resources.values() if each.name == pod.owner and is_kubernetes(each))
    node: Any = owner.inputs
    copies = 1
    for scaler in graph.of_type("HorizontalPodAutoscaler"):
        target = spec_of(scaler).get("scaleTargetRef") or {}
        same = (target.get("kind"), namespace_of(scaler)) == (pod.kind, pod.namespace)
        if same and target.get("name") == metadata_of(owner).get("name"):
            copies = whole(spec_of(scaler).get("maxReplicas"), 1)
    for step in pod.path.split("."):
        if isinstance(node, Mapping):
            copies = next((node[key] for key in COUNTS if isinstance(node.get(key), int)), copies)
        node = node[int(step)] if isinstance(node, list) else node.get(step, {})
    return copies


@rule(
    source="aws-efa-k8s-device-plugin and gpu-operator: values.yaml of the charts; EKS guide: "
    "https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html",
    remedy="install the chart, with tolerations for every taint of the pools that have the devices",
)
def plugins_reach_their_nodes(graph: Graph) -> Iterator[Finding]:
    """The device plugin of a resource that pods request tolerates the taints of the nodes that have it."""
    for resource, (chart, path) in PLUGINS.items():
        if not any(amount(pod, resource) for pod in pods(graph)):
            continue
        releases = [each for each in graph.of_type("Release") if chart_of(each) == chart]
        if not releases and resource == EFA:
            named = [pool.group.name for pool in pools(graph) if pool.efa]
            yield from ((name, f"has EFA that no plugin tells Kubernetes of ({chart})") for name in named)
        for release in releases:
            values: Any = release.inputs.get("values") or {}
            for step in path:
                values = values.get(step) if isinstance(values, Mapping) else None
            for pool in pools(graph) if values is not None else ():
                taints = of_group(graph, pool.group).taints if devices(pool, resource) else ()
                if wrong := [each["key"] for each in taints if not tolerated(values, each)]:
                    yield release.name, f"tolerates no taint {', '.join(wrong)} of {pool.group.name}"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    remedy="give the node group a taint nvidia.com/gpu with the effect NO_SCHEDULE",
)
def gpu_nodes_are_kept_free(graph: Graph) -> Iterator[Finding]:
    """In a cluster with other nodes, GPU nodes have a taint that keeps ordinary pods away (KJ22)."""
    of_pools = list(pools(graph))
    if any(pool.instances and not pool.gpus for pool in of_pools):
        for pool in of_pools:
            effects = {each.get("effect") for each in pool.group.inputs.get("taints") or []}
            if pool.gpus and not effects & {"NO_SCHEDULE", "NO_EXECUTE"}:
                yield pool.group.name, "has GPUs and no taint, so any pod may be scheduled to its nodes"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-"
    "containers: a pod takes the most that one of its first containers asks for, and keeps it to its end",
    remedy="let no init container ask for more GPUs than the containers that follow it",
)
def first_containers_take_no_more(graph: Graph) -> Iterator[Finding]:
    """What runs before a pod's containers asks for no more devices than they do: the rest would stand idle."""
    for pod in pods(graph):
        for each in pod.spec.get("initContainers") or []:
            for name in (GPU, EFA) if each.get("restartPolicy") != "Always" else ():
                first = whole(((each.get("resources") or {}).get("limits") or {}).get(name), 0)
                if first > (after := amount(pod, name)):
                    yield pod.owner, f"takes {first} {name} for {each.get('name')} and works with {after} of them"
