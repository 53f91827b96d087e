"""What `make up` says of gangs and services that do not run: the reason is Kubernetes' own."""

from collections.abc import Mapping
from typing import Any

from rehearsal.engine.view import ClusterView, view

Object = dict[str, Any]
EVENT_KEYS = ("involvedObject.kind", "involvedObject.name", "involvedObject.uid", "type")


class Cluster:
    """A cluster's API with these objects, by kind."""

    def __init__(self, **objects: list[Object]) -> None:
        self._objects = objects

    def list(
        self,
        _version: str,
        kind: str,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> list[Object]:
        found = self._objects.get(kind, [])
        if namespace:
            found = [each for each in found if each["metadata"].get("namespace") == namespace]
        if label_selector:
            wanted = dict(pair.split("=") for pair in label_selector.split(","))
            found = [each for each in found if wanted.items() <= each["metadata"].get("labels", {}).items()]
        if field_selector:
            asked = dict(pair.split("=") for pair in field_selector.split(","))
            found = [each for each in found if all(_field(each, key) == value for key, value in asked.items())]
        return found

    def get(self, _version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
        found = (each for each in self.list(_version, kind, namespace) if each["metadata"]["name"] == name)
        return next(found, None)


def _field(event: Mapping[str, Any], path: str) -> str:
    value: Any = event
    for key in path.split("."):
        value = value[key]
    return str(value)


def sentences(**objects: list[Object]) -> list[str]:
    found: ClusterView = view("c", Cluster(**objects))  # type: ignore[arg-type]
    return found.unready()


GROUP: Object = {
    "metadata": {"namespace": "training", "name": "sft"},
    "spec": {"minMember": 2},
    "status": {"phase": "Pending"},
}


def member(name: str, **status: Any) -> Object:
    annotations = {"scheduling.k8s.io/group-name": "sft"}
    meta = {"namespace": "training", "name": name, "uid": name, "annotations": annotations}
    return {"metadata": meta, "spec": {"schedulerName": "volcano"}, "status": status}


def test_a_gang_whose_pods_wait_says_what_the_scheduler_says() -> None:
    running = member("sft-master-0", conditions=[{"type": "Ready", "status": "True"}])
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are good"}
    waiting = member("sft-worker-0", conditions=[refused])
    stranger = member("other", conditions=[{**refused, "message": "not of this gang"}])
    stranger["metadata"]["annotations"] = {}
    assert sentences(PodGroup=[GROUP], Pod=[stranger, running, waiting]) == [
        "gang training/sft has 0 of 2 pods running (Pending): "
        "pod training/sft-worker-0: Unschedulable: 0/3 nodes are good"
    ]


def test_a_gang_without_pods_says_why_its_queue_does_not_let_it_in() -> None:
    def event(kind: str, message: str, at: str, name: str = "sft") -> Object:
        return {
            "metadata": {"namespace": "training"},
            "involvedObject": {"kind": "PodGroup", "name": name},
            "type": kind,
            "reason": "Unschedulable",
            "message": message,
            "lastTimestamp": at,
        }

    events = [
        event("Normal", "insufficient nvidia.com/gpu", "2026-01-01T00:00:02Z"),
        event("Normal", "insufficient cpu", "2026-01-01T00:00:01Z"),
        event("Normal", "of another gang", "2026-01-01T00:00:03Z", "other"),
    ]
    assert sentences(PodGroup=[GROUP], Event=events) == [
        "gang training/sft has 0 of 2 pods running (Pending): Unschedulable: insufficient nvidia.com/gpu"
    ]


def deployed(port: int, *, ready: int = 1) -> dict[str, list[Object]]:
    """A model server that listens on 8000, and a Service that leads to `port` of it."""
    labels = {"app": "vllm"}
    where = {"namespace": "inference"}
    container = {"name": "vllm", "image": "vllm/vllm-openai:v0.29.0", "args": ["--model", "/m", "--port", "8000"]}
    pod = {"metadata": {**where, "name": "vllm-0", "uid": "u", "labels": labels}, "spec": {"containers": [container]}}
    waits = {"name": "vllm", "state": {"waiting": {"reason": "CreateContainerConfigError", "message": "no secret"}}}
    pod["status"] = {"conditions": [{"type": "PodScheduled", "status": "True"}], "containerStatuses": [waits]}
    endpoint = {"addresses": ["10.0.0.1"], "conditions": {"ready": ready > 0}, "targetRef": {"name": "vllm-0"}}
    template = {"metadata": {"labels": labels}}
    return {
        "Pod": [pod],
        "Deployment": [
            {
                "metadata": {**where, "name": "vllm"},
                "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
                "status": {"readyReplicas": ready},
            }
        ],
        "Service": [
            {
                "metadata": {**where, "name": "front"},
                "spec": {"selector": labels, "ports": [{"name": "http", "port": 80}]},
            }
        ],
        "EndpointSlice": [
            {
                "metadata": {**where, "name": "front-x", "labels": {"kubernetes.io/service-name": "front"}},
                "ports": [{"name": "http", "port": port}],
                "endpoints": [endpoint],
            }
        ],
    }


def test_a_service_that_leads_to_a_closed_port_is_told_although_its_pods_are_ready() -> None:
    assert sentences(**deployed(8000)) == []
    assert sentences(**deployed(8080)) == [
        "Service inference/front port http leads to vllm-0:8080, where no container listens"
    ]


def test_a_deployment_says_why_its_pods_are_not_ready_and_its_service_is_not_told_of_twice() -> None:
    assert sentences(**deployed(8080, ready=0)) == [
        "deployment inference/vllm has 0 of 1 replicas ready: "
        "pod inference/vllm-0: container vllm is waiting: CreateContainerConfigError: no secret"
    ]
