"""metrics-server: what nodes and pods use, whom it tells, and when its API counts as there."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3

from rehearsal.cluster.backends import Backends
from rehearsal.cluster.pki import Authority
from rehearsal.images import metrics
from rehearsal.images.usage import VERSION, Usage
from rehearsal.kube.client import ApiError
from rehearsal.kubelet.program import Exit, Launch, Mount
from rehearsal.plugins.kubernetes.helm import Helm
from rehearsal.tests.inside import workloads
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site

NAME = "v1beta1.metrics.k8s.io"
PROXY, OTHER = Authority("front-proxy"), Authority("other")
BELIEVED = {
    "requestheader-client-ca-file": PROXY.certificate.decode(),
    "requestheader-allowed-names": '["front-proxy-client"]',
}
READY = [{"type": "Ready", "status": "True"}]


def node(name: str, conditions: list[dict[str, str]]) -> dict[str, Any]:
    status = {
        "capacity": {"cpu": "4", "memory": "8Gi"},
        "allocatable": {"cpu": "3", "memory": "7Gi"},
        "conditions": conditions,
    }
    return {"metadata": {"name": name, "labels": {"role": "system"}}, "status": status}


def pod(name: str, phase: str = "Running", on: str = "a", **requests: str) -> dict[str, Any]:
    names = ("main", "side")
    states = [{"name": "main", "state": {"running": {}}}, {"name": "side", "state": {"waiting": {}}}]
    resources = {"requests": requests}
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"nodeName": on, "containers": [{"name": each, "resources": resources} for each in names]},
        "status": {"phase": phase, "containerStatuses": states},
    }


class Cluster:
    """An API server that knows two nodes, one of them lost, and a few pods; `forbidden` is what it does not allow."""

    def __init__(self) -> None:
        self.objects = {
            "Node": [node("b", [{"type": "Ready", "status": "Unknown"}]), node("a", READY)],
            "Pod": [
                pod("y", cpu="500m", memory="1Gi"),
                pod("x"),
                pod("z", phase="Pending", cpu="1"),
                pod("w", on="b", cpu="1"),
            ],
        }
        self.forbidden: set[str] = set()
        self.asked: list[tuple[Any, ...]] = []

    def list(self, _: str, kind: str, *selection: Any) -> list[dict[str, Any]]:
        self.asked.append((kind, *selection))
        return self.objects[kind]

    def get(self, _: str, kind: str, name: str, _namespace: str | None) -> dict[str, Any] | None:
        return next((each for each in self.objects[kind] if each["metadata"]["name"] == name), None)

    def path(self, _: str, kind: str) -> str:
        return kind

    def call(self, _: str, kind: str, body: Any = None, **_query: Any) -> dict[str, Any]:
        if kind in self.forbidden and body is None:
            raise ApiError(403, "Forbidden", f"cannot list {kind}")
        return {"status": {"allowed": kind not in self.forbidden}}

    def close(self) -> None:
        pass


@pytest.fixture
def cluster() -> Any:
    return Cluster()


def test_pods_that_run_use_half_of_what_they_request(cluster: Any) -> None:
    found = Usage(cluster, "15s").answer(f"/apis/{VERSION}/namespaces/ns/pods", {"labelSelector": "app=x"})
    assert (found["kind"], found["apiVersion"]) == ("PodMetricsList", VERSION)
    assert [each["metadata"]["name"] for each in found["items"]] == ["w", "x", "y"]
    assert found["items"][2]["containers"] == [{"name": "main", "usage": {"cpu": "250000000n", "memory": "524288Ki"}}]
    assert found["items"][1]["containers"] == [{"name": "main", "usage": {"cpu": "0", "memory": "0"}}]
    assert found["items"][0]["window"] == "15s"
    assert cluster.asked == [("Pod", "ns", "app=x", None)]


def test_a_node_uses_what_its_pods_do_and_half_of_what_it_keeps_for_its_system(cluster: Any) -> None:
    (found,) = Usage(cluster, "15s").answer(f"/apis/{VERSION}/nodes", {})["items"]
    assert found["metadata"]["name"] == "a"
    assert found["metadata"]["labels"] == {"role": "system"}
    assert found["usage"] == {"cpu": "750000000n", "memory": "1048576Ki"}


@pytest.mark.parametrize(
    ("path", "query", "code", "text"),
    [
        ("nodes/none", {}, 404, 'nodes "none" not found'),
        ("nodes/b", {}, 404, 'nodemetrics.metrics.k8s.io "b" not found'),
        ("namespaces/ns/pods/z", {}, 404, 'podmetrics.metrics.k8s.io "ns/z" not found'),
        ("services", {}, 404, "the server could not find the requested resource"),
        ("pods", {"watch": "true"}, 405, "does not allow this method"),
    ],
)
def test_what_it_does_not_have_it_says_as_the_real_one(
    cluster: Any, path: str, query: dict[str, str], code: int, text: str
) -> None:
    with pytest.raises(ApiError, match=text) as refusal:
        Usage(cluster, "15s").answer(f"/apis/{VERSION}/{path}", query)
    assert refusal.value.code == code


# -- the process


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    world: Any = SimpleNamespace(backends=Backends())
    spec = {"name": "metrics-server", "securityContext": {"readOnlyRootFilesystem": True}}
    argv = ("--secure-port=4443", "--cert-dir=/tmp", "--metric-resolution=15s")
    metadata = {"metadata": {"name": "p", "namespace": "n"}}
    mounts = (Mount("/tmp", "v"),)
    return Launch(world, metadata, spec, "a", (), argv, {}, mounts, tmp_path, print, 0.0)


@pytest.fixture
def server(launch: Launch, cluster: Any) -> Iterator[metrics.MetricsServer]:
    made = metrics.MetricsServer(launch, cluster, BELIEVED)
    yield made
    made.stop()
    assert launch.world.backends.find("n", "p", 4443) is None


def ask(launch: Launch, path: str, authority: Authority | None, name: str = "front-proxy-client") -> tuple[int, Any]:
    """The answer to a caller with a client certificate of an authority, or with none."""
    shown: dict[str, Any] = {}
    if authority is not None:
        pair = authority.client(name)
        (file := launch.directory / "caller.pem").write_bytes(pair.certificate + pair.key)
        shown = {"cert_file": str(file)}
    address = launch.world.backends.find("n", "p", 4443)
    assert address is not None
    url = f"https://{address[0]}:{address[1]}{path}"
    with urllib3.PoolManager(cert_reqs="CERT_NONE", retries=False, **shown) as pool:
        answer = pool.request("GET", url, timeout=5.0)
        return answer.status, json.loads(answer.data)


@pytest.mark.usefixtures("server")
@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_it_answers_the_aggregation_layer_and_nobody_else(launch: Launch) -> None:
    path = f"/apis/{VERSION}"
    code, found = ask(launch, path, PROXY)
    assert code == 200
    assert {each["name"]: each["verbs"] for each in found["resources"]} == {
        "nodes": ["get", "list"],
        "pods": ["get", "list"],
    }
    assert ask(launch, path, None)[0] == 403
    assert ask(launch, path, PROXY, "somebody")[0] == 403
    with pytest.raises(urllib3.exceptions.HTTPError):
        ask(launch, path, OTHER)
    assert ask(launch, "/livez", None)[0] == 200
    assert ask(launch, f"{path}/nodes/b", PROXY)[1]["reason"] == "NotFound"


@pytest.mark.parametrize("forbidden", ["Node", "Pod", "SelfSubjectAccessReview"])
def test_it_is_ready_once_it_may_read_what_it_serves(
    server: metrics.MetricsServer, cluster: Any, forbidden: str
) -> None:
    cluster.forbidden = {forbidden}
    probe = {"httpGet": {"path": "/readyz", "scheme": "HTTPS"}}
    assert "500" in (server.refuses(probe, 4443, 0.0) or "")
    assert server.refuses({"httpGet": {**probe["httpGet"], "path": "/livez"}}, 4443, 0.0) is None
    cluster.forbidden = set()
    assert server.refuses(probe, 4443, 0.0) is None
    assert server.refuses(probe, 443, 0.0) is not None
    assert server.refuses({"httpGet": {"path": "/readyz"}}, 4443, 0.0) is not None
    assert server.listens(4443, 0.0)
    assert not server.listens(443, 0.0)


def test_without_a_place_for_its_certificate_it_ends(launch: Launch) -> None:
    sealed = Launch(**{**vars(launch), "mounts": ()})
    assert isinstance(ended := metrics.run(sealed).exited(1.0), Exit)
    assert ended.code == 1
    assert "read-only file system" in ended.message


# -- behind a real API server


def autoscaled(name: str, where: str) -> list[dict[str, Any]]:
    """A Deployment, and an autoscaler that aims at a quarter of its CPU requests with 1 to 3 pods."""
    meta = {"name": name, "namespace": where}
    labels = {"app": name}
    container = {"name": "main", "image": "example.org/app:1", "resources": {"requests": {"cpu": "100m"}}}
    deployment = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    target = {"type": "Utilization", "averageUtilization": 25}
    scaler = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "minReplicas": 1,
        "maxReplicas": 3,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    }
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": deployment},
        {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta, "spec": scaler},
    ]


@pytest.mark.engine
def test_the_api_server_answers_for_it_and_namespaces_go_with_and_without_it(site: Site) -> None:
    def available() -> bool:
        status = (site.kube.get("apiregistration.k8s.io/v1", "APIService", NAME) or {}).get("status") or {}
        return any(each["type"] == "Available" and each["status"] == "True" for each in status.get("conditions") or ())

    def goes(name: str) -> None:
        site.apply(workloads.namespace(name))
        site.kube.delete(workloads.namespace(name))
        until(lambda: site.kube.get("v1", "Namespace", name) is None, 40, f"namespace {name} is gone")

    site.apply(workloads.namespace("shop"), *autoscaled("cache", "shop"))
    budget = {"enabled": True, "maxUnavailable": 1}
    site.install("metrics-server", "kube-system", {"replicas": 2, "podDisruptionBudget": budget})
    until(available, 60, "the API of metrics-server is available")
    assert site.available("kube-system", "metrics-server")
    (system,) = site.nodes("system")
    nodes = {each["metadata"]["name"]: each for each in site.kube.call("GET", f"/apis/{VERSION}/nodes")["items"]}
    assert nodes[system["metadata"]["name"]]["usage"]["cpu"].endswith("n")
    path, label = f"/apis/{VERSION}/namespaces/kube-system/pods", "app.kubernetes.io/name=metrics-server"
    pods = site.kube.call("GET", path, labelSelector=label)["items"]
    usage = {"cpu": "50000000n", "memory": "102400Ki"}
    assert [each["containers"] for each in pods] == [[{"name": "metrics-server", "usage": usage}]] * 2
    name = pods[0]["metadata"]["name"]
    assert site.kube.call("GET", f"{path}/{name}")["kind"] == "PodMetrics"
    until(lambda: len(site.pods("shop")) == 3, 90, "the autoscaler, at twice its target, asks for all it may")
    goes("while-it-serves")

    Helm(site.kube, threading.Event()).uninstall("kube-system", "metrics-server", 60, wait=True)
    until(lambda: not available(), 30, "the API of metrics-server is gone")
    goes("without-it")
    goes("shop")
