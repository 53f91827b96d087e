"""Switches of cilium. Source: cilium/cilium v1.20, install/kubernetes/cilium/templates (cilium-configmap.yaml,
cilium-agent/daemonset.yaml, cilium-operator/deployment.yaml, cilium-envoy, hubble).
"""

from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played.switches import Effect, On, Rules, Switch, only_if, put, scheduling

_CONFIG = On("ConfigMap", "cilium-config")
_AGENT = On("DaemonSet", "cilium")
_OPERATOR = On("Deployment", "cilium-operator")
_ENVOY = On("ServiceAccount ConfigMap Service DaemonSet", "cilium-envoy*")
_HUBBLE = On("Secret Service", "hubble*")
_CA = On("Secret", "cilium-ca")


def _entry(key: str) -> Effect:
    """The value becomes a line of the configuration that agents and operators read: text, lists with blanks."""

    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for config in _CONFIG.places(objects):
            said = " ".join(map(str, value)) if isinstance(value, list) else value
            config.setdefault("data", {})[key] = str(said).lower() if isinstance(said, bool) else str(said)
        return objects

    return effect


def _asks_at(variable: str) -> Effect:
    """Where the API server is asked: a variable of every container that does."""

    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for on in (_AGENT, _OPERATOR):
            for pod in on.pod.places(objects):
                for container in [*(pod.get("initContainers") or []), *pod["containers"]]:
                    kept = [each for each in container.get("env") or [] if each["name"] != variable]
                    container["env"] = [*kept, {"name": variable, "value": str(value)}]
        return objects

    return effect


def _pulled(on: On, *, whole: bool) -> Effect:
    """The value becomes the image of every container, or its repository with tag and digest kept (_helpers.tpl)."""

    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for pod in on.pod.places(objects) if value else ():
            for container in [*(pod.get("initContainers") or []), *pod["containers"]]:
                _, _, tag = container["image"].rpartition("/")[2].partition(":")
                container["image"] = value if whole else f"{value}:{tag}"
        return objects

    return effect


RULES = Rules(
    (
        Switch("image.repository", _pulled(_AGENT, whole=False)),
        Switch("operator.image.override", _pulled(_OPERATOR, whole=True)),
        Switch("kubeProxyReplacement", _entry("kube-proxy-replacement")),
        Switch("k8sServiceHost", _asks_at("KUBERNETES_SERVICE_HOST")),
        Switch("k8sServicePort", _asks_at("KUBERNETES_SERVICE_PORT")),
        Switch("routingMode", _entry("routing-mode")),
        Switch("tunnelProtocol", _entry("tunnel-protocol")),
        Switch("ipam.mode", _entry("ipam")),
        Switch("ipam.operator.clusterPoolIPv4PodCIDRList", _entry("cluster-pool-ipv4-cidr")),
        Switch("ipam.operator.clusterPoolIPv4MaskSize", _entry("cluster-pool-ipv4-mask-size")),
        Switch("policyCIDRMatchMode", _entry("policy-cidr-match-mode")),
        Switch("devices", _entry("devices")),
        Switch("cni.exclusive", _entry("cni-exclusive")),
        Switch("l7Proxy", _entry("enable-l7-proxy")),
        Switch("operator.replicas", put(_OPERATOR, "spec", "replicas")),
        Switch("envoy.enabled", only_if(_ENVOY)),
        Switch("hubble.enabled", only_if(_HUBBLE, _CA)),
        *scheduling("operator", _OPERATOR),
    )
)
