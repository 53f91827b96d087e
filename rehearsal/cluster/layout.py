"""The files of one control plane, and how they are written before it starts."""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal import places
from rehearsal.cluster.pki import Authority, Pair, service_account_key

# The first address of EKS's usual service range is the Service `kubernetes` itself.
SERVICE_RANGE = "172.20.0.0/16"
API_SERVICE_IP = "172.20.0.1"
# What the API server says it listens on: not loopback, as it demands, and in no network (RFC 5737).
ADVERTISED, API_PORT = "192.0.2.1", 443
SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
MASTERS = "system:masters"
FRONT_PROXY = "front-proxy-client"
WEBHOOK_CALLER = "token-webhook-caller"
USERS = {
    "admin": ("kubernetes-admin", (MASTERS,)),
    "controller-manager": ("system:kube-controller-manager", ()),
    "scheduler": ("system:kube-scheduler", ()),
    "kwok": ("kwok", (MASTERS,)),
}
EGRESS_SOCKET = "egress.sock"
PROXY, CURL = "proxy.url", "proxy.curl"


@dataclass(frozen=True)
class Layout:
    """Paths below one cluster's directory. Processes run in it, so relative names stay short enough for sockets."""

    root: Path

    @property
    def pki(self) -> Path:
        return self.root / "pki"

    @property
    def ca(self) -> Path:
        return self.pki / "ca.crt"

    @property
    def egress_socket(self) -> Path:
        return self.root / EGRESS_SOCKET

    @property
    def proxy(self) -> Path:
        return self.root / PROXY

    def kubeconfig(self, user: str = "admin") -> Path:
        return self.root / ("kubeconfig" if user == "admin" else f"{user}.kubeconfig")

    def certificate(self, name: str) -> Path:
        return self.pki / f"{name}.crt"

    def key(self, name: str) -> Path:
        return self.pki / f"{name}.key"


def write_keys(layout: Layout) -> None:
    """Write every certificate and key, unless they are there: a restarted control plane keeps its identity."""
    if layout.ca.exists():
        return
    cluster, proxies = Authority("kubernetes"), Authority("front-proxy")
    pairs = {
        "apiserver": cluster.server("kube-apiserver", SERVER_NAMES, (places.LOOPBACK, API_SERVICE_IP)),
        "webhook": cluster.server("token-webhook", ("localhost",), (places.LOOPBACK,)),
        "webhook-client": cluster.client(WEBHOOK_CALLER),
        "front-proxy": proxies.client(FRONT_PROXY),
        **{user: cluster.client(name, groups) for user, (name, groups) in USERS.items()},
    }
    for name, pair in pairs.items():
        places.write(layout.certificate(name), pair.certificate)
        places.write(layout.key(name), pair.key)
    private, public = service_account_key()
    places.write(layout.key("service-accounts"), private)
    places.write(layout.pki / "service-accounts.pub", public)
    places.write(layout.certificate("front-proxy-ca"), proxies.certificate)
    places.write(layout.ca, cluster.certificate)


def write_kubeconfigs(layout: Layout, name: str, endpoint: str, webhook: str) -> None:
    """Write one kubeconfig per user, and the one by which the API server reaches the token webhook."""
    ca = layout.ca.read_bytes()
    for user in USERS:
        pair = Pair(layout.certificate(user).read_bytes(), layout.key(user).read_bytes())
        places.write_json(layout.kubeconfig(user), kubeconfig(name, endpoint, ca, pair))
    caller = Pair(layout.certificate("webhook-client").read_bytes(), layout.key("webhook-client").read_bytes())
    places.write_json(layout.kubeconfig("webhook"), kubeconfig("webhook", webhook, ca, caller))


def kubeconfig(name: str, server: str, ca: bytes, pair: Pair) -> dict[str, Any]:
    """A kubeconfig with one cluster and one user, known by a client certificate."""
    user = {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": _base64(ca)}}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def write_configurations(layout: Layout) -> None:
    """Write what the API server and the scheduler read from files rather than flags."""
    egress = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": EGRESS_SOCKET}}}
    places.write_json(
        layout.root / "egress.json",
        {
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [{"name": "cluster", "connection": egress}],
        },
    )
    places.write_json(
        layout.root / "scheduler.json",
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": "scheduler.kubeconfig", "qps": 500, "burst": 1000},
            "leaderElection": {"leaderElect": False},
        },
    )
    stages = (Path(__file__).resolve().parent / "stages.yaml").read_bytes()
    places.write(layout.root / "stages.yaml", stages)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
