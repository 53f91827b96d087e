"""Where kube-prometheus-stack takes its images from: registry, repository and tag are values of their own.

Source: prometheus-community/helm-charts, charts/kube-prometheus-stack/templates at 88.5.3 (prometheus.yaml,
alertmanager.yaml, prometheus-operator/deployment.yaml), and _helpers.tpl of its sub-charts.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played.switches import Effect, On, Switch, both, image

PARTS = {"registry": "registry", "repository": "path", "tag": "tag"}
"""Values, and what each is of an image's name."""


def switches(operator: On, prometheus: On, alertmanager: On, state_metrics: On, node_exporter: On) -> Iterator[Switch]:
    """The switches of images, for the objects that the caller gives and for Grafana."""
    pod = On("Deployment", "*grafana*").pod
    *loaders, grafana = (replace(pod, at=(*pod.at, "containers", index)) for index in range(3))
    for value, part in PARTS.items():
        yield Switch(f"prometheus.prometheusSpec.image.{value}", image(_spec(prometheus), part))
        yield Switch(f"alertmanager.alertmanagerSpec.image.{value}", image(_spec(alertmanager), part))
        yield Switch(f"prometheusOperator.image.{value}", image(operator.container, part))
        reloader = _word(operator, "--prometheus-config-reloader", part)
        yield Switch(f"prometheusOperator.prometheusConfigReloader.image.{value}", reloader)
        yield Switch(f"prometheusOperator.thanosImage.{value}", _word(operator, "--thanos-default-base-image", part))
        yield Switch(f"kube-state-metrics.image.{value}", image(state_metrics.container, part))
        yield Switch(f"prometheus-node-exporter.image.{value}", image(node_exporter.container, part))
        yield Switch(f"grafana.image.{value}", image(grafana, part))
        yield Switch(f"grafana.sidecar.image.{value}", both(*(image(each, part) for each in loaders)))


def _spec(on: On) -> On:
    return On(on.kinds, on.name, ("spec",))


def _word(operator: On, flag: str, part: str) -> Effect:
    """The image that a flag of the operator names."""

    def effect(objects: list[Object], value: Any, order: Order) -> list[Object]:
        for container in operator.container.places(objects):
            for index, each in enumerate(container["args"]):
                name, _, named = each.partition("=")
                if name == flag:
                    held = {"kind": flag, "metadata": {"name": flag}, "image": named}
                    image(On(flag), part)([held], value, order)
                    container["args"][index] = f"{name}={held['image']}"
        return objects

    return effect
