"""A chart that is played: its data file, the switches of its values, and what is said about both."""

import copy
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played import definitions, files, names, switches
from rehearsal.charts.played import values as values_of
from rehearsal.charts.played.inventory import CRD, HOOK
from rehearsal.charts.played.switches import Rules
from rehearsal.charts.values import given

# Source: helm 3.22, pkg/releaseutil/kind_sorter.go (InstallOrder); other kinds come after these, by name.
INSTALL_ORDER = (
    "PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy",
    "PodDisruptionBudget", "ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass", "PersistentVolume",
    "PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList", "ClusterRoleBinding",
    "ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList", "Service", "DaemonSet", "Pod",
    "ReplicationController", "ReplicaSet", "Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob",
    "IngressClass", "Ingress", "APIService",
)  # fmt: skip
_OVERRIDES = ("nameOverride", "fullnameOverride")


class PlayedChart:
    """A chart as its data file has it. `version` is the one asked for, which the inventory's may differ from.

    `unchecked` also names the values without effect among those that `render` or `unknown_values` has met.
    """

    def __init__(self, name: str, version: str, data: Mapping[str, Any], rules: Rules) -> None:
        self.name, self.version = name, version
        self.app_version = str(data["appVersion"])
        self.source = f"the inventory of {name} {data['version']}"
        self._data, self._rules = data, rules
        self._without_effect: dict[str, None] = {}

    def render(self, order: Order) -> list[Object]:
        """The objects of a release in the order helm installs them, then the hooks. Raises ChartError."""
        self._meet(order.values)
        given_ones = [each for part in self._parts(order.values) for each in part["objects"]]
        made = switches.apply(self._rules, copy.deepcopy([*self._data["objects"], *given_ones]), order)
        made = names.filled(made, order.release, order.namespace, order.values, self.name)
        return [definitions.whole(each) if each["kind"] == CRD else each for each in sorted(made, key=_place)]

    def crds(self, values: Mapping[str, Any] | None = None) -> list[Object]:
        """The definitions in crds/ of the chart and of the sub-charts that the values leave on."""
        switch = self._rules.definitions
        if switch and given(values or {}, switch) == (True, False):
            return []
        more = [each for part in self._parts(values or {}) for each in part["crds"]]
        return [definitions.whole(each) for each in [*self._data["crds"], *more]]

    def _parts(self, values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """The data of sub-charts that the values turn on."""
        for path, name in self._rules.parts:
            if given(values, path) == (True, True):
                yield files.load(name)

    def unknown_values(self, values: Mapping[str, Any]) -> list[str]:
        """One sentence per value that the charts' values.yaml do not have; none if they are not at hand."""
        self._meet(values)
        sub_charts = [part for part in self._data["parts"] if part != self.name]
        return values_of.unknown(self._data["inventory"], self.name, self.version, values, sub_charts)

    def unchecked(self) -> list[str]:
        """What is not checked here, one sentence each."""
        return list(self._unchecked())

    def _unchecked(self) -> Iterator[str]:
        title, told = f"{self.name} {self.version}", str(self._data["version"])
        if told.lstrip("v") != self.version.lstrip("v"):
            yield f"{title}: played from the inventory of {told}"
        for each in [*self._data["crds"], *self._data["objects"]]:
            if each["kind"] == CRD and not definitions.has_schema(each):
                kind = each["spec"]["names"]["kind"]
                yield f"{self.name}: schema check off for {kind} (no CRD of this version in GPUCLUSTER_UPSTREAM)"
        for each in self._data["leftOut"]:
            yield f"{title}: {each} is not made (its inventory holds the name only)"
        yield from values_of.unchecked(self._data["inventory"], self.name, self.version)
        for path in self._without_effect:
            yield f"{title}: the value {path} has no effect in the played chart"

    def _meet(self, values: Mapping[str, Any]) -> None:
        parts = ["" if part == self.name else f"{part}." for part in self._data["parts"]]
        known = (
            {switch.path for switch in self._rules.switches}
            | {self._rules.definitions or ""}
            | {path for path, _ in self._rules.parts}
            | {part + name for part in parts for name in _OVERRIDES}
        )
        self._without_effect.update(dict.fromkeys(_without_effect(values, known, "")))


def _without_effect(values: Mapping[str, Any], known: Collection[str], above: str) -> Iterator[str]:
    """The paths of values that no switch reads."""
    for key, value in values.items():
        path = above + key
        if path in known:
            continue
        if isinstance(value, Mapping) and value:
            yield from _without_effect(value, known, f"{path}.")
        else:
            yield path


def _place(obj: Object) -> tuple[bool, int, str]:
    kind = obj["kind"]
    is_hook = HOOK in (obj["metadata"].get("annotations") or {})
    known = kind in INSTALL_ORDER
    return is_hook, INSTALL_ORDER.index(kind) if known else len(INSTALL_ORDER), "" if known else kind
