"""Switches of fluent-bit: its configuration is a file of a ConfigMap, made of four values.

Source: fluent/helm-charts, charts/fluent-bit/templates and values.yaml at 0.58.1.
"""

from collections.abc import Iterator
from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played.switches import On, Rules, Switch, image, named, put, scheduling

FULL = "<<fullname fluent-bit>>"
_PODS = On("DaemonSet")
_FILES = On("ConfigMap", FULL)
_HOST = {
    "varlog": {"path": "/var/log"},
    "varlibdockercontainers": {"path": "/var/lib/docker/containers"},
    "etcmachineid": {"path": "/etc/machine-id", "type": "File"},
}
_MAIN = "fluent-bit.conf"


def _always(objects: list[Object], _: Order) -> None:
    for pod in _PODS.pod.places(objects):
        for volume in pod["volumes"]:
            if volume["name"] in _HOST:
                volume["hostPath"] = dict(_HOST[volume["name"]])
            else:
                volume["configMap"] = {"name": FULL}


def _section(objects: list[Object], value: Any, _: Order) -> list[Object]:
    """Sections in the order of the template, which is that of the switches; defaults are not in the inventory."""
    for each in _FILES.places(objects):
        each["data"][_MAIN] = "\n".join(filter(None, (each["data"][_MAIN], f"{str(value).rstrip()}\n")))
    return objects


def _account(objects: list[Object], value: Any, order: Order) -> list[Object]:
    for each in On("ServiceAccount").places(objects if value else []):
        each["metadata"]["name"] = value
    for binding in On("ClusterRoleBinding").places(objects if value else []):
        binding["subjects"] = [{**each, "name": value} for each in binding["subjects"]]
    return put(_PODS.pod, "serviceAccountName")(objects, value, order) if value else objects


def _monitor(objects: list[Object], value: Any, order: Order) -> list[Object]:
    """Only where the cluster knows the kind."""
    if not (value or {}).get("enabled") or "monitoring.coreos.com/v1" not in order.api_versions:
        return objects
    (service,) = On("Service").places(objects)
    labels = {"app.kubernetes.io/name": "fluent-bit", "app.kubernetes.io/instance": "<<release>>"}
    service["metadata"]["labels"] = labels
    endpoint = {"port": "http", "path": value.get("path") or "/api/v2/metrics/prometheus"}
    endpoint |= {name: value[name] for name in ("interval", "scrapeTimeout") if value.get(name)}
    monitor = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": dict(service["metadata"]),
        "spec": {
            "jobLabel": "app.kubernetes.io/instance",
            "endpoints": [endpoint],
            "namespaceSelector": {"matchNames": ["<<namespace>>"]},
            "selector": {"matchLabels": labels},
        },
    }
    return [*objects, monitor]


def _switches() -> Iterator[Switch]:
    for name in ("service", "inputs", "filters", "outputs"):
        yield Switch(f"config.{name}", _section)
    yield Switch("serviceAccount.name", _account)
    yield Switch("serviceMonitor", _monitor)
    yield from named("", _PODS.pod, "priorityClassName hostNetwork dnsPolicy")
    yield from named("", _PODS.container, "env")
    for part in ("repository", "tag"):
        yield Switch(f"image.{part}", image(_PODS.container, part))
    yield from scheduling("", _PODS)


RULES = Rules(tuple(_switches()), _always)
