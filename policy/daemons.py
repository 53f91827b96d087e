"""Rules about labels of GPUs, which daemons write, and the pods that select them."""

from collections.abc import Iterator

from policy.graph import Graph, Resource
from policy.owners import chart_of, value_at
from policy.pods import Pod, pods
from policy.pools import pools
from policy.rule import Finding, rule
from policy.topology import fitting

OF_DISCOVERY = "nvidia.com/gpu."


def _discovers(release: Resource) -> bool:
    """Whether a release brings GPU feature discovery, and what it needs."""
    values = release.inputs.get("values")
    if chart_of(release) == "gpu-operator":
        return value_at(values, "gfd.enabled") is not False and value_at(values, "nfd.enabled") is not False
    return chart_of(release) == "nvidia-device-plugin" and value_at(values, "gfd.enabled") is True


@rule(
    source="NVIDIA k8s-device-plugin: GPU feature discovery writes nvidia.com/gpu.product and its like, and needs NFD",
    remedy="leave gfd.enabled and nfd.enabled on, or write the label on the node group",
)
def labels_are_discovered(graph: Graph) -> Iterator[Finding]:
    """A GPU label in a node selector is set by GPU feature discovery or by the node group (KJ21)."""
    charts = [each for each in graph.of_type("Release") if chart_of(each) in ("gpu-operator", "nvidia-device-plugin")]
    found = any(_discovers(each) for each in charts)
    for pod in pods(graph) if charts and not found else ():
        written = {key for pool in pools(graph) for key in pool.group.inputs.get("labels") or {}}
        selected = [key for key in pod.spec.get("nodeSelector") or {} if key.startswith(OF_DISCOVERY)]
        if missing := sorted(set(selected) - written):
            yield pod.owner, f"selects nodes by {', '.join(missing)}, which nothing writes"


def _on_gpus(graph: Graph, pod: Pod) -> bool:
    wanted = pod.spec.get("nodeSelector") or {}
    return any(key.startswith(OF_DISCOVERY) for key in wanted) or any(pool.gpus for pool in fitting(graph, pod))


@rule(
    source="Kubernetes: Schedule GPUs; https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/",
    remedy="ask for GPUs in limits, or select nodes without them",
)
def gpu_nodes_are_for_gpus(graph: Graph) -> Iterator[Finding]:
    """A pod that selects GPU nodes requests a GPU, unless it belongs to a DaemonSet (KJ23)."""
    for pod in pods(graph):
        resources = str([each.get("resources") for each in pod.containers])
        if pod.kind != "DaemonSet" and _on_gpus(graph, pod) and "nvidia.com/" not in resources:
            claims = "resourceClaims" in pod.spec
            yield from () if claims else [(pod.owner, f"selects nodes with GPUs and asks for none ({pod.path})")]
