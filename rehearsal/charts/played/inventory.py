"""From an inventory's facts about an object to the object. What the inventory does not hold is left out or guessed.

Guessed are: the sources of environment variables that are called as everybody calls them, the ConfigMap or Secret of a
volume (the one of the chart whose name has most words of the volume's), and a host path (that of its mount).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rehearsal.charts.chart import Object

Entry = Mapping[str, Any]
HOOK = "helm.sh/hook"
CRD = "CustomResourceDefinition"
_META = ("apiVersion", "kind", "name", "namespace", "hook")
_NOTHING_ELSE = ("ServiceAccount", "Namespace")
_FIELDS = {
    "metadata.name": ("POD_NAME", "HOSTNAME"),
    "metadata.namespace": ("POD_NAMESPACE", "OPERATOR_NAMESPACE", "KUBE_POD_NAMESPACE", "K8S_NAMESPACE"),
    "metadata.uid": ("POD_UID",),
    "spec.nodeName": ("NODE_NAME", "K8S_NODE_NAME", "KUBE_NODE_NAME"),
    "status.hostIP": ("HOST_IP", "NODE_IP"),
    "status.podIP": ("POD_IP",),
}
_FIELD_OF = {name: field for field, names in _FIELDS.items() for name in names}
# Named in full, as any chart that hands them to its pods means the same.
_KNOWN = {"HELM_RELEASE_NAME": "<<release>>"}


def is_only_a_name(entry: Entry) -> bool:
    """Whether the inventory holds no content of an object that has one."""
    return not set(entry) - set(_META) and entry["kind"] not in _NOTHING_ELSE


def rebuilt(entry: Entry, inventory: Sequence[Entry]) -> Object:
    """The object of an entry, among those of its chart."""
    meta = {key: entry[key] for key in ("name", "namespace") if key in entry}
    if entry.get("hook"):
        meta["annotations"] = dict(entry["hook"])
    made: Object = {"apiVersion": entry["apiVersion"], "kind": entry["kind"], "metadata": meta}
    content = {key: value for key, value in entry.items() if key not in _META and value is not None}
    special = _SPECIAL.get(entry["kind"])
    if "pod" in content:
        made["spec"] = _workload(entry, content, inventory)
    elif special:
        made.update(special(content))
    else:
        made.update(content.pop("object", {}), **content)
    return made


def _workload(entry: Entry, content: Entry, inventory: Sequence[Entry]) -> Object:
    labels = (content.get("selector") or {}).get("matchLabels") or {}
    # Services may select by more labels than their workload does.
    selectors = [each["serviceSelector"] for each in inventory if each.get("serviceSelector")]
    for more in selectors:
        if labels and labels.items() <= more.items():
            labels = {**labels, **more}
    template: Object = {"spec": _pod(entry, content["pod"], inventory)}
    if labels:
        template["metadata"] = {"labels": labels}
    spec = {key: content[key] for key in ("replicas", "selector") if key in content}
    if "strategy" in content:
        spec["updateStrategy" if entry["kind"] == "DaemonSet" else "strategy"] = content["strategy"]
    return {**spec, "template": template}


def _pod(entry: Entry, facts: Entry, inventory: Sequence[Entry]) -> Object:
    pod = {key: value for key, value in facts.items() if value is not None}
    mounts: dict[str, str] = {}
    for kind in ("initContainers", "containers"):
        if kind in pod:
            pod[kind] = [_container(each, mounts) for each in pod[kind]]
    pod["volumes"] = [
        {"name": name, **_volume(name, source, mounts.get(name, "/"), inventory)}
        for each in pod.get("volumes") or []
        for name, source in each.items()
    ]
    accounts = [each["name"] for each in inventory if each["kind"] == "ServiceAccount"]
    # Inventories do not hold `serviceAccount`, the older name of the field: Volcano's accounts are called as the pods.
    if "serviceAccountName" not in pod and entry["name"] in accounts:
        pod["serviceAccountName"] = entry["name"]
    return pod


def _container(facts: Entry, mounts: dict[str, str]) -> Object:
    made = {key: value for key, value in facts.items() if key not in ("env", "mounts") and value is not None}
    if facts.get("env"):
        made["env"] = [_variable(name) for name in facts["env"]]
    if found := facts.get("mounts"):
        made["volumeMounts"] = [{"name": name, "mountPath": path} for name, path in found.items()]
        mounts.update(found)
    return made


def _variable(name: str) -> Object:
    if field := _FIELD_OF.get(name):
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}
    return {"name": name, "value": _KNOWN[name]} if name in _KNOWN else {"name": name}


def _volume(name: str, source: str, path: str, inventory: Sequence[Entry]) -> Object:
    if source == "hostPath":
        return {source: {"path": path}}
    if source in ("configMap", "secret"):
        found = _called_like(name, source, inventory)
        named = {"name" if source == "configMap" else "secretName": found or name}
        return {source: named if found else {**named, "optional": True}}
    if source == "persistentVolumeClaim":
        return {source: {"claimName": _called_like(name, source, inventory) or name}}
    return {source: {"sources": []} if source == "projected" else {}}


def _called_like(volume: str, source: str, inventory: Sequence[Entry]) -> str | None:
    words = set(volume.split("-"))
    names = [each["name"] for each in inventory if each["kind"].lower() == source.lower()]
    best = max(names, key=lambda name: len(words & set(name.split("-"))), default=None)
    return best if best and words & set(best.split("-")) else None


def _definition(content: Entry) -> Object:
    names = {"kind": content["definedKind"], "plural": content["plural"]}
    versions = [{"name": version} for version in content["versions"]]
    return {"spec": {"group": content["group"], "names": names, "scope": content["scope"], "versions": versions}}


def _service(content: Entry) -> Object:
    known = {"ports": "ports", "serviceSelector": "selector", "type": "type"}
    return {"spec": {name: content[key] for key, name in known.items() if key in content}}


def _monitor(endpoints: str) -> Callable[[Entry], Object]:
    return lambda content: {"spec": {"selector": content["monitorSelector"], endpoints: content["endpoints"]}}


def _rules(content: Entry) -> Object:
    """Alerts and records by name: what they compute is not in the inventory. Records have a colon in their names.

    Their expression has no result: an alert of any would fire without end.
    """
    rules = [{"record" if ":" in name else "alert": name, "expr": "vector(0) > 0"} for name in content["alerts"]]
    return {"spec": {"groups": [{"name": "names", "rules": rules}]}}


def _keys(content: Entry) -> Object:
    return {"data": dict.fromkeys(content["keys"], "")}


_SPECIAL: Mapping[str, Callable[[Entry], Object]] = {
    "ConfigMap": _keys,
    "Secret": _keys,
    CRD: _definition,
    "PodMonitor": _monitor("podMetricsEndpoints"),
    "PrometheusRule": _rules,
    "Service": _service,
    "ServiceMonitor": _monitor("endpoints"),
}
