"""The cluster's proxy: simulated pods, real processes, tunnels, and what is refused."""

import http.client
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, urlsplit

import pytest
import urllib3

from rehearsal.cluster.backends import Backends
from rehearsal.cluster.layout import ADVERTISED, API_SERVICE_IP
from rehearsal.cluster.pages import Answer, Request
from rehearsal.cluster.proxy import Proxy, admitting
from rehearsal.cluster.router import Router
from rehearsal.testing.answering import Asked, Said, answering


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


def upper(asked: Asked) -> Said:
    """A real process: answers with its request's line, the host asked for, and the body in capitals."""
    seen = f"{asked.path} {asked.headers['Host']} {asked.headers['Connection']}"
    return Said(asked.body.upper(), 201, {"X-Seen": seen})


@pytest.fixture
def backends() -> Iterator[Backends]:
    made = Backends()
    yield made
    made.close()


@pytest.fixture
def process() -> Iterator[int]:
    with answering(upper) as where:
        yield int(where.partition(":")[2])


@pytest.fixture
def proxy(backends: Backends, process: int) -> Iterator[urllib3.ProxyManager]:
    made = Proxy(backends.server)
    cluster: Any = Cluster()
    made.start(Router(cluster, backends, api_server=("127.0.0.1", process)))
    with urllib3.ProxyManager(made.url, proxy_headers=admitting(made.url), retries=False, timeout=5.0) as manager:
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
    connection.set_tunnel(host, 443, dict(proxy.proxy_headers))
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
    with urllib3.PoolManager(retries=False, headers=proxy.proxy_headers) as direct:
        assert direct.request("GET", urlsplit(proxy.proxy.url).geturl()).status == 400


@pytest.mark.parametrize("word", ["", "rehearsal:guess", ":"])
def test_who_does_not_know_the_proxys_word_is_not_in_the_network(
    proxy: urllib3.ProxyManager, backends: Backends, word: str
) -> None:
    """Another account of this machine sees the port."""
    backends.answer("n", "web", 8000, echo)
    assert proxy.proxy is not None
    bare = f"http://127.0.0.1:{proxy.proxy.port}"
    headers = urllib3.make_headers(proxy_basic_auth=word) if word else {}
    with urllib3.ProxyManager(bare, proxy_headers=headers, retries=False, timeout=5.0) as stranger:
        assert stranger.request("GET", "http://10.0.0.9:8000/metrics").status == 407
        with pytest.raises(urllib3.exceptions.ProxyError, match="407"):
            stranger.request("GET", f"https://{API_SERVICE_IP}/")


# -- by SOCKS5


@pytest.fixture
def socks(backends: Backends) -> Iterator[SplitResult]:
    """Where the proxy of another cluster takes SOCKS5, and by which words."""
    made = Proxy(backends.server)
    cluster: Any = Cluster()
    made.start(Router(cluster, backends))
    there = urlsplit(made.socks)
    assert (there.scheme, there.hostname, there.port is not None) == ("socks5", "127.0.0.1", True)
    yield there
    made.stop()


def known(there: SplitResult, word: str | None = None) -> bytes:
    """A greeting, and the words of whom the proxy knows."""
    said = [str(there.username).encode(), str(there.password if word is None else word).encode()]
    return b"\x05\x02\x00\x02\x01" + b"".join(bytes([len(each)]) + each for each in said)


def dialled(there: SplitResult, address: bytes, port: int) -> tuple[socket.socket, bytes]:
    """A connection after the handshake, and the server's words: its method, its welcome, what became of the request."""
    connection = socket.create_connection((str(there.hostname), int(there.port or 0)), 5)
    connection.sendall(known(there) + b"\x05\x01\x00" + address + port.to_bytes(2, "big"))
    said = b""
    while len(said) < 14 and (more := connection.recv(14 - len(said))):
        said += more
    return connection, said


@pytest.mark.parametrize("wanted", [b"\x01\x0a\x00\x00\x09", b"\x03\x0eheadless.n.svc"])
def test_an_address_is_dialled_whatever_host_the_request_names(
    socks: SplitResult, backends: Backends, process: int, wanted: bytes
) -> None:
    """A proxy that forwards for others keeps their Host, and means the address."""
    backends.add("n", "web", 8000, process)
    connection, said = dialled(socks, wanted, 8000)
    assert said == b"\x05\x02\x01\x00" + b"\x05\x00\x00\x01" + bytes(6)
    http_ = http.client.HTTPConnection("llm.example.com")
    http_.sock = connection
    http_.request("POST", "/v1", body="text")
    answer = http_.getresponse()
    assert (answer.status, answer.read()) == (201, b"TEXT")
    assert answer.headers["X-Seen"] == "/v1 llm.example.com None"
    http_.close()


def test_a_simulated_pod_answers_by_socks_too(socks: SplitResult, backends: Backends) -> None:
    backends.answer("n", "web", 8000, echo)
    connection, said = dialled(socks, b"\x01\x0a\x00\x00\x09", 8000)
    assert said[4:6] == b"\x05\x00"
    connection.sendall(b"GET /x?a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert connection.makefile("rb").read().endswith(b"GET /x?a\n")
    connection.close()


@pytest.mark.parametrize("address", [b"\x01\x7f\x00\x00\x01", b"\x01\x0a\x00\x07\x07"])
def test_nothing_beyond_the_cluster_is_reached_by_socks(socks: SplitResult, address: bytes) -> None:
    connection, said = dialled(socks, address, 22)
    assert said == b"\x05\x02\x01\x00" + b"\x05\x05\x00\x01" + bytes(6)
    connection.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b""),
        (b"\x05\x01\x00", b""),
        (b"\x05\x01\x02\x02\x01a\x01b", b"\x05\x02\x01\x01"),
        (b"\x05\x01\x02\x01\x09rehearsal\x05guess", b"\x05\x02\x01\x01"),
        (b"\x05\x01\x02\x01\x00\x00", b"\x05\x02\x01\x01"),
    ],
    ids=["http", "nobody", "another version", "guess", "empty"],
)
def test_a_stranger_and_what_is_no_connection_by_socks_are_turned_away(
    socks: SplitResult, words: bytes, said: bytes
) -> None:
    with socket.create_connection((str(socks.hostname), int(socks.port or 0)), 5) as connection:
        connection.sendall(words)
        assert connection.makefile("rb").read() == said


def test_a_command_that_is_no_connection_is_turned_away(socks: SplitResult) -> None:
    with socket.create_connection((str(socks.hostname), int(socks.port or 0)), 5) as connection:
        connection.sendall(known(socks) + b"\x05\x02\x00\x01" + bytes(6))
        assert connection.makefile("rb").read() == b"\x05\x02\x01\x00"
