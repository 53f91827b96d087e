"""The Kubernetes objects behind EKS add-ons, with EKS's defaults and the user's configuration values. Pure.

Source: the manifests that EKS installs, in what a rehearsal needs: names, containers, tolerations, selectors, replicas.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from rehearsal.devices import host_engine
from rehearsal.eks import addonshapes as shapes
from rehearsal.eks import addonsnapshots
from rehearsal.eks.addonshapes import NAMESPACE, Object

EVERYWHERE: list[Object] = [{"operator": "Exists"}]
COREFILE = ".:53 {\n    errors\n    health\n    kubernetes cluster.local\n}\n"
EBS_METRICS = 3301
CRITICAL: list[Object] = [{"key": "CriticalAddonsOnly", "operator": "Exists"}]


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
    main = {**shapes.container("aws-node", "amazon-k8s-cni", version), "env": env}
    agent = shapes.container("aws-eks-nodeagent", "amazon/aws-network-policy-agent", version)
    pod = shapes.daemon(values, EVERYWHERE, [main, agent], host_network=True)
    pod["initContainers"] = [shapes.container("aws-vpc-cni-init", "amazon-k8s-cni-init", version)]
    daemon = shapes.daemonset("aws-node", pod, "aws-node")
    return [ENI_CONFIG, shapes.account("aws-node"), daemon]


def _kube_proxy(version: str, values: Mapping[str, Any]) -> list[Object]:
    pod = shapes.daemon(values, EVERYWHERE, [shapes.container("kube-proxy", "kube-proxy", version)], host_network=True)
    return [shapes.account("kube-proxy"), shapes.daemonset("kube-proxy", pod, "kube-proxy")]


def _identity_agent(version: str, values: Mapping[str, Any]) -> list[Object]:
    container = shapes.container("eks-pod-identity-agent", "eks-pod-identity-agent", version)
    pod = shapes.daemon(values, EVERYWHERE, [container], host_network=True)
    return [
        shapes.account("eks-pod-identity-agent"),
        shapes.daemonset("eks-pod-identity-agent", pod, "eks-pod-identity-agent"),
    ]


def _coredns(version: str, values: Mapping[str, Any]) -> list[Object]:
    labels = {"k8s-app": "kube-dns", "eks.amazonaws.com/component": "coredns"}
    master = [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]
    container = {
        **shapes.container("coredns", "coredns", version),
        "resources": values.get("resources")
        or {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "ports": [
            {"name": "dns", "containerPort": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
        ],
    }
    pod = shapes.pod(values, [*master, *CRITICAL], [container], "coredns", "system-cluster-critical")
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
    ]
    service = shapes.service("kube-dns", labels, {"k8s-app": "kube-dns"}, ports, clusterIP="172.20.0.10")
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "coredns", "namespace": NAMESPACE, "labels": labels},
        "data": {"Corefile": values.get("corefile") or COREFILE},
    }
    replicas = int(values.get("replicaCount") or 2)
    return [shapes.account("coredns"), config, service, shapes.deployment("coredns", pod, labels, replicas)]


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
        shapes.container(f"{prefix}-plugin-node", image, version),
        shapes.container("node-driver-registrar", "csi-node-driver-registrar", version),
        shapes.container("liveness-probe", "livenessprobe", version),
    ]
    daemon = shapes.daemon(
        {**node, "tolerations": tolerated}, EVERYWHERE, containers, host_network=prefix in ("efs", "fsx")
    )
    sidecars = [shapes.container(name, name, version) for name in ("csi-provisioner", "csi-resizer", "liveness-probe")]
    main = shapes.container(f"{prefix}-plugin-controller", image, version)
    deployed = shapes.pod(
        controller, CRITICAL, [main, *sidecars], f"{prefix}-csi-controller-sa", "system-cluster-critical"
    )
    labels = {"app": f"{prefix}-csi-controller"}
    return [
        shapes.account(f"{prefix}-csi-controller-sa"),
        shapes.account(f"{prefix}-csi-node-sa"),
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": driver},
            "spec": {"attachRequired": attach, "podInfoOnMount": False, "fsGroupPolicy": "ReadWriteOnceWithFSType"},
        },
        shapes.deployment(f"{prefix}-csi-controller", deployed, labels, int(controller.get("replicaCount") or 2)),
        shapes.daemonset(f"{prefix}-csi-node", daemon, f"{prefix}-csi-node-sa"),
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
        made.append(shapes.service("ebs-csi-controller", labels, labels, [{"name": "metrics", "port": EBS_METRICS}]))
    return made


def _monitoring_agent(version: str, values: Mapping[str, Any]) -> list[Object]:
    """The agent on every node, and DCGM's host engine on those with GPUs of NVIDIA, which tolerates nothing by itself
    (chart eks-node-monitoring-agent 1.7.0, templates/daemonset.yaml and dcgm-daemonset.yaml).
    """
    name = "eks-node-monitoring-agent"
    given, asked = values.get("nodeAgent") or values.get("monitoringAgent") or {}, values.get("dcgmAgent") or {}
    pod = shapes.daemon(given, EVERYWHERE, [shapes.container(name, name, version)], host_network=True)
    engine = {
        **shapes.container(host_engine.CONTAINER, name, version),
        "command": ["/usr/bin/nv-hostengine"],
        "args": ["-n", "-b", "ALL"],
        "ports": [{"containerPort": host_engine.PORT, "hostPort": host_engine.PORT}],
        "resources": asked.get("resources") or {},
        "securityContext": {"privileged": True},
    }
    watched = shapes.daemon({"affinity": host_engine.nvidia_nodes(), **asked}, [], [engine], host_network=False)
    return [
        shapes.account(name),
        shapes.daemonset(name, pod, name),
        shapes.daemonset("dcgm-server", watched, "default"),
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
    "snapshot-controller": addonsnapshots.objects,
}
