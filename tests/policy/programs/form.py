"""The form of a program: objects as they would be written, and what a rule says about them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policy.graph import Graph, Resource

Objects = tuple[Resource, ...]
MISSING = object()
"""As a value: the key is left out."""


@dataclass(frozen=True, slots=True)
class Program:
    """Objects and a rule. `said` is a part of its sentence; None where the program keeps it."""

    rule: str
    objects: Objects
    said: str | None = None
    protected: bool = False

    def __str__(self) -> str:
        return f"{self.rule}-{self.said or 'right'}".replace(" ", "_")

    @property
    def graph(self) -> Graph:
        return Graph(resources={each.urn: each for each in self.objects}, protected=self.protected)


def resource(token: str, name: str, /, **inputs: Any) -> Resource:
    """A registered resource of any type."""
    return Resource(urn=f"urn:{token}:{name}", token=token, name=name, custom=True, inputs=inputs)


def thing(version: str, kind: str, name: str = "one", namespace: str = "here", **inputs: Any) -> Resource:
    """A Kubernetes object, whose logical name is its own."""
    labels = {"labels": inputs.pop("labels")} if "labels" in inputs else {}
    place = {"namespace": namespace} if namespace else {}
    return resource(f"kubernetes:{version}:{kind}", name, metadata={"name": name, **place, **labels}, **inputs)


def release(chart: str, name: str = "", namespace: str = "elsewhere", **values: Any) -> Resource:
    """A Helm release."""
    inputs = {"chart": chart, "namespace": namespace, "values": values, "name": name or chart}
    return resource("kubernetes:helm.sh/v3:Release", name or chart, **inputs)


def pod(*containers: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    """A pod's spec of these containers, which are called `main` and run `work:1` unless they say so."""
    full = [{"name": "main", "image": "work:1", **each} for each in containers or [{}]]
    return {**spec, "containers": full}


def template(*containers: Mapping[str, Any], labels: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod's template, labelled app=one unless it says otherwise."""
    return {"metadata": {"labels": {"app": "one"} if labels is None else labels}, "spec": pod(*containers, **spec)}


def gpus(number: int, **more: Any) -> dict[str, Any]:
    """A container's part that asks for GPUs."""
    return {"resources": {"limits": {"nvidia.com/gpu": str(number), **more}}}


def deployment(*containers: Mapping[str, Any], name: str = "one", replicas: int | None = None, **spec: Any) -> Resource:
    """A Deployment of these containers, whose selector is app=one."""
    inner = template(*containers, **spec)
    number = {} if replicas is None else {"replicas": replicas}
    selector = {"matchLabels": {"app": "one"}}
    return thing("apps/v1", "Deployment", name, spec={"selector": selector, **number, "template": inner})


def job(*containers: Mapping[str, Any], first: list[dict[str, Any]] | None = None, **spec: Any) -> Resource:
    """A batch Job, whose pods are not restarted."""
    more: dict[str, Any] = {"initContainers": first} if first else {}
    inner = template(*containers, restartPolicy="Never", **more)
    return thing("batch/v1", "Job", spec={"template": inner, **spec})


def training(
    *, workers: int = 1, master: bool = True, container: Mapping[str, Any] | None = None, spec: Any = None, **inner: Any
) -> Resource:
    """A PyTorchJob that keeps every rule, its container and its pods changed as said."""
    one = {"name": "pytorch", "command": ["torchrun"], "args": ["/train.py"], **gpus(8), **(container or {})}
    replica = {"restartPolicy": "OnFailure", "template": template(one, **inner)}
    roles = {"Worker": {"replicas": workers, **replica}}
    if master:
        roles = {"Master": {"replicas": 1, **replica}, **roles}
    return thing("kubeflow.org/v1", "PyTorchJob", spec={"pytorchReplicaSpecs": roles, **(spec or {})})


def variables(**values: str) -> dict[str, Any]:
    """A container's part with these variables."""
    return {"env": [{"name": name, "value": value} for name, value in values.items()]}
