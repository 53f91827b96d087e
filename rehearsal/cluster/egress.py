"""The way from the API server into the cluster's network: admission webhooks and aggregated APIs.

kube-apiserver asks this proxy to `CONNECT <service or pod IP>:<port>` (its egress selector, as with konnectivity). The
address is followed as a node would: Service -> ready endpoint -> pod -> the real process behind that pod's port. Where
a cluster would refuse the connection, so does the proxy.
"""

import contextlib
import logging
import os
import selectors
import socket
import socketserver
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rehearsal.cluster.backends import Address, Backends
from rehearsal.kube.client import ApiError, Kube, Unreachable

log = logging.getLogger(__name__)

LONGEST_REQUEST = 8192
PATIENCE = 10.0


class NoRouteError(Exception):
    """Nothing answers at an address; the text says which link of the chain is missing."""


class Router:
    """Follows an address of the cluster's network to a process on this machine."""

    def __init__(self, kube: Kube, backends: Backends) -> None:
        self._kube = kube
        self._backends = backends

    def __call__(self, ip: str, port: int) -> Address:
        """The process that answers at `ip:port`. Raises NoRouteError."""
        services = self._kube.list("v1", "Service", field_selector=f"spec.clusterIP={ip}")
        if services:
            return self._service(services[0], port)
        pods = self._kube.list("v1", "Pod", field_selector=f"status.podIP={ip}")
        if pods:
            meta = pods[0]["metadata"]
            return self._backend(meta["namespace"], meta["name"], port)
        raise NoRouteError(f"no Service and no pod has the address {ip}")

    def _service(self, service: dict[str, Any], port: int) -> Address:
        namespace, name = service["metadata"]["namespace"], service["metadata"]["name"]
        ports = {each["port"]: each.get("name", "") for each in service["spec"].get("ports") or ()}
        if port not in ports:
            served = ", ".join(map(str, ports)) or "none"
            raise NoRouteError(f"Service {namespace}/{name} has no port {port} (it has {served})")
        slices = self._kube.list(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            namespace=namespace,
            label_selector=f"kubernetes.io/service-name={name}",
        )
        missing = f"Service {namespace}/{name} has no ready endpoint for port {port}"
        for pod, target in ready_endpoints(slices, ports[port]):
            try:
                return self._backend(namespace, pod, target)
            except NoRouteError as error:
                missing = str(error)
        raise NoRouteError(missing)

    def _backend(self, namespace: str, pod: str, port: int) -> Address:
        address = self._backends.find(namespace, pod, port)
        if address is None:
            raise NoRouteError(f"no process listens on port {port} of pod {namespace}/{pod}")
        return address


def ready_endpoints(slices: list[dict[str, Any]], port_name: str) -> list[tuple[str, int]]:
    """Pods and their port numbers behind a Service's port, from its EndpointSlices (`discovery.k8s.io/v1`)."""
    found = []
    for each in slices:
        numbers = [port["port"] for port in each.get("ports") or () if (port.get("name") or "") == port_name]
        for endpoint in each.get("endpoints") or ():
            target = endpoint.get("targetRef") or {}
            # An absent condition means ready.
            if target.get("kind") == "Pod" and (endpoint.get("conditions") or {}).get("ready") is not False:
                found += [(target["name"], number) for number in numbers]
    return found


class Egress:
    """The proxy: an HTTP CONNECT server on a socket in the cluster's directory."""

    def __init__(self, path: Path, route: Callable[[str, int], Address]) -> None:
        self.path = path
        self._route = route
        self._server: _Server | None = None

    def start(self) -> None:
        route = self._route

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                serve(self.request, route)

        self.path.unlink(missing_ok=True)
        directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # A socket's address holds 107 bytes; this name for the same place is always short enough.
            self._server = _Server(f"/proc/self/fd/{directory}/{self.path.name}", Handler)
        finally:
            os.close(directory)
        self.path.chmod(0o600)
        threading.Thread(target=self._server.serve_forever, name="egress", daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
            self.path.unlink(missing_ok=True)


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


def serve(client: socket.socket, route: Callable[[str, int], Address]) -> None:
    """Answer one CONNECT request and carry bytes both ways until either side ends."""
    client.settimeout(PATIENCE)
    with contextlib.suppress(OSError):
        target = _requested(client)
        if target is None:
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return
        try:
            server = socket.create_connection(route(*target), timeout=PATIENCE)
        except (NoRouteError, ApiError, Unreachable, OSError) as error:
            log.warning("connection to %s:%d refused: %s", *target, error)
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nX-Reason: connection refused\r\n\r\n")
            return
        with server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            client.settimeout(None)
            server.settimeout(None)
            _carry(client, server)


def _requested(client: socket.socket) -> tuple[str, int] | None:
    """Read the request's head; the address it asks for, or None if it is no CONNECT."""
    head = b""
    while b"\r\n\r\n" not in head:
        chunk = client.recv(LONGEST_REQUEST)
        head += chunk
        if not chunk or len(head) > LONGEST_REQUEST:
            return None
    words = head.split(b"\r\n", 1)[0].decode("ascii", "replace").split()
    if len(words) != 3 or words[0] != "CONNECT":
        return None
    host, _, port = words[1].rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdigit() else None


def _carry(one: socket.socket, other: socket.socket) -> None:
    opposite = {one: other, other: one}
    with selectors.DefaultSelector() as selector:
        for end in opposite:
            selector.register(end, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                end = one if key.fileobj is one else other
                data = end.recv(65_536)
                if not data:
                    return
                opposite[end].sendall(data)
