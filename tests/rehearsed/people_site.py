"""A door for people without a cluster: the real Traefik and the real oauth2-proxy over the program's own objects.

Their issuer is the rehearsal's stand-in; pages answer with what they were told.
"""

import base64
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from rehearsal import toolchain
from rehearsal.cluster.backends import Backends
from rehearsal.cluster.pages import Answer, Request
from rehearsal.cluster.pki import Authority
from rehearsal.cluster.proxy import Proxy
from rehearsal.cluster.router import Router
from rehearsal.images import gateway
from rehearsal.images.oidc import proxy as oidc
from rehearsal.images.oidc.issuer import Person
from rehearsal.images.oidc.listening import Listening
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Launch, Mount
from rehearsal.tests.inside.account import until
from tests.rehearsed.browser import Browser
from tests.rehearsed.kinds_served import Object, Served, stored
from tests.rehearsed.test_gateway_alone import KINDS, chart
from tests.stacks.test_people import with_tokens

HOSTS = {
    "grafana": "grafana.llm.example.com",
    "grafana-admin": "grafana-admin.llm.example.com",
    "mlflow": "runs.example.com",
    "pipelines": "pipelines.llm.example.com",
}
SERVICES = {
    ("people", "oauth2-proxy"): (4180, 4180, "10.0.1.1"),
    ("monitoring", "kube-prometheus-stack-grafana"): (80, 3000, "10.0.1.2"),
    ("tracking", "mlflow"): (5000, 5000, "10.0.1.3"),
    ("pipelines", "ml-pipeline-ui"): (80, 3000, "10.0.1.4"),
}
"""Port of the Service, port of its pod, and that one's address."""
LOGIN = "login.example.com"
PEOPLE = [
    Person("subject-of-ada", "ada", "ada@example.com", ("ml",)),
    Person("subject-of-grace", "grace", "grace@example.com", ("ml", "ml-admins")),
    Person("subject-of-eve", "eve", "eve@example.com", ("visitors",)),
    Person("subject-of-bob", "bob", "bob@example.com", ("ml",), verified=False),
]


def registered(kind: str) -> list[Object]:
    return [dict(each.inputs) for each in with_tokens().of_type(kind) if each.custom]


class Cluster:
    """Services, their endpoints, whose address is whose, and tokens for pods."""

    def path(self, *parts: str) -> str:
        return "/".join(parts)

    def call(self, *_: Any) -> Object:
        return {"status": {"token": "t"}}

    def get(self, _: str, kind: str, name: str, namespace: str) -> Object | None:
        return service(namespace, name) if kind == "Service" and (namespace, name) in SERVICES else None

    def list(self, _: str, kind: str, **asked: Any) -> list[Object]:
        if kind == "EndpointSlice":
            return [endpoints(*each) for each in SERVICES if f"/service-name={each[1]}" in asked["label_selector"]]
        address = str(asked.get("field_selector", "")).partition("status.podIP=")[2]
        return [
            {"metadata": {"namespace": namespace, "name": f"{name}-0"}}
            for (namespace, name), (*_, own) in SERVICES.items()
            if kind == "Pod" and own == address
        ]


def service(namespace: str, name: str) -> Object:
    port = {"name": "http", "port": SERVICES[namespace, name][0], "protocol": "TCP"}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"ports": [port]}}


def endpoints(namespace: str, name: str) -> Object:
    _, port, address = SERVICES[namespace, name]
    target = {"kind": "Pod", "name": f"{name}-0"}
    return {
        "metadata": {
            "name": f"{name}-1",
            "namespace": namespace,
            "labels": {"kubernetes.io/service-name": name},
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}, "targetRef": target}],
    }


def objects(authority: Authority) -> dict[str, list[Object]]:
    """What Traefik sees of the stack."""

    def sealed(page: str) -> Object:
        pair = authority.server(HOSTS[page], dns=[HOSTS[page]])
        data = {"tls.crt": base64.b64encode(pair.certificate).decode(), "tls.key": base64.b64encode(pair.key).decode()}
        return {"metadata": {"name": f"{page}-tls", "namespace": "gateway"}, "type": "kubernetes.io/tls", "data": data}

    spaces = ("gateway", "inference", "people", "monitoring", "tracking", "pipelines")
    own = {"metadata": {"name": "traefik", "namespace": "gateway"}, "spec": {}}
    return {
        "/apis/gateway.networking.k8s.io/v1/gatewayclasses": [
            each for each in chart() if each["kind"] == "GatewayClass"
        ],
        "/apis/gateway.networking.k8s.io/v1/gateways": [stored(each, "gateways") for each in registered("Gateway")],
        "/apis/gateway.networking.k8s.io/v1/httproutes": [
            stored(each, "httproutes") for each in registered("HTTPRoute")
        ],
        "/apis/gateway.networking.k8s.io/v1beta1/referencegrants": registered("ReferenceGrant"),
        "/apis/traefik.io/v1alpha1/middlewares": registered("Middleware"),
        "/apis/discovery.k8s.io/v1/endpointslices": [endpoints(*each) for each in SERVICES],
        "/api/v1/namespaces": [
            {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}} for name in spaces
        ],
        "/api/v1/services": [*(service(*each) for each in SERVICES), own],
        "/api/v1/secrets": [sealed(page) for page in HOSTS],
    }


def echo(name: str) -> Any:
    """A page that says what it was asked."""

    def answer(request: Request) -> Answer:
        told = {"page": name, "path": request.path, "headers": dict(request.headers)}
        return Answer(json.dumps(told), 200, "application/json")

    return answer


class Site:
    """Traefik, what asks people, their issuer, and pages."""

    def __init__(self, directory: Path) -> None:
        self.authority, self.directory = Authority("callers"), directory
        self.served = Served(objects(self.authority), KINDS)
        self.backends, self.sealing = Backends(), "what seals sessions"
        kube = cast("Any", Cluster())
        self.proxy = Proxy(self.backends.server)
        self.proxy.start(Router(kube, self.backends))
        for (namespace, name), (_, port, _) in SERVICES.items():
            if namespace != "people":
                self.backends.answer(namespace, f"{name}-0", port, echo(name))
        self.world: Any = SimpleNamespace(
            kube=kube,
            find=self._find,
            backends=self.backends,
            proxy=self.proxy,
            directory=directory,
            endpoint=self.served.url,
            ca=b"",
            tools=toolchain.ensure(["traefik", "oauth2-proxy"]),
        )
        (deployment,) = (each for each in chart() if each["kind"] == "Deployment")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        self.gateway = self._started(gateway.traefik, "gateway", "traefik-0", {"containers": [container]}, ())
        self.asking = self.ask_people()

    @property
    def login(self) -> Listening:
        (found,) = (each for (where, _), (each, _) in oidc._LISTENING.items() if where == str(self.directory))
        return found

    def ask_people(self, **changed: str) -> RealProcess:
        """oauth2-proxy as it is registered, but for arguments that are `changed`."""
        spec = with_tokens().one("sign-in-deployment").inputs["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        flags = {f"--{name.replace('_', '-')}": value for name, value in changed.items()}
        words = [word.partition("=") for word in container["args"]]
        args = [f"{flag}={flags.get(flag, value)}" for flag, _, value in words]
        mounts = (Mount(path="/etc/people", volume="secret:people", name="secrets", read_only=True),)
        pod = {**spec, "containers": [{**container, "args": args}]}
        program = self._started(oidc.run, "people", "oauth2-proxy-0", pod, mounts)
        self.login.issuer.people.update({each.name: each for each in PEOPLE})
        until(lambda: program.listens(4180, 0.0), 30, "oauth2-proxy listens")
        return program

    def again(self, **changed: str) -> None:
        """It is started anew."""
        self.asking.close()
        self.asking = self.ask_people(**changed)

    def _started(self, run: Any, namespace: str, name: str, spec: Object, mounts: tuple[Mount, ...]) -> RealProcess:
        pod = {"metadata": {"name": name, "namespace": namespace, "uid": "1"}, "spec": spec}
        (container,) = spec["containers"]
        where = self.directory / f"{name}-{time.monotonic_ns()}" / "run"
        program = run(Launch(self.world, pod, container, "n", (), container["args"], {}, mounts, where, print, 0.0))
        assert isinstance(program, RealProcess)
        return program

    def _find(self, store: str, name: str, _: str | None) -> Object | None:
        """The Secret as it is registered, with what seals sessions now."""
        secret = with_tokens().one("sign-in-secret").inputs
        if store != "secrets" or name != secret["metadata"]["name"]:
            return None
        told = {**secret["stringData"]}
        if self.sealing != "what seals sessions":
            told["sessions"] = base64.urlsafe_b64encode(self.sealing.encode().ljust(32, b".")).decode()
        return {
            "kind": "Secret",
            "data": {key: base64.b64encode(value.encode()).decode() for key, value in told.items()},
        }

    def browser(self) -> Browser:
        def find(host: str) -> tuple[str, int]:
            if host == LOGIN:
                return self.login.at
            found = self.backends.find("gateway", "traefik-0", 8443)
            assert found is not None
            return found

        return Browser(find, self.authority.certificate.decode() + self.login.ca.read_text())

    def close(self) -> None:
        self.asking.close()
        self.gateway.close()
        self.proxy.stop()
        self.backends.close()
        self.served.close()
