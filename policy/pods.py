"""Pods, wherever they are written: in a Deployment, a CronJob, the replicas of a PyTorchJob, any kind there will be."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policy.graph import Graph, Resource

NO_PODS = frozenset({"ConfigMap", "CustomResourceDefinition", "Release", "Secret"})
"""Kinds whose inputs are texts, schemas or values of others, in which nothing is a pod yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pod:
    """The spec of a pod that somebody will make: whose it is (logical name, kind), where in it, in which namespace.

    `metadata` is its template's; `maker` is the whole object.
    """

    owner: str
    kind: str
    path: str
    namespace: str
    spec: Mapping[str, Any]
    metadata: Mapping[str, Any]
    maker: Resource

    @property
    def labels(self) -> Mapping[str, str]:
        """What the template writes on the pod; the controllers add theirs."""
        return self.metadata.get("labels") or {}

    @property
    def containers(self) -> list[Mapping[str, Any]]:
        """All containers: those that run before the others too, and those added to look into it."""
        return [
            each for key in ("initContainers", "containers", "ephemeralContainers") for each in self.spec.get(key) or []
        ]


def pods(graph: Graph) -> Iterator[Pod]:
    """Every pod of the graph.

    A pod is known by its form, a mapping with a list of containers, and not by a list of kinds: such a list is wrong
    with the next operator.
    """
    return iter(graph.once(pods, lambda: tuple(_pods(graph))))


def _pods(graph: Graph) -> Iterator[Pod]:
    for each in graph.resources.values():
        if is_kubernetes(each) and each.kind not in NO_PODS:
            namespace = (each.inputs.get("metadata") or {}).get("namespace", "default")
            for path, spec, metadata in _specs(each.inputs, "", {}):
                yield Pod(
                    owner=each.name,
                    kind=each.kind,
                    path=path,
                    namespace=namespace,
                    spec=spec,
                    metadata=metadata,
                    maker=each,
                )


def _specs(
    value: Any, path: str, metadata: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """(path, spec, metadata) of every pod in a value, in the order they stand there."""
    if isinstance(value, Mapping):
        containers = value.get("containers")
        if isinstance(containers, list) and containers and all(_is_container(each) for each in containers):
            yield path, value, metadata
            return
        if "metadata" in value or path.endswith("emplate"):
            metadata = value.get("metadata") or {}
        for key, each in value.items():
            yield from _specs(each, f"{path}.{key}" if path else key, metadata)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _specs(each, f"{path}.{index}", metadata)


def _is_container(value: Any) -> bool:
    return isinstance(value, Mapping) and ("image" in value or "name" in value)


def objects(graph: Graph, kind: str) -> set[tuple[str, str]]:
    """(namespace, name) of the registered objects of a kind; the namespace is empty where there is none."""
    metadata = [each.inputs.get("metadata") or {} for each in graph.of_type(kind) if is_kubernetes(each)]
    return {(each.get("namespace", ""), each["name"]) for each in metadata if "name" in each}


def is_kubernetes(resource: Resource) -> bool:
    """Whether the Kubernetes provider makes it."""
    return resource.token.startswith("kubernetes:")
