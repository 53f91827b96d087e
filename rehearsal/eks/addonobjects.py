"""The Kubernetes objects behind EKS add-ons, with EKS's defaults and the user's configuration values. Pure.

Source: the manifests EKS installs, as far as effects need them: names, containers, tolerations, selectors, replicas.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from rehearsal.devices import host_engine

Object = dict[str, Any]
NAMESPACE = "kube-system"
REGISTRY = "602401143452.dkr.ecr.us-west-2.amazonaws.com"
EVERYWHERE: list[Object] = [{"operator": "Exists"}]
COREFILE = ".:53 {\n    errors\n    health\n    kubernetes cluster.local\n}\n"
EBS_METRICS = 3301
CRITICAL: list[Object] = [{"key": "CriticalAddonsOnly", "operator": "Exists"}]
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


ENI_CONFIG: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "eniconfigs.crd.k8s.amazonaws.com"},
    "spec": {
        "group": "crd.k8s.amazonaws.com",
        "names": {"plural": "eniconfigs", "singular": "eniconfig", "kind": "ENIConfig"},
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
"""Comes with the VPC CNI (amazon-vpc-cni-k8s, config/master/aws-k8s-cni.yaml)."""


class ConfigurationError(ValueError):
    """Configuration values that are neither JSON nor YAML with an object in it."""


def configuration(text: str | None) -> dict[str, Any]:
    """The `configurationValues` of an add-on (JSON or YAML). Raises ConfigurationError."""
    if not text:
        return {}
    try:
        loaded = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigurationError(f"the configuration values are neither JSON nor YAML: {error}") from error
    if not isinstance(loaded, dict):
        raise ConfigurationError("the configuration values are no object")
    return loaded


def objects(addon: str, version: str, values: Mapping[str, Any]) -> list[Object]:
    """What EKS installs for an add-on; an add-on that nobody knows makes nothing and is ready."""
    make = _ADDONS.get(addon)
    return make(version, values) if make else []


def _vpc_cni(version: str, values: Mapping[str, Any]) -> list[Object]:
    env = [{"name": key, "value": str(value)} for key, value in (values.get("env") or {}).items()]
    main = {**_container("aws-node", "amazon-k8s-cni", version), "env": env}
    agent = _container("aws-eks-nodeagent", "amazon/aws-network-policy-agent", version)
    pod = _daemon(values, EVERYWHERE, [main, agent], host_network=True)
    pod["initContainers"] = [_container("aws-vpc-cni-init", "amazon-k8s-cni-init", version)]
    daemon = _daemonset("aws-node", pod, "aws-node", {"maxUnavailable": "10%"})
    return [ENI_CONFIG, _account("aws-node"), daemon]


def _kube_proxy(version: str, values: Mapping[str, Any]) -> list[Object]:
    pod = _daemon(values, EVERYWHERE, [_container("kube-proxy", "kube-proxy", version)], host_network=True)
    return [_account("kube-proxy"), _daemonset("kube-proxy", pod, "kube-proxy", {"maxUnavailable": "10%"})]


def _identity_agent(version: str, values: Mapping[str, Any]) -> list[Object]:
    container = _container("eks-pod-identity-agent", "eks-pod-identity-agent", version)
    pod = _daemon(values, EVERYWHERE, [container], host_network=True)
    return [
        _account("eks-pod-identity-agent"),
        _daemonset("eks-pod-identity-agent", pod, "eks-pod-identity-agent", {"maxUnavailable": "10%"}),
    ]


def _coredns(version: str, values: Mapping[str, Any]) -> list[Object]:
    labels = {"k8s-app": "kube-dns", "eks.amazonaws.com/component": "coredns"}
    master = [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]
    container = {
        **_container("coredns", "coredns", version),
        "resources": values.get("resources")
        or {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "ports": [
            {"name": "dns", "containerPort": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
        ],
    }
    pod = _pod(values, [*master, *CRITICAL], [container], "coredns", "system-cluster-critical")
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
    ]
    service = _service("kube-dns", labels, {"k8s-app": "kube-dns"}, ports, clusterIP="172.20.0.10")
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "coredns", "namespace": NAMESPACE, "labels": labels},
        "data": {"Corefile": values.get("corefile") or COREFILE},
    }
    replicas = int(values.get("replicaCount") or 2)
    return [_account("coredns"), config, service, _deployment("coredns", pod, labels, replicas)]


def _csi(driver: str, prefix: str, version: str, values: Mapping[str, Any], attach: bool) -> list[Object]:
    """A CSI driver: controller Deployment, node DaemonSet, CSIDriver (charts of the two AWS drivers)."""
    node, controller = values.get("node") or {}, values.get("controller") or {}
    tolerated = list(node.get("tolerations") or [])
    if node.get("tolerateAllTaints", True):
        tolerated = EVERYWHERE
    elif not tolerated:
        tolerated = [*CRITICAL, {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
    image = f"aws-{prefix}-csi-driver"
    containers = [
        _container(f"{prefix}-plugin-node", image, version),
        _container("node-driver-registrar", "csi-node-driver-registrar", version),
        _container("liveness-probe", "livenessprobe", version),
    ]
    daemon = _daemon({**node, "tolerations": tolerated}, EVERYWHERE, containers, host_network=prefix in ("efs", "fsx"))
    sidecars = [_container(name, name, version) for name in ("csi-provisioner", "csi-resizer", "liveness-probe")]
    main = _container(f"{prefix}-plugin-controller", image, version)
    deployed = _pod(controller, CRITICAL, [main, *sidecars], f"{prefix}-csi-controller-sa", "system-cluster-critical")
    labels = {"app": f"{prefix}-csi-controller"}
    return [
        _account(f"{prefix}-csi-controller-sa"),
        _account(f"{prefix}-csi-node-sa"),
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": driver},
            "spec": {"attachRequired": attach, "podInfoOnMount": False, "fsGroupPolicy": "ReadWriteOnceWithFSType"},
        },
        _deployment(f"{prefix}-csi-controller", deployed, labels, int(controller.get("replicaCount") or 2)),
        _daemonset(f"{prefix}-csi-node", daemon, f"{prefix}-csi-node-sa", {"maxUnavailable": "10%"}),
    ]


def _fsx(version: str, values: Mapping[str, Any]) -> list[Object]:
    return _csi("fsx.csi.aws.com", "fsx", version, values, attach=False)


def _efs(version: str, values: Mapping[str, Any]) -> list[Object]:
    """Its node plugin has a name of its own, reaches the mount targets through the host's network, and tolerates every
    taint unless it is told which (aws-efs-csi-driver, charts/aws-efs-csi-driver: values.yaml, node-daemonset.yaml).
    """
    node = values.get("node") or {}
    told = {**values, "node": {**node, "tolerateAllTaints": not node.get("tolerations")}}
    made = _csi("efs.csi.aws.com", "efs", version, told, attach=False)
    for each in made:
        if each["kind"] == "DaemonSet":
            each["spec"]["template"]["spec"]["containers"][0]["name"] = "efs-plugin"
    return made


def _ebs(version: str, values: Mapping[str, Any]) -> list[Object]:
    """With `controller.enableMetrics` the controller tells Prometheus of its calls to EC2 (aws-ebs-csi-driver, chart:
    templates/controller.yaml, _metrics.tpl; that EKS takes the value: issues 2426 and 2647 there).
    """
    made = _csi("ebs.csi.aws.com", "ebs", version, values, attach=True)
    if (values.get("controller") or {}).get("enableMetrics"):
        (deployed,) = [each for each in made if each["kind"] == "Deployment"]
        deployed["spec"]["template"]["spec"]["containers"][0] |= {
            "args": [f"--http-endpoint=0.0.0.0:{EBS_METRICS}"],
            "ports": [{"name": "metrics", "containerPort": EBS_METRICS}],
        }
        labels = {"app": "ebs-csi-controller"}
        made.append(_service("ebs-csi-controller", labels, labels, [{"name": "metrics", "port": EBS_METRICS}]))
    return made


def _monitoring_agent(version: str, values: Mapping[str, Any]) -> list[Object]:
    """The agent on every node, and DCGM's host engine on those with GPUs of NVIDIA, which tolerates nothing by itself
    (chart eks-node-monitoring-agent 1.7.0, templates/daemonset.yaml and dcgm-daemonset.yaml).
    """
    name = "eks-node-monitoring-agent"
    given, asked = values.get("nodeAgent") or values.get("monitoringAgent") or {}, values.get("dcgmAgent") or {}
    pod = _daemon(given, EVERYWHERE, [_container(name, name, version)], host_network=True)
    engine = {
        **_container(host_engine.CONTAINER, name, version),
        "command": ["/usr/bin/nv-hostengine"],
        "args": ["-n", "-b", "ALL"],
        "ports": [{"containerPort": host_engine.PORT, "hostPort": host_engine.PORT}],
        "resources": asked.get("resources") or {},
        "securityContext": {"privileged": True},
    }
    watched = _daemon({"affinity": host_engine.nvidia_nodes(), **asked}, [], [engine], host_network=False)
    rolling = {"maxUnavailable": "10%"}
    return [
        _account(name),
        _daemonset(name, pod, name, rolling),
        _daemonset("dcgm-server", watched, "default", rolling),
    ]


_ADDONS: dict[str, Callable[[str, Mapping[str, Any]], list[Object]]] = {
    "vpc-cni": _vpc_cni,
    "kube-proxy": _kube_proxy,
    "eks-pod-identity-agent": _identity_agent,
    "coredns": _coredns,
    "aws-fsx-csi-driver": _fsx,
    "aws-ebs-csi-driver": _ebs,
    "aws-efs-csi-driver": _efs,
    "eks-node-monitoring-agent": _monitoring_agent,
}


def _container(name: str, image: str, version: str) -> Object:
    return {"name": name, "image": f"{REGISTRY}/eks/{image}:{version}", "resources": {"requests": {"cpu": "10m"}}}


def _pod(
    values: Mapping[str, Any], tolerations: list[Object], containers: list[Object], account: str, priority: str
) -> Object:
    pod: Object = {
        "serviceAccountName": account,
        "priorityClassName": priority,
        "tolerations": values.get("tolerations") if "tolerations" in values else tolerations,
        "containers": containers,
    }
    for key in ("nodeSelector", "affinity", "topologySpreadConstraints"):
        if values.get(key):
            pod[key] = values[key]
    return pod


def _daemon(
    values: Mapping[str, Any], tolerations: list[Object], containers: list[Object], host_network: bool
) -> Object:
    pod = _pod(values, tolerations, containers, "", "system-node-critical")
    pod.setdefault("affinity", _NO_FARGATE)
    pod["hostNetwork"] = host_network
    return pod


def _account(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}}


def _service(
    name: str, labels: Mapping[str, str], selector: Mapping[str, str], ports: list[Object], **more: str
) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": dict(labels)},
        "spec": {"selector": dict(selector), "ports": ports, **more},
    }


def _daemonset(name: str, pod: Object, account: str, rolling: Object) -> Object:
    labels = {"k8s-app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            "template": {"metadata": {"labels": labels}, "spec": {**pod, "serviceAccountName": account}},
        },
    }


def _deployment(name: str, pod: Object, labels: Mapping[str, str], replicas: int) -> Object:
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
