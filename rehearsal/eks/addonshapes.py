"""The shapes that EKS add-ons' objects are made of: accounts, Services, DaemonSets and Deployments in kube-system."""

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]


NAMESPACE = "kube-system"


REGISTRY = "602401143452.dkr.ecr.us-west-2.amazonaws.com"


_NO_FARGATE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                        {"key": "eks.amazonaws.com/compute-type", "operator": "NotIn", "values": ["fargate", "auto"]},
                    ]
                }
            ]
        }
    }
}


def container(name: str, image: str, version: str) -> Object:
    """A container of an image in EKS' registry."""
    return {"name": name, "image": f"{REGISTRY}/eks/{image}:{version}", "resources": {"requests": {"cpu": "10m"}}}


def pod(
    values: Mapping[str, Any], tolerations: list[Object], containers: list[Object], account: str, priority: str
) -> Object:
    """A pod's spec: the user's `values` for where it runs, else these tolerations and no other rules."""
    spec: Object = {
        "serviceAccountName": account,
        "priorityClassName": priority,
        "tolerations": values.get("tolerations") if "tolerations" in values else tolerations,
        "containers": containers,
    }
    for key in ("nodeSelector", "affinity", "topologySpreadConstraints"):
        if values.get(key):
            spec[key] = values[key]
    return spec


def daemon(
    values: Mapping[str, Any], tolerations: list[Object], containers: list[Object], host_network: bool
) -> Object:
    """The spec of a DaemonSet's pod, which never runs on Fargate."""
    spec = pod(values, tolerations, containers, "", "system-node-critical")
    spec.setdefault("affinity", _NO_FARGATE)
    spec["hostNetwork"] = host_network
    return spec


def account(name: str) -> Object:
    """A ServiceAccount."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}}


def service(
    name: str, labels: Mapping[str, str], selector: Mapping[str, str], ports: list[Object], **more: str
) -> Object:
    """A Service; `more` are further fields of its spec."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": dict(labels)},
        "spec": {"selector": dict(selector), "ports": ports, **more},
    }


def daemonset(name: str, pod: Object, account: str) -> Object:
    """One pod on each node that it tolerates; an update takes a tenth of the nodes at a time."""
    labels = {"k8s-app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
            "template": {"metadata": {"labels": labels}, "spec": {**pod, "serviceAccountName": account}},
        },
    }


def deployment(name: str, pod: Object, labels: Mapping[str, str], replicas: int) -> Object:
    """A Deployment, which selects its pods by their labels; CoreDNS' by the one that its Service selects by."""
    selector = {"k8s-app": "kube-dns"} if name == "coredns" else dict(labels)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": dict(labels)},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": dict(labels)}, "spec": pod},
        },
    }
