"""Switches of rook-ceph, with ceph-csi-operator in it. Source: rook/rook v1.20.6, deploy/charts/rook-ceph/templates
(configmap.yaml: settings of the operator, images of the drivers); values.yaml (the images' own addresses).
"""

from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played.switches import Effect, On, Rules, Switch, put

_SETTINGS = On("ConfigMap", "rook-ceph-operator-config")
_IMAGES = On("ConfigMap", "rook-csi-operator-image-set-configmap")
_OPERATOR = On("Deployment", "rook-ceph-operator")
_MANAGER = On("Deployment", "ceph-csi-controller-manager")
_DRIVERS = {
    "csi.cephcsi": ("plugin", "quay.io/cephcsi/cephcsi:v3.17.0"),
    "csi.registrar": ("registrar", "registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.17.0"),
    "csi.provisioner": ("provisioner", "registry.k8s.io/sig-storage/csi-provisioner:v6.2.0"),
    "csi.snapshotter": ("snapshotter", "registry.k8s.io/sig-storage/csi-snapshotter:v8.5.0"),
    "csi.attacher": ("attacher", "registry.k8s.io/sig-storage/csi-attacher:v4.12.0"),
    "csi.resizer": ("resizer", "registry.k8s.io/sig-storage/csi-resizer:v2.1.0"),
    "csi.csiAddons": ("addons", "quay.io/csiaddons/k8s-sidecar:v0.14.0"),
}


def _images(objects: list[Object], _: Order) -> None:
    """What the values have without anybody's word."""
    for config in _IMAGES.places(objects):
        config["data"] = dict(_DRIVERS.values())


def _setting(key: str) -> Effect:
    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for config in _SETTINGS.places(objects):
            config.setdefault("data", {})[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return objects

    return effect


def _driver_image(value_of: str) -> Effect:
    """The address of an image without its tag."""
    key, whole = _DRIVERS[value_of]

    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for config in _IMAGES.places(objects):
            config["data"][key] = f"{value}:{whole.rpartition(':')[2]}"
        return objects

    return effect


def _pulled(on: On) -> Effect:
    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for container in on.container.places(objects):
            container["image"] = f"{value}:{container['image'].rpartition(':')[2]}"
        return objects

    return effect


RULES = Rules(
    (
        Switch("image.repository", _pulled(_OPERATOR)),
        Switch("ceph-csi-operator.controllerManager.manager.image.repository", _pulled(_MANAGER)),
        Switch("enableDiscoveryDaemon", _setting("ROOK_ENABLE_DISCOVERY_DAEMON")),
        Switch("obcAllowAdditionalConfigFields", _setting("ROOK_OBC_ALLOW_ADDITIONAL_CONFIG_FIELDS")),
        Switch("priorityClassName", put(_OPERATOR.pod, "priorityClassName")),
        *(Switch(f"{value}.repository", _driver_image(value)) for value in _DRIVERS),
    ),
    always=_images,
)
