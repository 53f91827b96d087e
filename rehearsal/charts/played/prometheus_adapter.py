"""Switches of prometheus-adapter: its ConfigMap is what the values' rules say, for a real adapter reads it.

Source: prometheus-community/helm-charts, charts/prometheus-adapter/templates (configmap, deployment, pdb, service).
"""

import hashlib
from typing import Any

import yaml

from rehearsal.charts.chart import ChartError, Object, Order
from rehearsal.charts.played.switches import On, Rules, Switch, budget, flag, named, pulled, put, scheduling

_ADAPTER = On("Deployment")
_CONFIG = On("ConfigMap")
_FILE = "config.yaml"
_CHECKSUM = "checksum/config"
_API = On("APIService")
_SERVED = "apiregistration.k8s.io/v1"
_URL = ("http://prometheus.default.svc", 9090, "")


def _always(objects: list[Object], order: Order) -> None:
    """What the inventory does not say: the API's version, which is that of the cluster, and whose files pods mount."""
    for service in _API.places(objects if _SERVED in order.api_versions else []):
        service["apiVersion"] = _SERVED
    (config,) = (each["metadata"]["name"] for each in _CONFIG.places(objects))
    for pod in _ADAPTER.pod.places(objects):
        for volume in pod["volumes"]:
            if volume["name"] == "config":
                volume["configMap"] = {"name": config}


def _rules(objects: list[Object], value: Any, _: Order) -> list[Object]:
    """The custom rules become the adapter's file, and the pods' annotation, so that a change of them restarts the pods.

    Raises ChartError for what the inventory does not hold: the default rules, and objects of external ones.
    """
    given = value or {}
    if given.get("default", True):
        raise ChartError("values", "prometheus-adapter: its default rules are not known here: set rules.default: false")
    for name in ("existing", "external", "resource"):
        if given.get(name):
            raise ChartError("values", f"prometheus-adapter: rules.{name} is not played here, rules.custom is")
    custom = given.get("custom") or []
    if not custom:
        # Without rules the chart claims no API.
        return [each for each in _with(objects, "") if not _API.takes(each)]
    return _with(objects, yaml.safe_dump({"rules": custom}, sort_keys=False))


def _with(objects: list[Object], text: str) -> list[Object]:
    for config in _CONFIG.places(objects):
        config["data"][_FILE] = text
    for deployment in _ADAPTER.places(objects):
        annotations = deployment["spec"]["template"]["metadata"].setdefault("annotations", {})
        annotations[_CHECKSUM] = hashlib.sha256(text.encode()).hexdigest()
    return objects


def _prometheus(objects: list[Object], value: Any, order: Order) -> list[Object]:
    url, port, path = (
        (value or {}).get(name, default) for name, default in zip(("url", "port", "path"), _URL, strict=True)
    )
    return flag(_ADAPTER.container, "--prometheus-url")(objects, f"{url}{f':{port}' if port else ''}{path}", order)


RULES = Rules(
    (
        Switch("rules", _rules),
        Switch("prometheus", _prometheus),
        Switch("metricsRelistInterval", flag(_ADAPTER.container, "--metrics-relist-interval")),
        Switch("logLevel", flag(_ADAPTER.container, "--v")),
        Switch("replicas", put(_ADAPTER, "spec", "replicas")),
        *pulled("", _ADAPTER.container),
        *named("", _ADAPTER.pod, "priorityClassName topologySpreadConstraints"),
        Switch("podDisruptionBudget", budget(_ADAPTER)),
        *scheduling("", _ADAPTER),
    ),
    _always,
)
