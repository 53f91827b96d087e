"""The real Traefik over the program's own objects, without a cluster: what callers get through its data plane.

Behind it, by the cluster's proxy, is the program's door, of which the rehearsal's nginx reads the rules.
"""

import base64
import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from catalogue.versions import TRAEFIK
from components.serving import door, door_rules
from components.serving.keys import ADMITTED, admitted
from rehearsal import toolchain
from rehearsal.charts import sources
from rehearsal.charts.chart import Order
from rehearsal.cluster.backends import Backends
from rehearsal.cluster.proxy import Proxy
from rehearsal.cluster.router import Router
from rehearsal.images import gateway, nginx_rules
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Launch
from rehearsal.tests.inside.account import until
from tests.rehearsed.kinds_served import Object, Served, stored
from tests.stacks.test_gateway import HOST, graph

pytestmark = pytest.mark.engine

ADDRESS, RIGHT, WRONG = "10.0.0.9", "right-key", "other-key"
KINDS = {
    "gatewayclasses": "GatewayClass",
    "gateways": "Gateway",
    "httproutes": "HTTPRoute",
    "grpcroutes": "GRPCRoute",
    "tlsroutes": "TLSRoute",
    "referencegrants": "ReferenceGrant",
    "backendtlspolicies": "BackendTLSPolicy",
    "ingressroutes": "IngressRoute",
    "ingressroutetcps": "IngressRouteTCP",
    "ingressrouteudps": "IngressRouteUDP",
    "middlewares": "Middleware",
    "middlewaretcps": "MiddlewareTCP",
    "serverstransports": "ServersTransport",
    "serverstransporttcps": "ServersTransportTCP",
    "tlsoptions": "TLSOption",
    "tlsstores": "TLSStore",
    "traefikservices": "TraefikService",
    "configmaps": "ConfigMap",
    "endpointslices": "EndpointSlice",
    "namespaces": "Namespace",
    "nodes": "Node",
    "secrets": "Secret",
    "services": "Service",
}


def registered(name: str) -> Object:
    """An object as the program registers it."""
    return dict(graph().one(name).inputs)


def chart() -> list[Object]:
    """What the program's release of Traefik is made of."""
    values = graph().one("traefik-release").inputs["values"]
    order = Order("traefik", "gateway", values, "1.36.3", frozenset())
    return sources.find("traefik", TRAEFIK.version).render(order)


def signed() -> tuple[bytes, bytes]:
    """A certificate of the hostname, which signs itself, and its key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    kept = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    return made.public_bytes(serialization.Encoding.PEM), kept


def objects(certificate: bytes, key: bytes) -> dict[str, list[Object]]:
    """What Traefik sees of a stack whose service is public and has one pod."""
    (kind,) = (each for each in chart() if each["kind"] == "GatewayClass")
    spaces = [
        {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}}
        for name in ("gateway", "inference")
    ]
    port = {"name": "http", "port": 8000, "protocol": "TCP"}
    service = {"metadata": {"name": "llama-3-8b", "namespace": "inference"}, "spec": {"ports": [port]}}
    part = {
        "metadata": {
            "name": "llama-3-8b-1",
            "namespace": "inference",
            "labels": {"kubernetes.io/service-name": "llama-3-8b"},
        },
        "addressType": "IPv4",
        "ports": [port],
        "endpoints": [{"addresses": [ADDRESS], "conditions": {"ready": True, "serving": True}}],
    }
    data = {"tls.crt": base64.b64encode(certificate).decode(), "tls.key": base64.b64encode(key).decode()}
    secret = {"metadata": {"name": "llama-3-8b-tls", "namespace": "gateway"}, "type": "kubernetes.io/tls", "data": data}
    routes = [stored(registered(f"route-llama-3-8b-{each}"), "httproutes") for each in ("route", "plain")]
    return {
        "/apis/gateway.networking.k8s.io/v1/gatewayclasses": [kind],
        "/apis/gateway.networking.k8s.io/v1/gateways": [stored(registered("gateway-gateway"), "gateways")],
        "/apis/gateway.networking.k8s.io/v1/httproutes": routes,
        "/apis/traefik.io/v1alpha1/middlewares": [registered("route-llama-3-8b-limit")],
        "/apis/discovery.k8s.io/v1/endpointslices": [part],
        "/api/v1/namespaces": cast("list[Object]", spaces),
        "/api/v1/services": [service, {"metadata": {"name": "traefik", "namespace": "gateway"}, "spec": {}}],
        "/api/v1/secrets": [secret],
    }


class Cluster:
    """Whose address is whose, and tokens for pods."""

    def path(self, *parts: str) -> str:
        return "/".join(parts)

    def call(self, *_: Any) -> Object:
        return {"status": {"token": "t"}}

    def list(self, _: str, kind: str, field_selector: str = "", **_more: Any) -> list[Object]:
        known = kind == "Pod" and field_selector == f"status.podIP={ADDRESS}"
        return [{"metadata": {"namespace": "inference", "name": "door"}}] if known else []


class WayIn:
    """Traefik as the program's chart starts it, the objects it looks at, and the door behind it."""

    def __init__(self, directory: Path) -> None:
        self.certificate, key = signed()
        self.served = Served(objects(self.certificate, key), KINDS)
        self.backends, kube = Backends(), cast("Any", Cluster())
        self.proxy = Proxy(self.backends.server)
        self.proxy.start(Router(kube, self.backends))
        where = f"{door_rules.CONFIG}/rules/{door.RULES}"
        rules = nginx_rules.read(
            {where: door_rules.rules(door_rules.VLLM), f"{door_rules.CONFIG}/keys/{ADMITTED}": admitted([RIGHT])}, where
        )
        self.backends.answer(
            "inference", "door", 8000, lambda request: nginx_rules.answered(rules, request, lambda *_: None)
        )
        world: Any = SimpleNamespace(
            kube=kube,
            find=lambda *_: None,
            backends=self.backends,
            proxy=self.proxy,
            directory=directory,
            endpoint=self.served.url,
            ca=b"",
            tools=toolchain.ensure(["traefik"]),
        )
        (deployment,) = (each for each in chart() if each["kind"] == "Deployment")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        pod = {
            "metadata": {"name": "traefik-0", "namespace": "gateway", "uid": "1"},
            "spec": {"containers": [container]},
        }
        program = gateway.traefik(
            Launch(world, pod, container, "n", (), container["args"], {}, (), directory / "traefik", print, 0.0)
        )
        assert isinstance(program, RealProcess)
        self.program = program

    def close(self) -> None:
        self.program.close()
        self.proxy.stop()
        self.backends.close()
        self.served.close()

    def at(self, port: int) -> tuple[str, int]:
        found = self.backends.find("gateway", "traefik-0", port)
        assert found is not None
        return found

    def plain(self, host: str, method: str = "GET", path: str = "/") -> tuple[int, str]:
        """Status of an answer to plain http, and where it leads."""
        connection = http.client.HTTPConnection(*self.at(8000), timeout=10)
        connection.request(method, path, headers={"Host": host})
        answer = connection.getresponse()
        connection.close()
        return answer.status, answer.getheader("Location") or ""

    def secure(
        self, key: str, path: str = "/v1/models", host: str = HOST, *, name: str | None = "", trusting: bool = False
    ) -> tuple[int, str]:
        """Status and text of an answer over TLS, whose certificate is looked at unless the caller is `trusting`. The
        handshake has the `host`'s name unless `name` is None.
        """
        trust = ssl.create_default_context(cadata=self.certificate.decode())
        if trusting:
            trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(host, timeout=10)
        with (
            socket.create_connection(self.at(8443), 10) as raw,
            trust.wrap_socket(raw, server_hostname=None if name is None else host) as sock,
        ):
            connection.sock = sock
            connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()


@pytest.fixture
def way_in(tmp_path: Path) -> Iterator[WayIn]:
    made = WayIn(tmp_path)
    try:
        until(lambda: made.program.listens(8443, 0.0), 30, "Traefik listens")
        until(lambda: made.plain(HOST)[0] == 308, 30, "Traefik has seen the routes")
        until(lambda: made.secure(WRONG, trusting=True)[0] == 401, 30, "the door answers behind it")
        yield made
    finally:
        made.close()


def test_who_has_no_key_is_refused_by_the_door_and_who_has_one_is_not(way_in: WayIn) -> None:
    status, text = way_in.secure(WRONG)
    assert (status, json.loads(text)["error"]["code"]) == (401, "invalid_api_key")
    assert way_in.secure(RIGHT, "/invocations")[0] == 404
    assert way_in.secure(RIGHT)[0] == 502, "past the door, where no server is"


def test_plain_http_is_308_to_the_same_place_for_every_method(way_in: WayIn) -> None:
    expected = (308, f"https://{HOST}/v1/completions?a=1")
    assert way_in.plain(HOST, "POST", "/v1/completions?a=1") == expected


def test_a_hostname_of_nobody_is_404_and_has_no_certificate(way_in: WayIn) -> None:
    assert way_in.plain("other.llm.example.com")[0] == 404
    assert way_in.secure(RIGHT, host="other.llm.example.com", trusting=True)[0] == 404
    with pytest.raises(ssl.SSLCertVerificationError):
        way_in.secure(RIGHT, host="other.llm.example.com")


@pytest.mark.scale
def test_a_load_balancer_that_names_no_host_in_its_handshake_reaches_the_hosts_route(way_in: WayIn) -> None:
    """As one that has ended the callers' TLS: it trusts whatever certificate there is, and Host says the rest."""
    answers = {host: way_in.secure(RIGHT, host=host, name=None, trusting=True)[0] for host in (HOST, "a.example.com")}
    assert answers == {HOST: 502, "a.example.com": 404}
    assert way_in.secure(WRONG, name=None, trusting=True)[0] == 401


def test_more_than_the_limit_is_429_whoever_asks(way_in: WayIn) -> None:
    """Eight at once, then three in four seconds, however long the callers take."""
    began = monotonic()
    with ThreadPoolExecutor(8) as callers:
        statuses = list(callers.map(lambda each: way_in.secure(RIGHT if each % 2 else WRONG)[0], range(40)))
    passed = len(statuses) - statuses.count(429)
    assert set(statuses) == {401, 502, 429}
    assert 7 <= passed <= 8 + (monotonic() - began) * 3 / 4 + 2
    assert way_in.plain(HOST)[0] == 308


def test_what_traefik_says_of_the_objects_is_that_it_takes_all_of_them(way_in: WayIn) -> None:
    told = until(lambda: len(way_in.served.told) >= 4 and way_in.served.told, 20, "what it found is written")
    accepted = told["traefik"]["conditions"]
    assert [(each["type"], each["status"]) for each in accepted] == [("Accepted", "True")]
    listeners = told["gateway"]["listeners"]
    assert [(each["name"], each["attachedRoutes"]) for each in listeners] == [("http", 1), ("llama-3-8b", 1)]
    routes = [each for name in ("llama-3-8b", "llama-3-8b-plain") for each in told[name]["parents"]]
    found = [each for part in (*listeners, *routes) for each in part["conditions"]]
    assert {each["status"] for each in found} == {"True"}, found
