"""Rules about servers: probes that let a model load, processes for the GPUs there are, one autoscaler with a metric."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import APART, GPU, amount, metadata_of, namespace_of, spec_of, whole
from policy.graph import Graph, Resource
from policy.metrics import CUSTOM, EXTERNAL, claimed
from policy.owners import chart_of
from policy.pods import Pod, is_kubernetes, pods
from policy.rule import Finding, rule
from policy.selectors import holds_all
from policy.words import flag, tokens

LOAD_SECONDS = 60
"""What a process needs on a GPU before it answers, without any weights: CUDA, NCCL, graphs."""

READ_GB_PER_S = 1.0
"""How fast weights come from a shared file system."""

BYTES_OF = (("int4", 0.5), ("awq", 0.5), ("gptq", 0.5), ("w4a16", 0.5), ("fp4", 0.5), ("fp8", 1.0), ("int8", 1.0))
_BILLIONS = re.compile(r"(?<![\w.])(?:\d+x)?(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)
GROUP_OF = {"Pods": CUSTOM, "Object": CUSTOM, "External": EXTERNAL}
"""By type of a metric: the API that an autoscaler asks for it."""


def _load_seconds(container: Mapping[str, Any]) -> float:
    """The least time in which a container can have read the largest model that its words name."""
    said = " ".join(tokens(container)).lower()
    billions = [float(each) for each in _BILLIONS.findall(said.replace("-", " ").replace("_", " ").replace("/", " "))]
    size = next((each for word, each in BYTES_OF if word in said), 2.0)
    return LOAD_SECONDS + max([0.0, *billions]) * size / READ_GB_PER_S


def _patience_seconds(probe: Mapping[str, Any]) -> int:
    """How long a container may fail a probe from its start."""
    periods = whole(probe.get("failureThreshold"), 3)
    return whole(probe.get("initialDelaySeconds"), 0) + whole(probe.get("periodSeconds"), 10) * periods


@rule(
    source="Kubernetes: startup probes; "
    "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
    remedy="add a startupProbe whose failureThreshold x periodSeconds is twice what the weights take to be read",
)
def servers_may_load(graph: Graph) -> Iterator[Finding]:
    """A GPU server's startup probe waits until its weights are loaded (IN04)."""
    for pod in pods(graph):
        for container in pod.spec.get("containers") or [] if amount(pod, GPU) and pod.kind in APART else ():
            needed = _load_seconds(container)
            for name in ("startupProbe",) if container.get("startupProbe") else ("livenessProbe",):
                probe = container.get(name)
                if probe and _patience_seconds(probe) < needed:
                    yield (
                        pod.owner,
                        f"has its container {container.get('name')} killed by the {name} {_patience_seconds(probe)} s "
                        f"after its start; it needs {needed:.0f} s to load",
                    )
        yield from _given_up(pod)


def _given_up(pod: Pod) -> Iterator[Finding]:
    """A Deployment on GPUs whose rollout is called failed before its containers can have loaded."""
    if pod.kind != "Deployment" or not amount(pod, GPU):
        return
    stated = spec_of(pod.maker).get("progressDeadlineSeconds")
    deadline = whole(stated, 600)
    probes = [each["startupProbe"] for each in pod.containers if each.get("startupProbe")] if stated else []
    patience, slowest = max(map(_patience_seconds, probes), default=0), max(map(_load_seconds, pod.containers))
    if deadline < max(patience, slowest):
        seen = f"its startupProbe waits {patience} s" if patience > slowest else f"it needs {slowest:.0f} s to load"
        yield pod.owner, f"is given up after {deadline} s (progressDeadlineSeconds) and {seen}"


@rule(
    source="vLLM engine arguments: --tensor-parallel-size x --pipeline-parallel-size x --data-parallel-size processes, "
    "a GPU each",
    remedy="ask for as many GPUs as the sizes multiply to",
)
def parallel_sizes_fit(graph: Graph) -> Iterator[Finding]:
    """A server's parallel sizes multiply to the GPUs of its pod (IN03)."""
    sizes = (
        ("tensor-parallel-size", "tp", "tp-size"),
        ("pipeline-parallel-size", "pp", "pp-size"),
        ("data-parallel-size", "dp", "dp-size"),
    )
    for pod in pods(graph):
        for container in pod.spec.get("containers") or [] if pod.kind in APART else ():
            given = [int(value) for names in sizes if (value := flag(container, *names)) and value.isdigit()]
            number = 1
            for each in given:
                number *= each
            gpus = amount(pod, GPU)
            if given and number != gpus and "nvidia.com/mig" not in str(container.get("resources")):
                yield pod.owner, f"starts {number} parallel processes, a GPU each, and asks for {gpus} GPUs"


def scaled_by(each: Resource) -> tuple[str, str, str]:
    """(kind, namespace, name) of what an autoscaler sets the replicas of."""
    target = spec_of(each).get("scaleTargetRef") or {}
    return target.get("kind") or "Deployment", namespace_of(each), target.get("name") or ""


def scalers(graph: Graph) -> list[Resource]:
    return [each for each in graph.of_type("HorizontalPodAutoscaler", "ScaledObject") if is_kubernetes(each)]


def _template_of(graph: Graph, scaler: Resource) -> Pod | None:
    kind, namespace, name = scaled_by(scaler)
    for pod in pods(graph):
        if (pod.kind, pod.namespace, metadata_of(pod.maker).get("name")) == (kind, namespace, name):
            return pod
    return None


@rule(
    source="Kubernetes: Horizontal Pod Autoscaling (AmbiguousSelector); KEDA: a ScaledObject makes an HPA of its own",
    remedy="keep one HorizontalPodAutoscaler or ScaledObject for each target, and correct the name of the target",
)
def one_autoscaler_per_target(graph: Graph) -> Iterator[Finding]:
    """An autoscaler's target exists, and has no other autoscaler (IN06)."""
    seen: dict[tuple[str, str, str], str] = {}
    here = {(each.kind, namespace_of(each)) for each in graph.resources.values() if is_kubernetes(each)}
    whole_of = {each for _, each in here if holds_all(graph, each)}
    for each in scalers(graph):
        target = scaled_by(each)
        if target in seen:
            yield each.name, f"scales {target[0]} {target[2]}, which {seen[target]} scales already"
        seen.setdefault(target, each.name)
        if (target[:2] in here or target[1] in whole_of) and _template_of(graph, each) is None:
            yield each.name, f"scales {target[0]} {target[2]} in {target[1]}, which nothing creates"
        least = whole(spec_of(each).get("minReplicas"), 1)
        most = whole(spec_of(each).get("maxReplicas"), least)
        if each.kind == "HorizontalPodAutoscaler" and not 1 <= least <= most:
            yield each.name, f"keeps at least {least} and at most {most} replicas"


def _serves_usage(graph: Graph) -> bool:
    names = {chart_of(each) for each in graph.of_type("Release", "Chart")}
    names |= {str(each.inputs.get("addonName")) for each in graph.of_type("Addon")}
    names |= {str(metadata_of(each).get("name")) for each in graph.of_type("Deployment")}
    groups = {spec_of(each).get("group") for each in graph.of_type("APIService")}
    return "metrics-server" in names or "metrics.k8s.io" in groups


def _metrics(each: Resource) -> list[tuple[str, Mapping[str, Any]]]:
    """(type, source) of what an autoscaler looks at; without any it is the use of the processor."""
    if each.kind == "ScaledObject":
        return []
    given = spec_of(each).get("metrics") or [{"type": "Resource", "resource": {"name": "cpu"}}]
    return [(metric["type"], metric.get(metric["type"][:1].lower() + metric["type"][1:]) or {}) for metric in given]


@rule(
    source="Kubernetes: Horizontal Pod Autoscaling (custom.metrics.k8s.io comes from an adapter; a Resource "
    "metric needs metrics-server, and requests on every container)",
    remedy="register an adapter (KEDA, prometheus-adapter), or metrics-server and requests; or let minReplicas be "
    "maxReplicas",
)
def metrics_are_served(graph: Graph) -> Iterator[Finding]:
    """An autoscaler's metrics are served in the cluster; otherwise it stays at its minimum (LF06, DC11)."""
    whole = bool(graph.of_type("aws:eks/cluster:Cluster", "Release"))
    served = {group for each in graph.resources.values() for group in claimed(each)}
    limited = {namespace_of(each) for each in graph.of_type("LimitRange")}
    for each in scalers(graph):
        least, most = spec_of(each).get("minReplicas", 1), spec_of(each).get("maxReplicas")
        if least == most or metadata_of(each).get("name") in graph.fed_autoscalers:
            continue
        for kind, source in _metrics(each):
            pod = _template_of(graph, each)
            name = str(source.get("name") or (source.get("metric") or {}).get("name"))
            if kind in GROUP_OF and whole and GROUP_OF[kind] not in served:
                yield each.name, f"uses {name} ({kind}), which nothing here serves: it stays at its minimum"
            elif kind in ("Resource", "ContainerResource"):
                if whole and not _serves_usage(graph):
                    yield each.name, f"uses the utilisation of {name}, but there is no metrics-server"
                for container in pod.spec.get("containers") or [] if pod and pod.namespace not in limited else ():
                    resources = container.get("resources") or {}
                    if not any(name in (resources.get(key) or {}) for key in ("requests", "limits")):
                        yield (
                            each.name,
                            (f"uses the utilisation of {name}, of which {container.get('name')} requests none"),
                        )
