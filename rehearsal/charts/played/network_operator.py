"""Switches of network-operator: its sub-charts, and the operator's pod. The rest is the NicClusterPolicy's, which the
operator reads. Source: Mellanox/network-operator v26.4.1, deployment/network-operator/templates, and of its part
charts/sriov-network-operator templates/operator.yaml and templates/sriovoperatorconfig.yaml.
"""

from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played import node_feature_discovery as nfd
from rehearsal.charts.played.switches import Effect, On, Rules, Switch, both, image, only_if, put, scheduling

_OPERATOR = On("Deployment", "<<fullname network-operator>>")
_NFD = On(
    "ServiceAccount ConfigMap ClusterRole ClusterRoleBinding Role RoleBinding DaemonSet Deployment Job",
    f"*{nfd.NAME}*",
)

_HOOKS = (On("Job", "*keep-ncp"), On("Job", "*upgrade-crd"))

_SRIOV, _PART = On("Deployment", "<<fullname sriov-network-operator>>"), "sriov-network-operator"
_TOLD = {
    "sriovConfigDaemon": "SRIOV_NETWORK_CONFIG_DAEMON_IMAGE",
    "sriovCni": "SRIOV_CNI_IMAGE",
    "ibSriovCni": "SRIOV_INFINIBAND_CNI_IMAGE",
    "ovsCni": "OVS_CNI_IMAGE",
    "rdmaCni": "RDMA_CNI_IMAGE",
    "sriovDevicePlugin": "SRIOV_DEVICE_PLUGIN_IMAGE",
}
"""Images of its operands, by the variables that tell it."""


def _told(variable: str) -> Effect:
    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for container in _SRIOV.container.places(objects):
            container["env"] = [
                {"name": variable, "value": value} if each["name"] == variable else each for each in container["env"]
            ]
        return objects

    return effect


def _configuration(objects: list[Object], order: Order) -> None:
    """The object that says on which nodes functions are made: those whose card drivers are there."""
    if (order.values.get("sriovNetworkOperator") or {}).get("enabled"):
        selector = {"beta.kubernetes.io/os": "linux", "network.nvidia.com/operator.mofed.wait": "false"}
        objects.append(
            {
                "apiVersion": "sriovnetwork.openshift.io/v1",
                "kind": "SriovOperatorConfig",
                "metadata": {"name": "default", "namespace": "<<namespace>>"},
                "spec": {
                    "enableInjector": False,
                    "enableOperatorWebhook": False,
                    "configDaemonNodeSelector": selector,
                },
            }
        )


def _pulled(objects: list[Object], value: Any, _: Order) -> list[Object]:
    for container in (*_SRIOV.container.places(objects), *On("Job", "*pre-delete-hook").container.places(objects)):
        container["image"] = value
    return objects


RULES = Rules(
    always=_configuration,
    parts=(("sriovNetworkOperator.enabled", _PART),),
    switches=(
        Switch("operator.repository", both(*(image(on.container, "parent") for on in (_OPERATOR, *_HOOKS)))),
        Switch("nfd.enabled", only_if(_NFD)),
        Switch("nfd.deployNodeFeatureRules", only_if(On("NodeFeatureRule"))),
        Switch("operator.priorityClassName", put(_OPERATOR.pod, "priorityClassName")),
        *scheduling("operator", _OPERATOR),
        Switch(f"{_PART}.images.operator", _pulled),
        *(Switch(f"{_PART}.images.{value}", _told(variable)) for value, variable in _TOLD.items()),
        Switch(f"{_PART}.operator.resourcePrefix", _told("RESOURCE_PREFIX")),
    ),
)
