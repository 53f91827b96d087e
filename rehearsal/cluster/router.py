"""From an address of the cluster's network to what answers there: a process, or a function for a simulated one.

The address is followed as a node would: Service -> ready endpoint -> pod -> what listens on that pod's port. Nothing
else is reachable: a rehearsed cluster has no way to any other network.
"""

import ipaddress
from typing import Any

from rehearsal.cluster.backends import Address, Backends
from rehearsal.cluster.layout import ADVERTISED, API_PORT, API_SERVICE_IP, SERVICE_RANGE
from rehearsal.cluster.pages import Handler
from rehearsal.kube.client import Kube

Object = dict[str, Any]
_SERVICES = ipaddress.ip_network(SERVICE_RANGE)
_DOMAIN = ".cluster.local"


class NoRouteError(Exception):
    """Nothing answers at an address; the text says which link of the chain is missing."""


class NoHostError(NoRouteError):
    """No Service has the name."""


class Router:
    """Follows an address of the cluster's network. `api_server` is where the Service `kubernetes` leads, if it does."""

    def __init__(self, kube: Kube, backends: Backends, api_server: Address | None = None) -> None:
        self._kube, self._backends, self._api_server = kube, backends, api_server

    def __call__(self, host: str, port: int) -> Address:
        """Where on loopback connections to an address, or to the name of a Service, end. Raises NoRouteError."""
        if (host, port) in ((API_SERVICE_IP, API_PORT), (ADVERTISED, API_PORT)) and self._api_server:
            return self._api_server
        namespace, pod, number = self.find(host, port)
        address = self._backends.find(namespace, pod, number)
        if address is None:
            raise _deaf(namespace, pod, number)
        return address

    def handler(self, host: str, port: int) -> Handler | None:
        """The function that answers plain HTTP at an address, if it is one; None too where there is no way."""
        try:
            return self._backends.handler(*self.find(host, port))
        except NoRouteError:
            return None

    def find(self, host: str, port: int) -> tuple[str, str, int]:
        """Namespace, pod and port behind an address; a machine has the namespace "". Raises NoRouteError."""
        if not _is_address(host):
            return self._behind(self._named(host), port)
        if ipaddress.ip_address(host) in _SERVICES:
            services = self._kube.list("v1", "Service", field_selector=f"spec.clusterIP={host}")
            if services:
                return self._behind(services[0], port)
        return self._listening(host, port)

    def owners(self, ip: str) -> list[tuple[str, str]]:
        """Namespace and name of the pods that have an address: more than one if they share a machine's."""
        pods = self._kube.list("v1", "Pod", field_selector=f"status.podIP={ip}")
        return [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in pods]

    def _listening(self, ip: str, port: int) -> tuple[str, str, int]:
        owners = self.owners(ip)
        if not owners:
            raise NoRouteError(f"no Service and no pod has the address {ip}")
        for namespace, pod in owners:
            if self._backends.accepts(namespace, pod, port):
                return namespace, pod, port
        raise _deaf(*owners[0], port)

    def _named(self, host: str) -> Object:
        """The Service of a name `SERVICE.NAMESPACE[.svc[.cluster.local]]`. Raises NoRouteError."""
        name, _, namespace = host.rstrip(".").removesuffix(_DOMAIN).removesuffix(".svc").partition(".")
        service = self._kube.get("v1", "Service", name, namespace) if namespace and "." not in namespace else None
        if service is None:
            raise NoHostError(f"lookup {host}: no such host")
        return service

    def _behind(self, service: Object, port: int) -> tuple[str, str, int]:
        """The first ready endpoint of a Service's port that listens; a headless one has its pods' own ports."""
        namespace, name = service["metadata"]["namespace"], service["metadata"]["name"]
        ports = {each["port"]: each.get("name", "") for each in service["spec"].get("ports") or ()}
        headless = service["spec"].get("clusterIP") == "None"
        if port not in ports and not headless:
            served = ", ".join(map(str, ports)) or "none"
            raise NoRouteError(f"Service {namespace}/{name} has no port {port} (it has {served})")
        selector = f"kubernetes.io/service-name={name}"
        slices = self._kube.list("discovery.k8s.io/v1", "EndpointSlice", namespace=namespace, label_selector=selector)
        missing = NoRouteError(f"Service {namespace}/{name} has no ready endpoint for port {port}")
        found = ready_endpoints(slices, None if headless else ports[port])
        for pod, number in found:
            target = port if headless else number
            if self._backends.accepts(namespace, pod, target):
                return namespace, pod, target
            missing = _deaf(namespace, pod, target)
        raise missing


def _deaf(namespace: str, pod: str, port: int) -> NoRouteError:
    return NoRouteError(f"no process listens on port {port} of pod {namespace}/{pod}")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def ready_endpoints(slices: list[Object], port_name: str | None) -> list[tuple[str, int]]:
    """Pods and their port numbers behind a Service's port (any, if None), from its EndpointSlices."""
    found = []
    for each in slices:
        ports = each.get("ports") or ()
        numbers = [port["port"] for port in ports if port_name is None or (port.get("name") or "") == port_name]
        for endpoint in each.get("endpoints") or ():
            target = endpoint.get("targetRef") or {}
            # An absent condition means ready.
            if target.get("kind") == "Pod" and (endpoint.get("conditions") or {}).get("ready") is not False:
                found += [(target["name"], number) for number in numbers]
    return found
