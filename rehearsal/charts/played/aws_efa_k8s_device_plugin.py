"""Switches of aws-efa-k8s-device-plugin: its own toleration stays, `tolerations` come after it.

Source: aws/eks-charts, stable/aws-efa-k8s-device-plugin/templates/daemonset.yaml.
"""

from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played.switches import On, Rules, Switch, extend, named, pulled, put

_PLUGIN = On("DaemonSet")


def _types(objects: list[Object], value: Any, _: Order) -> list[Object]:
    for pod in _PLUGIN.pod.places(objects):
        terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        terms[0]["matchExpressions"][0]["values"] = value
    return objects


RULES = Rules(
    (
        Switch("tolerations", extend(_PLUGIN.pod, "tolerations")),
        *named("", _PLUGIN.pod, "nodeSelector imagePullSecrets"),
        *pulled("", _PLUGIN.container),
        *named("", _PLUGIN.container, "resources securityContext"),
        Switch("updateStrategy", put(_PLUGIN, "spec", "updateStrategy")),
        Switch("supportedInstanceLabels.values", _types),
    )
)
