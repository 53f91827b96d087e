"""Rules about where pods can go: node groups, NodePools and machines that join, by their labels, taints and number."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policy.gangs import copies, spec_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.network import subnets_of
from policy.pods import Pod, pods
from policy.pools import NODE_GROUP
from policy.rule import Finding, rule
from policy.selectors import selects, worn
from policy.topology import OF_NODES

EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute"}
"""Effects as EKS writes them."""

HOSTNAME = "kubernetes.io/hostname"
ZONES = {"topology.kubernetes.io/zone": "availabilityZone", "topology.k8s.aws/zone-id": "availabilityZoneId"}
"""By label that EKS gives nodes: what a subnet says of it."""

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NAME = re.compile(r"nodeRegistration:\n\s+name: (\S+)")
_LABELS = re.compile(r"- name: node-labels\n\s+value: '?([^'\n]+)'?")
_TAINT = re.compile(r"- key: (\S+)\n\s+value: (\S*)\n\s+effect: (\w+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Nodes that are alike: by label the values that one may have, their taints, and how many there can be at most.

    `most` is None where somebody adds as many as are needed, or where nobody can tell.
    """

    name: str
    labels: Mapping[str, Sequence[str]]
    taints: tuple[Mapping[str, str], ...] = ()
    most: int | None = None


def node_pools(graph: Graph) -> list[Resource]:
    """Karpenter's NodePools."""
    return [each for each in graph.of_type("NodePool") if each.token.startswith("kubernetes:karpenter.sh/")]


def machines(graph: Graph) -> list[Place]:
    """Every machine as kubeadm's configuration lets it join; none where one's text is not known yet."""
    return list(graph.once(machines, lambda: tuple(_machines(graph))))


def _machines(graph: Graph) -> Iterator[Place]:
    texts = [str(each.inputs.get("stdin") or "") for each in graph.of_type("Command")]
    for text in texts if UNKNOWN not in texts else ():
        for part in text.split("nodeRegistration:")[1:]:
            part = f"nodeRegistration:{part}"
            name, labels = _NAME.search(part), _LABELS.search(part)
            if name and labels:
                yield Place(
                    name=name[1],
                    labels={key: [value] for key, _, value in (word.partition("=") for word in labels[1].split(","))},
                    taints=tuple(_taint(*each) for each in _TAINT.findall(part)),
                    most=1,
                )


def _taint(key: str, value: str, effect: str) -> Mapping[str, str]:
    return {"key": key, "value": value, "effect": EFFECTS.get(effect, effect)}


def of_node_pool(pool: Resource) -> Place:
    """The nodes that Karpenter makes for a NodePool, as far as it says exactly how they are."""
    template = spec_of(pool).get("template") or {}
    inner = template.get("spec") or {}
    labels = {key: [value] for key, value in ((template.get("metadata") or {}).get("labels") or {}).items()}
    listed = [one for one in inner.get("requirements") or [] if one.get("operator") == "In"]
    labels |= {one["key"]: list(one.get("values") or []) for one in listed}
    taints = [_taint(one["key"], one.get("value", ""), str(one.get("effect"))) for one in inner.get("taints") or []]
    return Place(name=pool.name, labels=labels, taints=tuple(taints))


def of_group(graph: Graph, group: Resource) -> Place:
    """The nodes of a managed node group, in the zones of its subnets where all of these say theirs."""
    subnets = [{**each.outputs, **each.inputs} for each in subnets_of(graph, group)]
    zones = {label: [str(each.get(key) or UNKNOWN) for each in subnets] for label, key in ZONES.items()}
    most = (group.inputs.get("scalingConfig") or {}).get("maxSize")
    left = any("scalingConfig" in each for each in group.ignore_changes)
    return Place(
        name=group.name,
        labels={key: [value] for key, value in (group.inputs.get("labels") or {}).items()}
        | {label: values for label, values in zones.items() if values and UNKNOWN not in values},
        taints=tuple(
            _taint(one["key"], one.get("value") or "", one["effect"]) for one in group.inputs.get("taints") or []
        ),
        most=most if isinstance(most, int) and not left else None,
    )


def places(graph: Graph) -> list[Place]:
    """Every kind of node that the program makes, or has made."""
    return list(graph.once(places, lambda: (*_places(graph),)))


def _places(graph: Graph) -> Iterator[Place]:
    yield from (of_group(graph, each) for each in graph.of_type(NODE_GROUP))
    yield from (of_node_pool(each) for each in node_pools(graph))
    yield from machines(graph)


def _written(graph: Graph) -> set[str]:
    """Labels that the program gives nodes; of those that others give them too, the ones known of every node."""
    found = [each.labels.keys() for each in places(graph)]
    known = set.intersection(*map(set, found)) if found else set()
    return known | {key for each in found for key in each if not key.startswith(OF_NODES)}


def _needed(graph: Graph, pod: Pod) -> list[list[Mapping[str, Any]]]:
    """What a pod needs of its node: lists of expressions, of which one has to hold as a whole.

    Others label nodes too: a hand machines and what Karpenter makes, a gate or a daemon what only affinities name.
    """
    selector, written = pod.spec.get("nodeSelector") or {}, _written(graph)
    by_hand = bool(node_pools(graph) or machines(graph))
    keys = [key for key in selector if key in written or not (by_hand or key.startswith(OF_NODES))]
    affinity = ((pod.spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    terms = [one.get("matchExpressions") or [] for one in affinity.get("nodeSelectorTerms") or []]
    named: list[Mapping[str, Any]] = [{"key": key, "operator": "In", "values": [selector[key]]} for key in keys]
    return [[*named, *(one for one in term if one["key"] in written)] for term in terms or [[]]]


def _unlabelled(graph: Graph, pod: Pod) -> list[str]:
    """Keys of this program's own prefix that a pod's required affinity asks for, and that nothing registered names."""
    affinity = ((pod.spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    wanted = [one for term in affinity.get("nodeSelectorTerms") or [] for one in term.get("matchExpressions") or []]
    keys = {str(one["key"]) for one in wanted if one["operator"] in ("In", "Exists")}
    prefixes = tuple({f"{key.partition('/')[0]}/" for each in places(graph) for key in each.labels if "/" in key})
    own = {key for key in keys if key.startswith(prefixes) and not key.startswith(OF_NODES)} - _written(graph)
    return sorted(key for key in own if not is_told(graph, key))


def is_told(graph: Graph, word: str) -> bool:
    """Whether a script, a chart or a machine of the program is told of a label or a name: it may make what bears it."""
    kinds = ("ConfigMap", "Command", "Release", "Secret")
    texts = (str(value) for each in graph.of_type(*kinds) for value in each.inputs.values())
    told = graph.once(is_told, lambda: "\n".join(texts))
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", told) is not None


def _holds(one: Mapping[str, Any], place: Place) -> bool:
    offered, values = place.labels.get(one["key"]), one.get("values") or []
    match one["operator"]:
        case "In":
            return any(each in values for each in offered or ())
        case "NotIn":
            return offered is None or any(each not in values for each in offered)
        case "Exists":
            return offered is not None
        case "DoesNotExist":
            return offered is None
        case _:
            return True


def fitting(graph: Graph, pod: Pod) -> list[Place]:
    """The places that a pod's selector and required affinity name; all of them for a pod that names none."""
    terms = _needed(graph, pod)
    return [each for each in places(graph) if any(all(_holds(one, each) for one in term) for term in terms)]


def tolerated(tolerations: Sequence[Mapping[str, Any]], taint: Mapping[str, str]) -> bool:
    """Whether tolerations let a pod onto nodes with a taint."""
    return taint["effect"] not in EFFECTS.values() or any(
        each.get("key") in (None, taint["key"])
        and each.get("effect") in (None, "", taint["effect"])
        and (each.get("operator") == "Exists" or each.get("value", "") == taint["value"])
        for each in tolerations
    )


def _open(graph: Graph, pod: Pod) -> list[Place]:
    """The places that a pod selects and whose taints it tolerates."""
    given = pod.spec.get("tolerations") or []
    return [each for each in fitting(graph, pod) if all(tolerated(given, taint) for taint in each.taints)]


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/ and "
    "taint-and-toleration/ beside it; kubeadm v1beta4: nodeRegistration; Karpenter: "
    "https://karpenter.sh/docs/concepts/nodepools/",
    remedy="select labels that a node group, a NodePool or a machine has, and tolerate its taints",
)
def pods_can_be_placed(graph: Graph) -> Iterator[Finding]:
    """A pod's node selector and affinity match nodes whose taints the pod tolerates (J09, J10; KJ22, PW19)."""
    for pod in pods(graph) if places(graph) else ():
        if name := pod.spec.get("nodeName"):
            yield (
                pod.owner,
                f"names the node {name}, which the scheduler is then not asked about: no machine has that name",
            )
        for key in _unlabelled(graph, pod):
            yield pod.owner, f"wants nodes with the label {key}, which nothing here gives to a node"
        if not fitting(graph, pod):
            keys = sorted(
                {f"{one['key']}={','.join(one.get('values') or [])}" for term in _needed(graph, pod) for one in term}
            )
            yield pod.owner, f"selects nodes with {' '.join(keys)}, which no node has"
        elif not _open(graph, pod):
            keys = sorted({taint["key"] for each in fitting(graph, pod) for taint in each.taints})
            yield pod.owner, f"tolerates the taints of none of the nodes that it selects ({', '.join(keys)})"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/ (podAntiAffinity: "
    "a pod for which no node meets what is required stays Pending)",
    remedy="prefer the anti-affinity (preferredDuringSchedulingIgnoredDuringExecution), or fewer replicas than nodes",
)
def copies_have_nodes(graph: Graph) -> Iterator[Finding]:
    """Pods that must not share a node are no more than there can be nodes for them (J09)."""
    for pod in pods(graph):
        apart = ((pod.spec.get("affinity") or {}).get("podAntiAffinity") or {}).get(REQUIRED) or []
        own = [one for one in apart if one.get("topologyKey") == HOSTNAME and selects(one["labelSelector"], worn(pod))]
        most = [each.most for each in _open(graph, pod)] if own else []
        known = [each for each in most if each is not None]
        if most and len(known) == len(most) and copies(pod) > sum(known):
            yield (
                pod.owner,
                f"keeps {copies(pod)} pods apart, and there are {sum(known)} nodes for them: some never start",
            )


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/ "
    "(labelSelector that does not match the incoming pods)",
    remedy="let the constraint's labelSelector be the labels of the pod's own template",
)
def spreads_count_their_pods(graph: Graph) -> Iterator[Finding]:
    """A pod is among those by whose number it is spread over nodes or zones (J09)."""
    for pod in pods(graph):
        for one in pod.spec.get("topologySpreadConstraints") or []:
            if not selects(one.get("labelSelector"), worn(pod)):
                yield pod.owner, f"is spread by the number of pods that it is not one of ({one.get('topologyKey')})"
