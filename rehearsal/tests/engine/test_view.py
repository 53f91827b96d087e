"""What `make up` says of gangs and services that do not run: the reason is Kubernetes' own."""

from collections.abc import Mapping
from typing import Any

from rehearsal.engine.declared import Declared
from rehearsal.engine.view import ClusterView, view
from rehearsal.images.table import known
from rehearsal.kubelet.images import Row, unknown
from rehearsal.tests.engine.objects import Cluster, Object

SERVER = Row(r".*/server", unknown, port=lambda argv: int(argv[-1]))


def sentences(**objects: list[Object]) -> list[str]:
    found: ClusterView = view("c", Cluster(**objects), known([SERVER]))  # type: ignore[arg-type]
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


def test_what_runs_but_not_as_it_was_to_is_a_complaint_and_what_is_not_played_is_named_lf04() -> None:
    def says(pod: Mapping[str, Any], container: Mapping[str, Any]) -> str | None:
        return f"{pod['metadata']['name']} is slow" if container["name"] == "slow" else None

    def pod(name: str, phase: str, *containers: str) -> Object:
        listed = [{"name": each, "image": f"team/{each}:1"} for each in containers]
        return {
            "metadata": {"name": name, "namespace": "x"},
            "spec": {"containers": listed},
            "status": {"phase": phase},
        }

    rows = known([Row(r"team/(slow|good)", unknown, complaint=says)])
    pods = [pod("a", "Running", "slow", "other"), pod("b", "Running", "good"), pod("c", "Pending", "slow", "later")]
    found: ClusterView = view("c", Cluster(Pod=pods), rows)  # type: ignore[arg-type]
    assert found.unready() == ["a is slow"]
    assert found.unplayed == ["team/other"]


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


def test_a_gang_is_short_as_soon_as_a_pod_or_its_node_is_gone_whatever_volcano_counted_last() -> None:
    group = {**GROUP, "status": {"phase": "Running", "running": 2}}
    runs = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    one, two, new = (member(name, **runs) for name in ("one", "two", "new"))
    for pod, node in ((one, "a"), (two, "b")):
        pod["spec"] |= {"nodeName": node, "containers": []}
    new["status"] = {"phase": "Pending"}
    nodes = [{"metadata": {"name": name}} for name in "ab"]
    ready = [{**node, "status": {"conditions": [{"type": "Ready", "status": "True"}]}} for node in nodes]
    short = ["gang training/sft has 1 of 2 pods running (Running)"]
    assert sentences(PodGroup=[group], Pod=[one, two], Node=ready) == []
    assert sentences(PodGroup=[group], Pod=[one, two], Node=ready[:1]) == short
    assert sentences(PodGroup=[group], Pod=[one], Node=ready) == short
    (waits,) = sentences(PodGroup=[group], Pod=[one, new], Node=ready)
    assert waits.startswith(short[0])


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
    labels = {"app": "web"}
    where = {"namespace": "inference"}
    container = {"name": "web", "image": "example.org/server:1", "args": ["--port", "8000"]}
    pod = {"metadata": {**where, "name": "web-0", "uid": "u", "labels": labels}, "spec": {"containers": [container]}}
    waits = {"name": "web", "state": {"waiting": {"reason": "CreateContainerConfigError", "message": "no secret"}}}
    pod["status"] = {"conditions": [{"type": "PodScheduled", "status": "True"}], "containerStatuses": [waits]}
    endpoint = {"addresses": ["10.0.0.1"], "conditions": {"ready": ready > 0}, "targetRef": {"name": "web-0"}}
    template = {"metadata": {"labels": labels}}
    return {
        "Pod": [pod],
        "Deployment": [
            {
                "metadata": {**where, "name": "web"},
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
        "Service inference/front port http leads to web-0:8080, where no container listens"
    ]


def test_in_a_namespace_of_the_system_what_the_program_declared_is_looked_at() -> None:
    parts = deployed(8080)
    for kind in ("Pod", "Deployment", "Service", "EndpointSlice"):
        parts[kind][0]["metadata"]["namespace"] = "kube-system"
    assert sentences(**parts) == []
    front = Declared("v1", "Service", "kube-system", "front")
    found = view("c", Cluster(**parts), known([SERVER]), [front])  # type: ignore[arg-type]
    assert found.unready() == ["Service kube-system/front port http leads to web-0:8080, where no container listens"]


def test_a_deployment_says_why_its_pods_are_not_ready_and_its_service_is_not_told_of_twice() -> None:
    assert sentences(**deployed(8080, ready=0)) == [
        "deployment inference/web has 0 of 1 replicas ready: "
        "pod inference/web-0: container web is waiting: CreateContainerConfigError: no secret"
    ]
