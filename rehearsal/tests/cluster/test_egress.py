"""The way from the API server to a pod's process: Service, endpoint, pod, process; every missing link is a refusal."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.cluster.backends import Address, Backends
from rehearsal.cluster.egress import Egress
from rehearsal.cluster.router import NoRouteError, Router, ready_endpoints

IP = "172.20.3.4"
SERVICE = {
    "metadata": {"namespace": "kubeflow", "name": "hook"},
    "spec": {"ports": [{"name": "webhook", "port": 443, "targetPort": 9443}]},
}


def endpoint(pod: str, ready: bool | None = True) -> dict[str, Any]:
    conditions = {} if ready is None else {"ready": ready}
    return {"targetRef": {"kind": "Pod", "name": pod}, "conditions": conditions}


def slice_of(*endpoints: dict[str, Any], name: str = "webhook", port: int = 9443) -> dict[str, Any]:
    return {"ports": [{"name": name, "port": port}], "endpoints": list(endpoints)}


class FakeKube:
    def __init__(self, *slices: dict[str, Any]) -> None:
        self.slices = list(slices)

    def list(self, api_version: str, kind: str, field_selector: str = "", **_: Any) -> list[dict[str, Any]]:
        if (api_version, kind) == ("discovery.k8s.io/v1", "EndpointSlice"):
            return self.slices
        if kind == "Service" and field_selector == f"spec.clusterIP={IP}":
            return [SERVICE]
        if kind == "Pod" and field_selector == "status.podIP=10.0.1.9":
            return [{"metadata": {"namespace": "kubeflow", "name": "a"}}]
        return []


def router(*slices: dict[str, Any], pod: str = "a", port: int = 9443) -> Router:
    backends = Backends()
    backends.add("kubeflow", pod, port, 40000)
    return Router(FakeKube(*slices), backends)  # type: ignore[arg-type]


def test_a_service_leads_to_the_process_of_a_ready_pod() -> None:
    assert router(slice_of(endpoint("down", False), endpoint("a")))(IP, 443) == ("127.0.0.1", 40000)


def test_a_pod_address_leads_to_its_process() -> None:
    assert router()("10.0.1.9", 9443) == ("127.0.0.1", 40000)


@pytest.mark.parametrize(
    ("route", "port", "reason"),
    [
        (router(slice_of(endpoint("a"))), 8443, "Service kubeflow/hook has no port 8443 (it has 443)"),
        (router(), 443, "Service kubeflow/hook has no ready endpoint for port 443"),
        (router(slice_of(endpoint("a", False))), 443, "Service kubeflow/hook has no ready endpoint for port 443"),
        (router(slice_of(endpoint("a"), port=8080)), 443, "no process listens on port 8080 of pod kubeflow/a"),
    ],
)
def test_a_missing_link_is_named(route: Router, port: int, reason: str) -> None:
    with pytest.raises(NoRouteError) as refusal:
        route(IP, port)
    assert str(refusal.value) == reason


def test_an_unknown_address_is_refused() -> None:
    with pytest.raises(NoRouteError, match=r"no Service and no pod has the address 10\.9\.9\.9"):
        router()("10.9.9.9", 443)


def test_an_endpoint_without_conditions_is_ready_and_ports_are_matched_by_name() -> None:
    slices = [slice_of(endpoint("a", None)), slice_of(endpoint("b"), name="metrics", port=8080)]
    assert ready_endpoints(slices, "webhook") == [("a", 9443)]


def test_a_backend_is_forgotten_with_the_process_that_listened() -> None:
    backends = Backends()
    backends.add("n", "p", 1, 40001)
    backends.add("n", "p", 2, 40003)
    backends.add("n", "q", 1, 40002)
    backends.remove("n", "p", [1])
    assert backends.find("n", "p", 1) is None
    assert backends.find("n", "p", 2) == ("127.0.0.1", 40003)
    assert backends.find("n", "q", 1) == ("127.0.0.1", 40002)


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that sends back, in capitals, what it gets."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                while data := connection.recv(100):
                    connection.sendall(data.upper())

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield server.getsockname()[1]


def ask(path: Path, request: bytes) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(5)
    client.connect(str(path))
    client.sendall(request)
    return client


def test_bytes_are_carried_both_ways_through_a_private_socket(tmp_path: Path, echo: int) -> None:
    asked: list[tuple[str, int]] = []

    def route(ip: str, port: int) -> Address:
        asked.append((ip, port))
        return ("127.0.0.1", echo)

    egress = Egress(tmp_path / "egress.sock", route)
    egress.start()
    try:
        assert egress.path.stat().st_mode & 0o777 == 0o600
        with ask(egress.path, f"CONNECT {IP}:443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()) as client:
            assert client.recv(100).startswith(b"HTTP/1.1 200")
            for word in (b"one", b"two"):
                client.sendall(word)
                assert client.recv(100) == word.upper()
        assert asked == [(IP, 443)]
    finally:
        egress.stop()
    assert not egress.path.exists()


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (b"CONNECT 10.0.0.1:80 HTTP/1.1\r\n\r\n", b"HTTP/1.1 502"),
        (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (b"CONNECT nowhere HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
    ],
)
def test_what_leads_nowhere_is_refused(tmp_path: Path, request_: bytes, answer: bytes) -> None:
    egress = Egress(tmp_path / "egress.sock", router())
    egress.start()
    try:
        with ask(egress.path, request_) as client:
            assert client.recv(100).startswith(answer)
    finally:
        egress.stop()


def test_a_directory_with_a_long_path_is_no_obstacle(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    egress = Egress(deep / "egress.sock", router())
    egress.start()
    egress.stop()
