"""What kubelets tell of their node and its containers, and to whom."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3

from rehearsal.cluster.backends import Backends
from rehearsal.eks import nodeserver
from rehearsal.kube.client import ApiError
from rehearsal.kubelet.contents import Contents

STARTED, NOW = "2026-01-01T00:00:00Z", 1767225600.0 + 100
TOKENS = {"good": "may", "other": "may-not"}


def pod(name: str, phase: str = "Running", node: str = "a", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    status = {"name": "main", "image": "example.org/app:1", "state": {"running": {"startedAt": STARTED}}}
    return {
        "metadata": {"name": name, "namespace": "n", "uid": name},
        "spec": {"nodeName": node, "containers": [container], **spec},
        "status": {"phase": phase, "containerStatuses": [status]},
    }


def claimed(driver: str) -> dict[str, Any]:
    csi = {"driver": driver, "volumeHandle": "vol-1"}
    return {"metadata": {"name": "pv"}, "spec": {"csi": csi, "capacity": {"storage": "10Gi"}}}


class Store:
    """Objects of one kind, and who wants to hear of changes."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.objects = objects
        self.heard: list[Any] = []

    def on_change(self, hear: Any) -> None:
        self.heard.append(hear)

    def tell(self, old: Any, new: Any) -> None:
        for hear in self.heard:
            hear(old, new)


class Reviews:
    """An API server that knows two tokens, one of whose owners may read metrics; `asked` are its questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.down = False

    def path(self, _: str, kind: str) -> str:
        return kind

    def call(self, _: str, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(kind)
        if self.down:
            raise ApiError(500, "InternalError", "not now")
        spec = body["spec"]
        if kind == "TokenReview":
            user = TOKENS.get(spec["token"])
            return {"status": {"authenticated": bool(user), "user": {"username": user}}}
        wanted = {"verb": "get", "resource": "nodes", "subresource": "metrics", "name": "a"}
        assert spec["resourceAttributes"] == wanted
        return {"status": {"allowed": spec["user"] == "may"}}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Any]:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    pods = [pod("p"), pod("q", phase="Pending"), pod("elsewhere", node="b"), pod("stored", volumes=[claim])]
    found = {"claims": {"data": {"spec": {"volumeName": "pv"}}}, "volumes": {"pv": claimed("ebs.csi.aws.com")}}
    made = SimpleNamespace(
        kube=Reviews(),
        backends=Backends(),
        directory=tmp_path,
        stores={"nodes": Store()},
        on_node=lambda node: [each for each in pods if each["spec"].get("nodeName") == node],
        contents=Contents(tmp_path / "contents"),
        found=found,
        find=lambda store, name, _namespace=None: found.get(store, {}).get(name),
    )
    made.contents.add("csi:ebs.csi.aws.com:vol-1", {"file": 2**30})
    yield made
    made.backends.close()


def own(world: Any) -> dict[str, Any]:
    return {name: (labels, number) for name, labels, number in nodeserver.own(world, "a")}


def test_a_kubelet_counts_what_runs_on_its_node(world: Any) -> None:
    found = own(world)
    assert found["kubelet_running_pods"] == ({}, 2)
    assert found["kubelet_running_containers"] == ({"container_state": "running"}, 2)
    assert found["kubelet_node_name"] == ({"node": "a"}, 1)


@pytest.mark.parametrize("driver", ["ebs.csi.aws.com", "fsx.csi.aws.com"])
def test_it_knows_the_room_of_block_volumes_only(world: Any, driver: str) -> None:
    world.found["volumes"]["pv"] = claimed(driver)
    found = {name: each for name, each in own(world).items() if name.startswith("kubelet_volume_stats")}
    labels = {"namespace": "n", "persistentvolumeclaim": "data"}
    sizes = {"capacity": 10 * 2**30, "used": 2**30, "available": 9 * 2**30}
    expected = {f"kubelet_volume_stats_{name}_bytes": (labels, size) for name, size in sizes.items()}
    assert found == (expected if driver.startswith("ebs") else {})


def test_a_container_has_used_half_of_its_request_since_it_began() -> None:
    found = list(nodeserver.containers([pod("p"), pod("q", phase="Running", node="a")][:1], lambda: NOW))
    labels = {"namespace": "n", "pod": "p", "container": "main", "image": "example.org/app:1"}
    assert found == [
        ("container_cpu_usage_seconds_total", {**labels, "cpu": "total"}, 25.0),
        ("container_memory_working_set_bytes", labels, 2.0**29),
    ]


def test_a_node_uses_what_its_pods_do_and_more(world: Any) -> None:
    sizes = {"capacity": {"cpu": "4", "memory": "8Gi"}, "allocatable": {"cpu": "3", "memory": "7Gi"}}
    meta = {"name": "a", "creationTimestamp": STARTED}
    world.found["nodes"] = {"a": {"metadata": meta, "status": sizes}}
    found = {
        (name, labels.get("pod")): number
        for name, labels, number in nodeserver.resources(world, "a", [pod("p")], lambda: NOW)
    }
    assert found["node_cpu_usage_seconds_total", None] == pytest.approx(75.0)
    assert found["node_memory_working_set_bytes", None] == 2**30
    assert found["container_cpu_usage_seconds_total", "p"] == 25.0


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_it_answers_whom_the_api_server_lets_read_and_asks_once(world: Any) -> None:
    nodeserver.NodeServers(world)
    world.stores["nodes"].tell(None, {"metadata": {"name": "a"}})

    def ask(token: str | None, path: str = "/metrics") -> tuple[int, str]:
        address = world.backends.find("", "a", nodeserver.PORT)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with urllib3.PoolManager(cert_reqs="CERT_NONE", retries=False) as pool:
            answer = pool.request("GET", f"https://{address[0]}:{address[1]}{path}", headers=headers, timeout=5.0)
            return answer.status, answer.data.decode()

    world.kube.down = True
    assert ask("good")[0] == 500
    world.kube.down = False
    world.kube.asked.clear()
    status, text = ask("good")
    assert status == 200
    assert "# TYPE kubelet_running_pods gauge\nkubelet_running_pods{} 2.000000\n" in text
    assert ask("good", "/metrics/cadvisor")[1].count('container="main"') >= 4
    assert world.kube.asked == ["TokenReview", "SubjectAccessReview"]
    assert ask("good", "/metrics/probes") == (200, "")
    assert ask("good", "/other")[0] == 404
    assert ask(None) == (401, "Unauthorized")
    assert ask("bad") == (401, "Unauthorized")
    assert ask("other") == (403, "Forbidden (user=may-not, verb=get, resource=nodes, subresource(s)=[metrics])")
    world.stores["nodes"].tell({"metadata": {"name": "a"}}, None)
    assert world.backends.find("", "a", nodeserver.PORT) is None
