"""Switches of network-operator: its sub-charts, and the operator's pod. The rest is the NicClusterPolicy's, which the
operator reads. Source: Mellanox/network-operator v26.4.1, deployment/network-operator/templates.
"""

from __future__ import annotations

from rehearsal.charts.played import nfd
from rehearsal.charts.played.switches import On, Rules, Switch, both, image, only_if, put, scheduling

_OPERATOR = On("Deployment", "<<fullname network-operator>>")
_NFD = On(
    "ServiceAccount ConfigMap ClusterRole ClusterRoleBinding Role RoleBinding DaemonSet Deployment Job",
    f"*{nfd.NAME}*",
)

_HOOKS = (On("Job", "*keep-ncp"), On("Job", "*upgrade-crd"))

RULES = Rules(
    (
        Switch("operator.repository", both(*(image(on.container, "parent") for on in (_OPERATOR, *_HOOKS)))),
        Switch("nfd.enabled", only_if(_NFD)),
        Switch("nfd.deployNodeFeatureRules", only_if(On("NodeFeatureRule"))),
        Switch("operator.priorityClassName", put(_OPERATOR.pod, "priorityClassName")),
        *scheduling("operator", _OPERATOR),
    )
)
