"""What kubeadm is told, as configuration files: flags would be in the machines' process lists.

Source: kubeadm reference, kubeadm.k8s.io/v1beta4; kubelet reference, kubelet.config.k8s.io/v1beta1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import yaml

from components.platform.taints import Taint

API = "kubeadm.k8s.io/v1beta4"
PORT = 6443
SOCKET = "unix:///run/containerd/containerd.sock"
HOME = "/etc/kubernetes/gpucluster"
"""Where a machine keeps what kubeadm and the control plane read, for root alone."""

ENCRYPTION_FILE, AUDIT_FILE = f"{HOME}/encryption.yaml", f"{HOME}/audit.yaml"
DISCOVERY_FILE, PATCHES = f"{HOME}/discovery.conf", "/etc/kubernetes/patches"
AUDIT_LOGS = "/var/log/kubernetes/audit"
FIRST_TOKEN_TTL = "15m0s"  # noqa: S105 - a span of time
CIPHERS = (
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
)


@dataclass(frozen=True, kw_only=True)
class ClusterSpec:
    """A cluster. `endpoint` is the address that the control plane's nodes hand on; `version` is whole: 1.36.3.
    `images` is where its images come from, if not from registry.k8s.io.
    """

    name: str
    version: str
    endpoint: str
    pod_cidr: str
    service_cidr: str
    control_plane: Sequence[str]
    images: str | None = None


@dataclass(frozen=True, kw_only=True)
class NodeSpec:
    """A node as it registers. `taints` None keeps kubeadm's: a control plane node that no ordinary pod runs on. Where
    a registry asks who pulls, kubeadm, who would be nobody there, `pulls` nothing, and the kubelet does.
    """

    name: str
    address: str
    labels: Mapping[str, str]
    taints: Sequence[Taint] | None = ()
    pulls: bool = True


def documents(*parts: Mapping[str, Any]) -> str:
    """Parts of a configuration as one file."""
    return yaml.safe_dump_all([dict(each) for each in parts], sort_keys=False, explicit_start=True)


def _arguments(values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]


def registration(node: NodeSpec) -> dict[str, Any]:
    """How the kubelet registers its node. Unless the address is said it takes the one of the default route."""
    labels = ",".join(f"{key}={value}" for key, value in sorted(node.labels.items()))
    taints = {} if node.taints is None else {"taints": [asdict(each) for each in node.taints]}
    return {
        "name": node.name,
        "criSocket": SOCKET,
        **taints,
        **({} if node.pulls else {"imagePullPolicy": "Never"}),
        "kubeletExtraArgs": _arguments({"node-ip": node.address, "node-labels": labels}),
    }


def cluster_configuration(cluster: ClusterSpec) -> dict[str, Any]:
    """The control plane: Secrets are encrypted before they reach etcd, and every request but reads of leases and events
    leaves a line. Controller manager and scheduler are scraped at the nodes' addresses.
    """
    files = [
        {
            "name": "encryption",
            "hostPath": ENCRYPTION_FILE,
            "mountPath": ENCRYPTION_FILE,
            "readOnly": True,
            "pathType": "File",
        },
        {"name": "audit-policy", "hostPath": AUDIT_FILE, "mountPath": AUDIT_FILE, "readOnly": True, "pathType": "File"},
        {"name": "audit-logs", "hostPath": AUDIT_LOGS, "mountPath": AUDIT_LOGS, "pathType": "DirectoryOrCreate"},
    ]
    server = {
        "encryption-provider-config": ENCRYPTION_FILE,
        "audit-policy-file": AUDIT_FILE,
        "audit-log-path": f"{AUDIT_LOGS}/audit.log",
        "audit-log-maxage": "30",
        "audit-log-maxbackup": "10",
        "audit-log-maxsize": "100",
        "profiling": "false",
        "tls-min-version": "VersionTLS12",
        "tls-cipher-suites": ",".join(CIPHERS),
    }
    everywhere = {"bind-address": "0.0.0.0", "profiling": "false"}  # noqa: S104 - Prometheus asks from another node
    return {
        "apiVersion": API,
        "kind": "ClusterConfiguration",
        "clusterName": cluster.name,
        "kubernetesVersion": f"v{cluster.version}",
        "controlPlaneEndpoint": f"{cluster.endpoint}:{PORT}",
        **(_images(cluster.images) if cluster.images else {}),
        "networking": {
            "podSubnet": cluster.pod_cidr,
            "serviceSubnet": cluster.service_cidr,
            "dnsDomain": "cluster.local",
        },
        "apiServer": {
            "certSANs": [cluster.endpoint, *cluster.control_plane],
            "extraArgs": _arguments(server),
            "extraVolumes": files,
        },
        "controllerManager": {"extraArgs": _arguments(everywhere)},
        "scheduler": {"extraArgs": _arguments(everywhere)},
        "etcd": {
            "local": {
                "dataDir": "/var/lib/etcd",
                "extraArgs": _arguments({"listen-metrics-urls": "http://0.0.0.0:2381"}),
            }
        },
    }


def _images(repository: str) -> dict[str, Any]:
    """Elsewhere than at registry.k8s.io kubeadm looks for CoreDNS beside the others (app/images, GetDNSImage)."""
    return {"imageRepository": repository, "dns": {"imageRepository": f"{repository}/coredns"}}


def init(cluster: ClusterSpec, node: NodeSpec, *, token: str, certificate_key: str) -> str:
    """The first node's file. Its token ends soon: one that is not said would be good for a day, and be printed."""
    first = {
        "apiVersion": API,
        "kind": "InitConfiguration",
        "bootstrapTokens": [
            {
                "token": token,
                "ttl": FIRST_TOKEN_TTL,
                "usages": ["signing", "authentication"],
                "groups": ["system:bootstrappers:kubeadm:default-node-token"],
            }
        ],
        "certificateKey": certificate_key,
        "localAPIEndpoint": {"advertiseAddress": node.address, "bindPort": PORT},
        "nodeRegistration": registration(node),
        "patches": {"directory": PATCHES},
        # Cilium balances Services; two that write their rules would both count a connection.
        "skipPhases": ["addon/kube-proxy"],
    }
    return documents(first, cluster_configuration(cluster), KUBELET)


def join(node: NodeSpec, *, token: str, certificate_key: str | None = None) -> str:
    """The file of a node that joins; with a certificate key it joins the control plane. The cluster is known by a file
    with its authority's certificate, so that no hash of it need be asked for.
    """
    configuration: dict[str, Any] = {
        "apiVersion": API,
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": DISCOVERY_FILE}, "tlsBootstrapToken": token},
        "nodeRegistration": registration(node),
        "patches": {"directory": PATCHES},
    }
    if certificate_key is not None:
        configuration["controlPlane"] = {
            "certificateKey": certificate_key,
            "localAPIEndpoint": {"advertiseAddress": node.address, "bindPort": PORT},
        }
    return documents(configuration)


KUBELET: Mapping[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cgroupDriver": "systemd",
    "serverTLSBootstrap": False,
    "protectKernelDefaults": False,
    "rotateCertificates": True,
    "readOnlyPort": 0,
}
"""What every kubelet of the cluster has; a pool's own stands in a patch beside kubeadm's files."""


def encryption(key: str) -> str:
    """How Secrets are kept in etcd: new ones encrypted, and those from before still read."""
    providers = [{"secretbox": {"keys": [{"name": "first", "secret": key}]}}, {"identity": {}}]
    return documents(
        {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "EncryptionConfiguration",
            "resources": [{"resources": ["secrets"], "providers": providers}],
        }
    )


def audit() -> str:
    """Which requests leave a line, and never what is in a Secret. The first rule that fits decides."""
    leases = [{"group": "coordination.k8s.io", "resources": ["leases"]}, {"group": "", "resources": ["events"]}]
    return documents(
        {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [
                {"level": "None", "resources": leases},
                {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/version"]},
                {"level": "Metadata"},
            ],
        }
    )
