"""The cluster's proxy: simulated pods, real processes, tunnels, and what is refused."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
import urllib3

from rehearsal.cluster.backends import Backends
from rehearsal.cluster.layout import ADVERTISED, API_SERVICE_IP
from rehearsal.cluster.pages import Answer, Request
from rehearsal.cluster.proxy import Proxy
from rehearsal.cluster.router import Router


class Cluster:
    """Two pods that share a machine's address, one with its own, and Services in front of the last."""

    def list(self, _: str, kind: str, field_selector: str = "", **_more: Any) -> list[dict[str, Any]]:
        pods = {"10.0.0.5": ["agent", "exporter"], "10.0.0.9": ["web"]}
        ip = field_selector.partition("=")[2]
        if kind == "Pod":
            return [{"metadata": {"namespace": "n", "name": name}} for name in pods.get(ip, [])]
        if kind == "EndpointSlice":
            target = {"kind": "Pod", "name": "web"}
            return [{"ports": [{"name": "http", "port": 8000}], "endpoints": [{"targetRef": target}]}]
        return [service("front", "172.20.0.9")] if ip == "172.20.0.9" else []

    def get(self, _: str, kind: str, name: str, namespace: str) -> dict[str, Any] | None:
        known = {("front", "n"): "172.20.0.9", ("headless", "n"): "None"}
        return service(name, known[name, namespace]) if (name, namespace) in known and kind == "Service" else None


def service(name: str, ip: str) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "n", "name": name},
        "spec": {"clusterIP": ip, "ports": [{"name": "http", "port": 80}]},
    }


class Upper(BaseHTTPRequestHandler):
    """A real process: answers with its request's line, the host asked for, and the body in capitals."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).upper()
        self.send_response(201)
        self.send_header("X-Seen", f"{self.path} {self.headers['Host']} {self.headers['Connection']}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def backends() -> Iterator[Backends]:
    made = Backends()
    yield made
    made.close()


@pytest.fixture
def process() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), Upper) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def proxy(backends: Backends, process: int) -> Iterator[urllib3.ProxyManager]:
    made = Proxy(backends.server)
    cluster: Any = Cluster()
    made.start(Router(cluster, backends, api_server=("127.0.0.1", process)))
    with urllib3.ProxyManager(made.url, retries=False, timeout=5.0) as manager:
        yield manager
    made.stop()


def echo(request: Request) -> Answer:
    return Answer(f"{request.method} {request.path}?{request.query}\n")


@pytest.mark.parametrize(
    "where", ["10.0.0.9:8000", "172.20.0.9", "front.n", "front.n.svc.cluster.local", "headless.n.svc:8000"]
)
def test_a_simulated_pod_answers_at_its_address_and_behind_its_services(
    proxy: urllib3.ProxyManager, backends: Backends, where: str
) -> None:
    backends.answer("n", "web", 8000, echo)
    for _ in range(2):
        answer = proxy.request("GET", f"http://{where}/metrics?a=b")
        assert (answer.status, answer.data) == (200, b"GET /metrics?a=b\n")


def test_of_pods_at_a_machines_address_the_one_that_listens_answers(
    proxy: urllib3.ProxyManager, backends: Backends
) -> None:
    backends.answer("n", "exporter", 9100, echo)
    assert proxy.request("GET", "http://10.0.0.5:9100/metrics").status == 200


def test_a_real_process_gets_the_request_as_it_was_sent(
    proxy: urllib3.ProxyManager, backends: Backends, process: int
) -> None:
    backends.add("n", "web", 8000, process)
    answer = proxy.request("POST", "http://10.0.0.9:8000/a?b", body=b"text")
    assert (answer.status, answer.data) == (201, b"TEXT")
    assert answer.headers["X-Seen"] == "/a?b 10.0.0.9:8000 close"


@pytest.mark.parametrize("host", [API_SERVICE_IP, ADVERTISED])
def test_a_tunnel_leads_to_the_api_server(proxy: urllib3.ProxyManager, host: str) -> None:
    assert proxy.proxy is not None
    connection = http.client.HTTPConnection("127.0.0.1", proxy.proxy.port, timeout=5)
    connection.set_tunnel(host, 443)
    connection.request("POST", "/x", body="text", headers={"Host": "kubernetes"})
    assert connection.getresponse().read() == b"TEXT"
    connection.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://10.0.0.9:8001/", "no process listens on port 8001 of pod n/web"),
        ("http://10.0.7.7/", "no Service and no pod has the address 10.0.7.7"),
        ("http://front.n:81/", "Service n/front has no port 81 (it has 80)"),
        ("http://example.org/", "lookup example.org: no such host"),
        ("http://127.0.0.1:22/", "no Service and no pod has the address 127.0.0.1"),
        ("http://front/", "lookup front: no such host"),
    ],
)
def test_what_nothing_answers_in_the_cluster_is_refused(proxy: urllib3.ProxyManager, url: str, said: str) -> None:
    answer = proxy.request("GET", url)
    assert (answer.status, answer.data.decode().strip()) == (502, said)


def test_a_tunnel_to_nowhere_is_refused(proxy: urllib3.ProxyManager) -> None:
    with pytest.raises(urllib3.exceptions.ProxyError):
        proxy.request("GET", "https://example.org/")


def test_what_is_no_request_to_a_proxy_is_refused(proxy: urllib3.ProxyManager) -> None:
    assert proxy.proxy is not None
    with urllib3.PoolManager(retries=False) as direct:
        assert direct.request("GET", urlsplit(proxy.proxy.url).geturl()).status == 400
