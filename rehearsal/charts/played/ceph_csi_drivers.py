"""Switches of ceph-csi-drivers. Source: ceph/ceph-csi-operator v1.0.4, deploy/charts/ceph-csi-drivers/templates
(driver.yaml, operatorConfig.yaml; _helpers.tpl, normalizeDriverName: accounts and roles are named after the driver).
"""

import json
from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played.switches import Effect, On, Rules, Switch, put

_CONFIG = On("OperatorConfig")
_KINDS = ("rbd", "cephfs", "nfs", "nvmeof")


def _driver(kind: str) -> On:
    return On("Driver", f"*{kind}.csi.ceph.com")


def _only_if(kind: str) -> Effect:
    """Without its value a driver has neither rights nor accounts."""
    mark = f"{kind}-csi-ceph-com"

    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        return objects if value else [each for each in objects if not _of(each, kind, mark)]

    return effect


def _of(obj: Object, kind: str, mark: str) -> bool:
    return _driver(kind).takes(obj) or mark in obj["metadata"]["name"]


def _named(kind: str) -> Effect:
    """The driver's name, and of what is named after it."""
    before = f"{kind}.csi.ceph.com"

    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        if not value or value == before:
            return objects
        # A name that the other's is part of, in JSON's quotes or at the start of one.
        words = {f'"{before}"': f'"{value}"', f'"{_plain(before)}-': f'"{_plain(value)}-'}
        made = []
        for each in objects:
            text = json.dumps(each)
            for old, new in words.items():
                text = text.replace(old, new)
            made.append(json.loads(text))
        return made

    return effect


def _plain(name: str) -> str:
    return name.replace(".", "-")


def _for(kind: str) -> tuple[Switch, ...]:
    driver = _driver(kind)
    return (
        Switch(f"drivers.{kind}.enabled", _only_if(kind)),
        Switch(f"drivers.{kind}.name", _named(kind)),
        Switch(f"drivers.{kind}.nodePlugin.tolerations", put(driver, "spec", "nodePlugin", "tolerations")),
        Switch(f"drivers.{kind}.nodePlugin.priorityClassName", put(driver, "spec", "nodePlugin", "priorityClassName")),
        Switch(f"drivers.{kind}.snapshotPolicy", put(driver, "spec", "snapshotPolicy")),
        Switch(f"drivers.{kind}.controllerPlugin.replicas", put(driver, "spec", "controllerPlugin", "replicas")),
    )


RULES = Rules(
    (
        Switch("operatorConfig.namespace", put(_CONFIG, "metadata", "namespace")),
        Switch(
            "operatorConfig.driverSpecDefaults.imageSet.name",
            put(_CONFIG, "spec", "driverSpecDefaults", "imageSet", "name"),
        ),
        *(switch for kind in _KINDS for switch in _for(kind)),
    )
)
