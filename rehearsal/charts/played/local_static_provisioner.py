"""Switches of local-static-provisioner. Source: kubernetes-sigs/sig-storage-local-static-provisioner v2.9,
helm/provisioner/templates (configmap.yaml: `storageClassMap`; daemonset_linux.yaml: a mount below /mnt for each class).
"""

from typing import Any

import yaml

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played.switches import On, Rules, Switch, put, scheduling

_CONFIG, _DAEMON = On("ConfigMap"), On("DaemonSet")
_FIXED = ("provisioner-config", "provisioner-dev")


def _classes(objects: list[Object], value: Any, _: Order) -> list[Object]:
    told = {}
    for each in value or []:
        known = {key: each[key] for key in ("volumeMode", "fsType", "namePattern", "accessMode") if each.get(key)}
        told[each["name"]] = {"hostDir": each["hostDir"], "mountDir": each.get("mountDir", each["hostDir"]), **known}
    for config in _CONFIG.places(objects):
        config.setdefault("data", {})["storageClassMap"] = yaml.safe_dump(told)
    for pod in _DAEMON.pod.places(objects):
        pod["volumes"] = [
            *(each for each in pod["volumes"] if each["name"] in _FIXED),
            *({"name": name, "hostPath": {"path": each["hostDir"]}} for name, each in told.items()),
        ]
    for container in _DAEMON.container.places(objects):
        container["volumeMounts"] = [
            *(each for each in container["volumeMounts"] if each["name"] in _FIXED),
            *(
                {"name": name, "mountPath": each["mountDir"], "mountPropagation": "HostToContainer"}
                for name, each in told.items()
            ),
        ]
    return objects


def _without_devices(objects: list[Object], value: Any, _: Order) -> list[Object]:
    if not value:
        for pod in _DAEMON.pod.places(objects):
            pod["volumes"] = [each for each in pod["volumes"] if each["name"] != "provisioner-dev"]
        for container in _DAEMON.container.places(objects):
            mounts = container["volumeMounts"]
            container["volumeMounts"] = [each for each in mounts if each["name"] != "provisioner-dev"]
    return objects


def _named(objects: list[Object], value: Any, _: Order) -> list[Object]:
    for config in _CONFIG.places(objects):
        config.setdefault("data", {})["useNodeNameOnly"] = str(value).lower()
    return objects


RULES = Rules(
    (
        Switch("image", put(_DAEMON.container, "image")),
        Switch("classes", _classes),
        Switch("mountDevVolume", _without_devices),
        Switch("useNodeNameOnly", _named),
        Switch("priorityClassName", put(_DAEMON.pod, "priorityClassName")),
        *scheduling("", _DAEMON),
    )
)
