"""Switches of aws-efa-k8s-device-plugin: its own toleration stays, `tolerations` come after it.

Source: aws/eks-charts, stable/aws-efa-k8s-device-plugin/templates/daemonset.yaml.
"""

from __future__ import annotations

from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played.switches import On, Rules, Switch, extend, image, put

_PLUGIN = On("DaemonSet")


def _types(objects: list[Object], value: Any, _: Order) -> list[Object]:
    for pod in _PLUGIN.pod.places(objects):
        terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        terms[0]["matchExpressions"][0]["values"] = value
    return objects


RULES = Rules(
    (
        Switch("tolerations", extend(_PLUGIN.pod, "tolerations")),
        Switch("nodeSelector", put(_PLUGIN.pod, "nodeSelector")),
        Switch("imagePullSecrets", put(_PLUGIN.pod, "imagePullSecrets")),
        Switch("image.repository", image(_PLUGIN.container, "repository")),
        Switch("image.tag", image(_PLUGIN.container, "tag")),
        Switch("resources", put(_PLUGIN.container, "resources")),
        Switch("securityContext", put(_PLUGIN.container, "securityContext")),
        Switch("updateStrategy", put(_PLUGIN, "spec", "updateStrategy")),
        Switch("supportedInstanceLabels.values", _types),
    )
)
