"""Pods, wherever they are written: in Deployments, Jobs and PyTorchJobs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policy.graph import Graph


@dataclass(frozen=True, kw_only=True, slots=True)
class Pod:
    """A pod template: whose it is (logical name), in which namespace, and its spec."""

    owner: str
    namespace: str
    spec: Mapping[str, Any]

    @property
    def containers(self) -> list[Mapping[str, Any]]:
        return [*self.spec.get("initContainers", []), *self.spec.get("containers", [])]


def pods(graph: Graph) -> Iterator[Pod]:
    """Every pod template of the graph."""
    for each in graph.of_type("Deployment", "DaemonSet", "StatefulSet", "Job", "PyTorchJob"):
        namespace = (each.inputs.get("metadata") or {}).get("namespace", "default")
        spec = each.inputs.get("spec") or {}
        replicas = spec.get("pytorchReplicaSpecs") or {"": spec}
        for replica in replicas.values():
            yield Pod(owner=each.name, namespace=namespace, spec=(replica.get("template") or {}).get("spec") or {})


def objects(graph: Graph, kind: str) -> set[tuple[str, str]]:
    """(namespace, name) of the registered objects of a kind; the namespace is empty where there is none."""
    metadata = [each.inputs.get("metadata") or {} for each in graph.of_type(kind) if _is_kubernetes(each.token)]
    return {(each.get("namespace", ""), each["name"]) for each in metadata if "name" in each}


def _is_kubernetes(token: str) -> bool:
    return token.startswith("kubernetes:")
