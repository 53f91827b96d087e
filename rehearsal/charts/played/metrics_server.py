"""Switches of metrics-server. Source: kubernetes-sigs/metrics-server, charts/metrics-server/templates."""

from dataclasses import replace
from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played.switches import On, Rules, Switch, budget, extend, named, only_if, pulled, put, scheduling

_SERVER = On("Deployment")
_SERVICE = On("APIService")
_OF_CHART = 1
"""Arguments that the chart gives before `defaultArgs`: the port."""


def _default_arguments(objects: list[Object], value: Any, _: Order) -> list[Object]:
    for container in _SERVER.container.places(objects):
        container["args"] = [*container["args"][:_OF_CHART], *(value or [])]
    return objects


RULES = Rules(
    (
        Switch("replicas", put(_SERVER, "spec", "replicas")),
        Switch("updateStrategy", put(_SERVER, "spec", "strategy")),
        Switch("defaultArgs", _default_arguments),
        Switch("args", extend(_SERVER.container, "args")),
        *pulled("", _SERVER.container),
        Switch("image.pullPolicy", put(_SERVER.container, "imagePullPolicy")),
        *named("", _SERVER.container, "securityContext"),
        *named("", _SERVER.pod, "priorityClassName topologySpreadConstraints"),
        Switch("hostNetwork.enabled", put(_SERVER.pod, "hostNetwork")),
        Switch("podDisruptionBudget", budget(_SERVER)),
        Switch("apiService.create", only_if(_SERVICE)),
        *named("apiService", replace(_SERVICE, at=("spec",)), "insecureSkipTLSVerify caBundle"),
        *scheduling("", _SERVER),
    )
)
