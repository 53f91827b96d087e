"""Rules about names that only somebody else reads: roles in bindings, keys of Secrets, objects in a chart's values."""

from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import namespace_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.kubernetes import BUILT_IN_CLASSES, THERE, classes_of_volumes, made_secrets
from policy.owners import IN_CHARTS, chart_of, value_at
from policy.pods import Pod, objects, pods
from policy.rule import Finding, rule
from policy.selectors import makes_unseen, object_named

BUILT_IN_ROLES = ("cluster-admin", "admin", "edit", "view")
IN_VALUES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "gpu-operator": (
        ("dcgmExporter.config.name", "ConfigMap"),
        ("devicePlugin.config.name", "ConfigMap"),
        ("migManager.config.name", "ConfigMap"),
        ("driver.licensingConfig.secretName", "Secret"),
    ),
    "kube-prometheus-stack": (
        ("alertmanager.alertmanagerSpec.configSecret", "Secret"),
        ("alertmanager.alertmanagerSpec.secrets", "Secret"),
        ("alertmanager.alertmanagerSpec.configMaps", "ConfigMap"),
        ("prometheus.prometheusSpec.secrets", "Secret"),
        ("prometheus.prometheusSpec.configMaps", "ConfigMap"),
        ("grafana.admin.existingSecret", "Secret"),
    ),
    "fluent-bit": (("existingConfigMap", "ConfigMap"),),
}
"""By chart: values that name an object of the release's namespace, or a list of them."""

IN_ALL_VALUES = {"storageClassName": "StorageClass", "priorityClassName": "PriorityClass"}
"""Values of this name are, in every chart, the name of an object without a namespace."""

OF_CHARTS = {"gpu-operator": ("default-mig-parted-config", "custom-mig-parted-config", "default-gpu-clients")}
"""Objects that the chart itself makes."""


def _of_a_release(graph: Graph, name: str) -> bool:
    """Whether a chart may make an object of this name: most begin theirs with the release's."""
    releases = [str(each.inputs.get("name") or chart_of(each)) for each in graph.of_type(*IN_CHARTS)]
    return any(name.startswith(each) for each in releases if each)


def _makes_unseen(graph: Graph, namespace: str) -> bool:
    """Whether something else may make objects in a namespace; so may a release whose namespace nobody can tell yet."""
    unknown = any(each.inputs.get("namespace") == UNKNOWN for each in graph.of_type(*IN_CHARTS))
    return unknown or makes_unseen(graph, namespace)


@rule(
    source="Kubernetes: https://kubernetes.io/docs/reference/access-authn-authz/rbac/: a binding may name what does "
    "not exist, and then gives nobody anything",
    remedy="name the role, and the service account with its namespace, as they are registered",
)
def bindings_give_rights(graph: Graph) -> Iterator[Finding]:
    """A binding's role exists, and so do the service accounts that it is for."""
    made = {kind: objects(graph, kind) for kind in ("Role", "ClusterRole", "ServiceAccount", "Namespace")}
    for each in graph.of_type("RoleBinding", "ClusterRoleBinding"):
        role = each.inputs.get("roleRef") or {}
        kind, name = str(role.get("kind")), str(role.get("name"))
        place = namespace_of(each) if kind == "Role" else ""
        brought = name in BUILT_IN_ROLES or name.startswith("system:") or _of_a_release(graph, name)
        brought = brought or bool(place and _makes_unseen(graph, place))
        lost = not {(place, name), (UNKNOWN, name), (place, UNKNOWN)} & made[kind]
        if made[kind] and lost and not brought:
            yield each.name, f"gives the {kind} {name}, which nothing creates"
        for one in each.inputs.get("subjects") or []:
            there = str(one.get("namespace") or namespace_of(each))
            account = str(one.get("name"))
            known = ("", there) in made["Namespace"] and not _makes_unseen(graph, there)
            lost = not {(there, account), (UNKNOWN, account), (there, UNKNOWN)} & made["ServiceAccount"]
            if one.get("kind") == "ServiceAccount" and known and lost:
                yield each.name, f"is for the service account {account} in {there}, which nothing creates"


def _keys_asked(pod: Pod) -> Iterator[tuple[str, str, str]]:
    """(kind, name, key) of each single key that a pod cannot start without."""
    for container in pod.containers:
        for each in container.get("env") or []:
            for source, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
                one = (each.get("valueFrom") or {}).get(source)
                if one and not one.get("optional"):
                    yield kind, str(one.get("name")), str(one.get("key"))
    mounts = [mount for each in pod.containers for mount in each.get("volumeMounts") or []]
    for volume in pod.spec.get("volumes") or []:
        for source, kind, name in (("secret", "Secret", "secretName"), ("configMap", "ConfigMap", "name")):
            one = volume.get(source) or {}
            for item in one.get("items") or [] if not one.get("optional") else ():
                yield kind, str(one.get(name)), str(item.get("key"))
            for mount in mounts if one and not one.get("items") and not one.get("optional") else ():
                if mount.get("name") == volume.get("name") and mount.get("subPath"):
                    yield kind, str(one.get(name)), str(mount["subPath"]).partition("/")[0]


def _keys_of(each: Resource) -> set[str] | None:
    """The keys of a Secret or ConfigMap; None where nobody can tell, or where a controller writes them."""
    parts = [each.inputs.get(key) for key in ("data", "stringData", "binaryData")]
    if UNKNOWN in parts or not any(parts) or each.inputs.get("type") == "kubernetes.io/service-account-token":
        return None
    return {key for part in parts if isinstance(part, Mapping) for key in part}


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/configuration/secret/: a pod whose key is not in its "
    "Secret or ConfigMap stays in CreateContainerConfigError, or ContainerCreating",
    remedy="name a key that the Secret or ConfigMap has",
)
def keys_are_in_their_object(graph: Graph) -> Iterator[Finding]:
    """A key that a pod takes from a Secret or ConfigMap of the program is in it."""
    for pod in pods(graph):
        for kind, name, key in dict.fromkeys(_keys_asked(pod)):
            found = object_named(graph, kind, pod.namespace, name) if pod.namespace != UNKNOWN else None
            keys = _keys_of(found) if found else None
            if keys is not None and key not in keys:
                yield pod.owner, f"takes {key} from the {kind} {name}, which has {', '.join(sorted(keys))}"


def _deep(value: Any) -> Iterator[tuple[str, str]]:
    """(kind, name) wherever a chart's values name an object without a namespace."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key in IN_ALL_VALUES and isinstance(each, str) and each not in ("", "-"):
                yield IN_ALL_VALUES[key], each
            yield from _deep(each)
    elif isinstance(value, list):
        for each in value:
            yield from _deep(each)


@rule(
    source="values.yaml of gpu-operator v26.3, kube-prometheus-stack 88, fluent-bit 0.58: Helm does not look whether "
    "what a value names is there, and the pods that mount it never start",
    remedy="register what the value names, in the release's namespace, or correct the name",
)
def charts_name_what_is_there(graph: Graph) -> Iterator[Finding]:
    """What a chart's values name exists: ConfigMaps, Secrets, storage classes, priority classes."""
    made = {
        kind: objects(graph, kind) for kind in ("ConfigMap", "Secret", "StorageClass", "PriorityClass", "Namespace")
    }
    written = set(made_secrets(graph))
    classes = THERE["StorageClass"] | classes_of_volumes(graph)
    for release in graph.of_type(*IN_CHARTS):
        values, place = release.inputs.get("values"), str(release.inputs.get("namespace"))
        chart = chart_of(release)
        for path, kind in IN_VALUES.get(chart, ()) if ("", place) in made["Namespace"] else ():
            given = value_at(values, path)
            if (value_at(values, path.rpartition(".")[0]) or {}).get("create") is True:
                continue
            for name in given if isinstance(given, list) else [given]:
                brought = name in OF_CHARTS.get(chart, ()) or (kind == "Secret" and (place, name) in written)
                if isinstance(name, str) and name and (place, name) not in made[kind] and not brought:
                    yield release.name, f"names the {kind} {name} in namespace {place} ({path}), which nothing creates"
        for kind, name in dict.fromkeys(_deep(values)):
            known = made[kind] and ("", name) not in made[kind] | (classes if kind == "StorageClass" else set())
            if known and name not in BUILT_IN_CLASSES and not _of_a_release(graph, name):
                yield release.name, f"names the {kind} {name}, which nothing creates"
