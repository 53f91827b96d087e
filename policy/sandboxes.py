"""Rules about RuntimeClasses: the class is there, nodes have what it names, and a sandbox passes on no devices."""

from collections.abc import Iterator, Mapping
from typing import Any

from policy.capacity import PLUGINS
from policy.gangs import amount, metadata_of
from policy.graph import UNKNOWN, Graph
from policy.owners import chart_of
from policy.pods import Pod, is_kubernetes, pods
from policy.pools import pools
from policy.rule import Finding, rule

SANDBOXES = {"runsc": "gVisor"}
"""Handlers of containerd that are sandboxes, as their guides call them."""

BY_OPERATOR = ("nvidia", "nvidia-cdi", "nvidia-legacy")
"""Classes that the GPU operator makes (gpu-operator v26.3: assets/pre-requisites)."""

_CLASSES = "https://kubernetes.io/docs/concepts/containers/runtime-class/"


def _class_of(graph: Graph, pod: Pod) -> Mapping[str, Any] | None:
    """The registered class of a pod; None where it has none, or somebody else brings it."""
    name = pod.spec.get("runtimeClassName")
    known = (each for each in graph.of_type("RuntimeClass") if is_kubernetes(each))
    return next((each.inputs for each in known if name and metadata_of(each).get("name") == name), None)


@rule(
    source=f"Kubernetes: {_CLASSES}", remedy="register the RuntimeClass (a pool with sandbox does), or remove its name"
)
def sandboxes_are_there(graph: Graph) -> Iterator[Finding]:
    """A pod's RuntimeClass is registered; otherwise admission refuses the pod (Y05)."""
    for pod in pods(graph):
        name = str(pod.spec.get("runtimeClassName") or "")
        charts = {chart_of(each) for each in graph.of_type("Release")}
        brought = name in BY_OPERATOR and "gpu-operator" in charts
        if name and name != UNKNOWN and not brought and _class_of(graph, pod) is None:
            yield pod.owner, f"runs its pods ({pod.path}) in the RuntimeClass {name}, which nothing registers"


@rule(
    source=f"Kubernetes: {_CLASSES}#scheduling",
    remedy="give sandbox to a pool of CPU nodes that the pod may go to, or remove what selects another pool",
)
def sandboxes_have_nodes(graph: Graph) -> Iterator[Finding]:
    """A pool that the pod can be scheduled to has the sandbox that it requests (Y05)."""
    labels = [pool.group.inputs.get("labels") or {} for pool in pools(graph)]
    for pod in pods(graph) if labels else ():
        found = _class_of(graph, pod)
        if found is None or found.get("handler") not in SANDBOXES:
            continue
        by_class = (found.get("scheduling") or {}).get("nodeSelector") or {}
        wanted = {**(pod.spec.get("nodeSelector") or {}), **by_class}
        if not any(wanted.items() <= each.items() for each in labels):
            text = ", ".join(f"{key}={value}" for key, value in sorted(wanted.items()))
            yield (
                pod.owner,
                f"runs its pods ({pod.path}) in {SANDBOXES[found['handler']]} on nodes with {text}; none has",
            )


@rule(
    source="gVisor: https://gvisor.dev/docs/user_guide/gpu/ (few drivers, no MIG, no /dev/infiniband)",
    remedy="remove runtimeClassName from pods with GPUs or EFA, or the devices from those in a sandbox",
)
def sandboxes_have_no_devices(graph: Graph) -> Iterator[Finding]:
    """A sandboxed pod requests neither GPUs nor EFA (PF04)."""
    for pod in pods(graph):
        found = _class_of(graph, pod)
        if found and (name := SANDBOXES.get(str(found.get("handler")))):
            for resource in PLUGINS:
                if amount(pod, resource):
                    yield pod.owner, f"asks for {resource} in {name} ({pod.path})"
