"""What `kubeadm init` leaves in a new cluster, as far as programs and people rely on it.

Source: kubernetes 1.36.3, cmd/kubeadm/app/phases/addons/dns/manifests.go (CoreDNS, its Service) and
app/constants/constants.go (its version). kube-proxy is left out: its
phase is skipped by whoever lets Cilium balance Services, and no other network is known here. Static pods are not shown.
"""

from collections.abc import Mapping
from typing import Any

import yaml

from rehearsal.cluster.eks import api_endpoints
from rehearsal.kube.client import Kube

MANAGER = "kubeadm"
NAMESPACE = "kube-system"
_LABELS = {"k8s-app": "kube-dns"}
_COREFILE = ".:53 {\n    errors\n    health\n    kubernetes cluster.local\n    forward . /etc/resolv.conf\n}\n"


def furnish(kube: Kube, cluster: Mapping[str, Any]) -> None:
    """Apply the objects of a new cluster, made by this ClusterConfiguration; safe to repeat."""
    for item in (api_endpoints(), _configuration(cluster), *_dns()):
        kube.apply(item, MANAGER, force=True)


def _configuration(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """Where kubeadm keeps what it was told (app/phases/uploadconfig)."""
    meta = {"name": "kubeadm-config", "namespace": NAMESPACE}
    told = yaml.safe_dump(dict(cluster))
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"ClusterConfiguration": told}}


def _dns() -> list[dict[str, Any]]:
    tolerations = [
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
    ]
    container = {
        "name": "coredns",
        "image": "registry.k8s.io/coredns/coredns:v1.14.2",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
    }
    pod = {
        "serviceAccountName": "coredns",
        "priorityClassName": "system-cluster-critical",
        "tolerations": tolerations,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "containers": [container],
        "volumes": [{"name": "config-volume", "configMap": {"name": "coredns"}}],
    }
    meta = {"name": "coredns", "namespace": NAMESPACE}
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": _LABELS},
        "template": {"metadata": {"labels": _LABELS}, "spec": pod},
    }
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    service = {"name": "kube-dns", "namespace": NAMESPACE, "labels": _LABELS}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"Corefile": _COREFILE}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {**meta, "labels": _LABELS}, "spec": spec},
        {"apiVersion": "v1", "kind": "Service", "metadata": service, "spec": {"selector": _LABELS, "ports": ports}},
    ]
