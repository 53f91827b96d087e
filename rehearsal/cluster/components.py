"""The command lines of the five processes of a control plane.

They run in the cluster's directory and name files relative to it: a socket's whole path must stay under 108 bytes.
etcd speaks only through sockets in that directory, so nobody else on the machine reaches it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rehearsal import places
from rehearsal.cluster.layout import ADVERTISED, FRONT_PROXY, SERVICE_RANGE
from rehearsal.toolchain import Tools

# etcd insists on host:port even in socket names; what follows is the file's name.
ETCD_CLIENTS = "unix://etcd:0"
ETCD_PEERS = "unix://peer:0"
ETCD, API_SERVER, CONTROLLERS, SCHEDULER, KWOK = NAMES = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
)


@dataclass(frozen=True)
class Command:
    """How one component is run. `grace` is how long it may take to end, in seconds."""

    argv: list[str | Path]
    env: Mapping[str, str]
    grace: float = 5.0


def etcd(tools: Tools) -> Command:
    """The store. Without fsync: a rehearsal need not survive a power cut, only the end of a process."""
    return _command(
        tools,
        ETCD,
        {
            "name": "rehearsal",
            "data-dir": "etcd-data",
            "listen-client-urls": ETCD_CLIENTS,
            "advertise-client-urls": ETCD_CLIENTS,
            "listen-peer-urls": ETCD_PEERS,
            "initial-advertise-peer-urls": ETCD_PEERS,
            "initial-cluster": f"rehearsal={ETCD_PEERS}",
            "unsafe-no-fsync": "true",
            "log-level": "warn",
            "quota-backend-bytes": str(4 * 2**30),
            "auto-compaction-mode": "periodic",
            "auto-compaction-retention": "5m",
        },
    )


def api_server(tools: Tools, port: int, issuer: str, more: Mapping[str, str] = MappingProxyType({})) -> Command:
    """The API server, listening on loopback, with EKS's choices of authentication, authorization and admission.

    `more` are flags beside those that keep it here.
    """
    return _command(
        tools,
        API_SERVER,
        {
            **more,
            "bind-address": places.LOOPBACK,
            "secure-port": str(port),
            "advertise-address": ADVERTISED,
            "endpoint-reconciler-type": "none",
            "etcd-servers": ETCD_CLIENTS,
            "service-cluster-ip-range": SERVICE_RANGE,
            "client-ca-file": "pki/ca.crt",
            "tls-cert-file": "pki/apiserver.crt",
            "tls-private-key-file": "pki/apiserver.key",
            "service-account-issuer": issuer,
            "service-account-key-file": "pki/service-accounts.pub",
            "service-account-signing-key-file": "pki/service-accounts.key",
            "authentication-token-webhook-config-file": "webhook.kubeconfig",
            "authentication-token-webhook-version": "v1",
            "authentication-token-webhook-cache-ttl": "5s",
            "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction",
            "egress-selector-config-file": "egress.json",
            "requestheader-client-ca-file": "pki/front-proxy-ca.crt",
            "requestheader-allowed-names": FRONT_PROXY,
            "requestheader-username-headers": "X-Remote-User",
            "requestheader-group-headers": "X-Remote-Group",
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
            "proxy-client-cert-file": "pki/front-proxy.crt",
            "proxy-client-key-file": "pki/front-proxy.key",
            "allow-privileged": "true",
            "profiling": "false",
        },
        # It keeps nothing itself, and left alone it waits for every open watch.
        grace=1.0,
        # Collecting as eagerly as the others took a third of its time. A limit of memory is worse for many nodes: with
        # 250 of them, 450 MiB in use beneath one of 800 MiB, collecting took half of it.
        environment={"GOGC": "150"},
    )


def controllers(tools: Tools) -> Command:
    """The controllers. HPAs are looked at every 5 s rather than 15 s, so that a rehearsal sees them move."""
    return _command(
        tools,
        CONTROLLERS,
        {
            "kubeconfig": "controller-manager.kubeconfig",
            "bind-address": places.LOOPBACK,
            "secure-port": "0",
            "leader-elect": "false",
            "use-service-account-credentials": "true",
            "service-account-private-key-file": "pki/service-accounts.key",
            "root-ca-file": "pki/ca.crt",
            "allocate-node-cidrs": "false",
            "horizontal-pod-autoscaler-sync-period": "5s",
            "kube-api-qps": "500",
            "kube-api-burst": "1000",
            "profiling": "false",
        },
    )


def scheduler(tools: Tools) -> Command:
    """The default scheduler."""
    return _command(tools, SCHEDULER, {"config": "scheduler.json", "secure-port": "0"})


def kwok(tools: Tools) -> Command:
    """The nodes' heartbeats (`stages.yaml`)."""
    return _command(
        tools,
        KWOK,
        {
            "kubeconfig": "kwok.kubeconfig",
            "config": "stages.yaml",
            "manage-all-nodes": "true",
            "node-lease-duration-seconds": "40",
        },
    )


def _command(
    tools: Tools,
    binary: str,
    flags: Mapping[str, str],
    grace: float = 5.0,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Command:
    argv: list[str | Path] = [tools[binary], *(f"--{name}={value}" for name, value in flags.items())]
    return Command(argv, {**_environment(), **environment}, grace)


def _environment() -> dict[str, str]:
    """Our environment without what would redirect a component: proxies, other clusters, other accounts."""
    unwanted = ("KUBE", "AWS_", "ETCD_", "KWOK_", "PULUMI_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(unwanted)}
    return kept | {"GOGC": "60"}
