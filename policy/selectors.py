"""Which pods a selector means: labels of the template, and those that controllers add."""

from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import metadata_of, namespace_of, roles
from policy.graph import Graph, Resource
from policy.pods import Pod, is_kubernetes, pods

ANY = None
"""A label that a controller adds with a value which the graph does not say."""

_ADDED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "batch/v1:Job": ("batch.kubernetes.io/job-name", ("batch.kubernetes.io/controller-uid", "controller-uid")),
    "apps/v1:Deployment": ("", ("pod-template-hash",)),
    "apps/v1:StatefulSet": (
        "",
        ("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "controller-revision-hash"),
    ),
    "apps/v1:DaemonSet": ("", ("controller-revision-hash", "pod-template-generation")),
    "batch.volcano.sh/v1alpha1:Job": (
        "volcano.sh/job-name",
        ("volcano.sh/task-spec", "volcano.sh/queue-name", "volcano.sh/job-namespace", "volcano.sh/task-index"),
    ),
    "jobset.x-k8s.io/v1alpha2:JobSet": (
        "jobset.sigs.k8s.io/jobset-name",
        ("jobset.sigs.k8s.io/replicatedjob-name", "jobset.sigs.k8s.io/job-index", "batch.kubernetes.io/job-name"),
    ),
    "leaderworkerset.x-k8s.io/v1:LeaderWorkerSet": (
        "leaderworkerset.sigs.k8s.io/name",
        ("leaderworkerset.sigs.k8s.io/group-index", "leaderworkerset.sigs.k8s.io/worker-index"),
    ),
    "ray.io/v1:RayCluster": ("ray.io/cluster", ("ray.io/node-type", "ray.io/group", "ray.io/is-ray-node")),
}
"""By type: the label that holds the object's name, and those of other values."""

_OF_OPERATORS = "training.kubeflow.org/"
NO_MAKERS = frozenset(
    {
        "Certificate",
        "CiliumClusterwideNetworkPolicy",
        "CiliumNetworkPolicy",
        "ClusterIssuer",
        "ExternalSecret",
        "HTTPRoute",
        "HyperNode",
        "Issuer",
        "Middleware",
        "PodMonitor",
        "Probe",
        "PrometheusRule",
        "Queue",
        "ScaledObject",
        "SecretStore",
        "ServiceMonitor",
    }
)
"""Custom resources of which no pod is made."""

_BUILT_IN = ("core", "apps", "batch", "autoscaling", "policy")


def worn(pod: Pod) -> dict[str, str | None]:
    """The labels of a pod in the cluster."""
    name = str(metadata_of(pod.maker).get("name", ""))
    labels: dict[str, str | None] = dict(pod.labels)
    own, others = _ADDED.get(pod.maker.token.removeprefix("kubernetes:"), ("", ()))
    labels |= dict.fromkeys(others, ANY)
    if own:
        labels |= {own: name}
    if own.startswith("batch."):
        labels |= {"job-name": name}
    if roles(pod.maker):
        labels |= {
            f"{_OF_OPERATORS}job-name": name,
            f"{_OF_OPERATORS}replica-type": pod.path.split(".")[2].lower(),
            f"{_OF_OPERATORS}operator-name": f"{pod.kind.lower()}-controller",
            f"{_OF_OPERATORS}replica-index": ANY,
            f"{_OF_OPERATORS}job-role": ANY,
        }
    return labels


def has(labels: Mapping[str, str | None], wanted: Mapping[str, str]) -> bool:
    """Whether labels hold all that a plain selector wants."""
    return all(key in labels and labels[key] in (ANY, value) for key, value in wanted.items())


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str | None]) -> bool:
    """Whether a label selector, with its expressions, means something with these labels; an empty one means all."""
    if selector is None:
        return False
    return has(labels, selector.get("matchLabels") or {}) and all(
        _holds(each, labels) for each in selector.get("matchExpressions") or []
    )


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str | None]) -> bool:
    key, values = expression["key"], expression.get("values") or []
    there = key in labels and (labels[key] is ANY or labels[key] in values)
    match expression["operator"]:
        case "In":
            return there
        case "NotIn":
            return not there or labels[key] is ANY
        case "Exists":
            return key in labels
        case _:
            return key not in labels


def makes_unseen(graph: Graph, namespace: str) -> bool:
    """Whether something else may make pods in a namespace: a release, or a custom resource that names no containers."""
    seen = {each.owner for each in pods(graph)}
    for each in graph.resources.values():
        if each.kind in ("Release", "Chart", "ConfigGroup", "ConfigFile") and is_kubernetes(each):
            if (each.inputs.get("namespace") or "default") == namespace:
                return True
        elif is_kubernetes(each) and namespace_of(each) == namespace and each.name not in seen:
            group = each.token.split(":")[1].split("/")[0]
            if group not in _BUILT_IN and not group.endswith("k8s.io") and each.kind not in NO_MAKERS:
                return True
    return False


def holds_all(graph: Graph, namespace: str) -> bool:
    """Whether the graph holds all pods of a namespace: it makes some, or the namespace, and nobody else does."""
    there = object_named(graph, "Namespace", "default", namespace)
    own = there is not None or any(pod.namespace == namespace for pod in pods(graph))
    return own and not makes_unseen(graph, namespace)


def selected(graph: Graph, namespace: str, selector: Mapping[str, Any] | None) -> Iterator[Pod]:
    """The pods of a namespace that a selector means."""
    for pod in pods(graph):
        if pod.namespace == namespace and selects(selector, worn(pod)):
            yield pod


def object_named(graph: Graph, kind: str, namespace: str, name: str) -> Resource | None:
    """The registered object of this kind and name."""
    for each in graph.of_type(kind):
        if is_kubernetes(each) and (namespace_of(each), metadata_of(each).get("name")) == (namespace, name):
            return each
    return None
