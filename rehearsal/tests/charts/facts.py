"""What must agree between an object of a played chart and its entry in the inventory of the real one."""

from collections.abc import Iterable, Mapping
from typing import Any

from rehearsal.charts import played
from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played import PlayedChart, files

Facts = dict[tuple[str, str, str, str], dict[str, Any]]
_WHOLE = ("rules", "roleRef", "subjects", "webhooks", "aggregationRule", "replicas", "selector")
_POD = (
    "tolerations", "nodeSelector", "affinity", "priorityClassName", "hostNetwork", "hostPID", "hostIPC",
    "securityContext", "restartPolicy", "automountServiceAccountToken",
)  # fmt: skip
_CONTAINER = (
    "name", "image", "command", "args", "ports", "resources", "securityContext",
    "livenessProbe", "readinessProbe", "startupProbe",
)  # fmt: skip


def order(release: str = "x", namespace: str = "ns", values: Mapping[str, Any] | None = None) -> Order:
    """An order of a release; with the names of the inventories by default."""
    return Order(release, namespace, values or {}, "1.36.3", frozenset())


def find(name: str) -> PlayedChart:
    """A chart of which there is data, at the version of its inventory."""
    found = played.find(name, files.load(name)["version"])
    assert found is not None
    return found


def told(entries: Iterable[Mapping[str, Any]]) -> Facts:
    """The facts that an inventory tells."""
    return dict(_told(each) for each in entries)


def made(objects: Iterable[Object]) -> Facts:
    """The same of rendered objects."""
    return dict(_made(each) for each in objects)


def _told(entry: Mapping[str, Any]) -> tuple[tuple[str, str, str, str], dict[str, Any]]:
    facts = _given(entry, _WHOLE)
    facts |= {"hook": entry.get("hook") or {}}
    if entry["kind"] == "CustomResourceDefinition":
        facts |= {"versions": sorted(entry["versions"]), "scope": entry["scope"], "group": entry["group"]}
    elif "spec" in entry:
        facts |= {"spec": entry["spec"]}
    if "pod" in entry:
        facts |= {"pod": _given(entry["pod"], _POD)}
        if "serviceAccountName" in entry["pod"]:
            facts |= {"account": entry["pod"]["serviceAccountName"]}
        facts |= {"containers": [_told_container(each) for each in entry["pod"]["containers"]]}
        facts |= {"volumes": {name: kind for each in entry["pod"]["volumes"] for name, kind in each.items()}}
    if entry["kind"] == "Service":
        facts |= {"ports": entry["ports"], "selector": entry["serviceSelector"]}
    return _identity(entry, entry), facts


def _told_container(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {**_given(facts, _CONTAINER), "env": facts["env"], "mounts": facts["mounts"]}


def _made(obj: Object) -> tuple[tuple[str, str, str, str], dict[str, Any]]:
    spec = obj.get("spec") or {}
    facts = _given(obj, _WHOLE) | _given(spec, ("replicas", "selector"))
    annotations = obj["metadata"].get("annotations") or {}
    facts |= {"hook": {key: value for key, value in annotations.items() if key.startswith("helm.sh/")}}
    if obj["kind"] == "CustomResourceDefinition":
        versions = sorted(each["name"] for each in spec["versions"])
        facts |= {"versions": versions, "scope": spec["scope"], "group": spec["group"]}
    elif "template" in spec and obj["kind"] in ("DaemonSet", "Deployment", "Job"):
        pod = spec["template"]["spec"]
        facts |= {"pod": _given(pod, _POD), "account": pod.get("serviceAccountName")}
        facts |= {"containers": [_made_container(each) for each in pod["containers"]]}
        facts |= {"volumes": {each["name"]: next(key for key in each if key != "name") for each in pod["volumes"]}}
    elif obj["kind"] == "Service":
        facts |= {"ports": spec["ports"]}
    elif "spec" in obj and obj["kind"] not in ("PrometheusRule", "ServiceMonitor"):
        facts |= {"spec": spec}
    return _identity(obj, obj["metadata"]), facts


def _made_container(container: Object) -> dict[str, Any]:
    env = [each["name"] for each in container.get("env") or []]
    mounts = {each["name"]: each["mountPath"] for each in container.get("volumeMounts") or []}
    return {**_given(container, _CONTAINER), "env": env, "mounts": mounts}


def _identity(obj: Mapping[str, Any], meta: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return obj["apiVersion"], obj["kind"], meta.get("namespace") or "", meta["name"]


def _given(obj: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    return {key: obj[key] for key in fields if obj.get(key) is not None}
