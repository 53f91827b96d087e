"""Rules about Kubernetes objects: what they name exists, pods can be placed, releases and images stay what they are."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import metadata_of, namespace_of, quantity, spec_of
from policy.graph import Graph, Resource
from policy.pods import NO_PODS, Pod, is_kubernetes, objects, pods
from policy.rule import Finding, rule
from policy.serving import scaled_by, scalers

VOLUME = "kubernetes:core/v1:PersistentVolume"
CLUSTER = "aws:eks/cluster:Cluster"
EXACT_VERSION = re.compile(r"v?\d+\.\d+\.\d+([-+][0-9A-Za-z.\-]+)?")
BUILT_IN_CLASSES = ("system-cluster-critical", "system-node-critical")
BUILT_IN_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
PUBLISHED = {("ConfigMap", "kube-root-ca.crt")}
"""What Kubernetes itself puts into every namespace (its controller root-ca-certificate-publisher)."""

THERE = {"Queue": {("", "default"), ("", "root")}, "StorageClass": {("", "gp2")}}
"""What others make: Volcano its first queues, EKS a class of its own."""

IN_VOLUMES = (
    ("persistentVolumeClaim", "PersistentVolumeClaim", "claimName"),
    ("secret", "Secret", "secretName"),
    ("configMap", "ConfigMap", "name"),
)
IN_ENVIRONMENT = {
    "secretKeyRef": "Secret",
    "configMapKeyRef": "ConfigMap",
    "secretRef": "Secret",
    "configMapRef": "ConfigMap",
}
OF_GANGS = {"queue": "Queue", "priorityClass": "PriorityClass", "priorityClassName": "PriorityClass"}


def _in_volume(volume: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(kind, name) of what a volume, or a part of a projected one, is made of."""
    for key, kind, name in IN_VOLUMES:
        source = volume.get(key)
        if source and not source.get("optional"):
            yield kind, source.get(name) or ""
    for source in (volume.get("projected") or {}).get("sources") or []:
        for key, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
            if key in source and not source[key].get("optional"):
                yield kind, source[key].get("name") or ""


def _in_container(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(kind, name) of what a container's environment is taken from."""
    variables = [each.get("valueFrom") or {} for each in container.get("env") or []]
    for source in (*variables, *(container.get("envFrom") or [])):
        for key, kind in IN_ENVIRONMENT.items():
            if key in source and not source[key].get("optional"):
                yield kind, source[key].get("name") or ""


def _named_by(pod: Pod) -> Iterator[tuple[str, str, str]]:
    """(kind, namespace, name) of what a pod cannot start without."""
    found = [each for volume in pod.spec.get("volumes") or [] for each in _in_volume(volume)]
    found += [each for container in pod.containers for each in _in_container(container)]
    found += [("Secret", each["name"]) for each in pod.spec.get("imagePullSecrets") or []]
    yield from ((kind, pod.namespace, name) for kind, name in found)
    account = pod.spec.get("serviceAccountName") or "default"
    if account != "default":
        yield "ServiceAccount", pod.namespace, account
    priority = pod.spec.get("priorityClassName")
    if priority and priority not in BUILT_IN_CLASSES:
        yield "PriorityClass", "", priority


def _named_in(value: Any, keys: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(kind, name) wherever one of `keys` has a value, however deep."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key in keys and isinstance(each, str) and each:
                yield keys[key], each
            yield from _named_in(each, keys)
    elif isinstance(value, list):
        for each in value:
            yield from _named_in(each, keys)


def _named_by_object(each: Resource) -> Iterator[tuple[str, str, str]]:
    """(kind, namespace, name) of what an object names outside of its pods."""
    spec = each.inputs.get("spec") or {}
    gangs = [(spec.get("runPolicy") or {}).get("schedulingPolicy") or {}]
    if each.token.startswith("kubernetes:batch.volcano.sh/"):
        gangs.append({key: spec[key] for key in ("queue", "priorityClassName") if key in spec})
    if each.kind == "StatefulSet" and spec.get("serviceName"):
        yield "Service", namespace_of(each), spec["serviceName"]
    if store := spec.get("secretStoreRef") if each.kind == "ExternalSecret" else None:
        kind = str(store.get("kind", "SecretStore"))
        yield kind, "" if kind == "ClusterSecretStore" else namespace_of(each), str(store.get("name"))
    for endpoint in [*(spec.get("endpoints") or []), *(spec.get("podMetricsEndpoints") or [])]:
        words = (endpoint.get("authorization") or {}).get("credentials") if "Monitor" in each.kind else None
        if words and words.get("name"):
            yield "Secret", namespace_of(each), str(words["name"])
    if each.kind == "Issuer" and (spec.get("ca") or {}).get("secretName"):
        yield "Secret", namespace_of(each), str(spec["ca"]["secretName"])
    named = [*_named_in(each.inputs, {"storageClassName": "StorageClass"}), *_named_in(gangs, OF_GANGS)]
    yield from ((kind, "", name) for kind, name in named)


def made_secrets(graph: Graph) -> Iterator[tuple[str, str]]:
    """(namespace, name) of Secrets that controllers make: of an ExternalSecret, a Certificate, a SealedSecret."""
    for each in graph.of_type("ExternalSecret", "Certificate", "SealedSecret"):
        spec, name = spec_of(each), metadata_of(each).get("name", "")
        yield namespace_of(each), str((spec.get("target") or {}).get("name") or spec.get("secretName") or name)


def classes_of_volumes(graph: Graph) -> set[tuple[str, str]]:
    """("", name) of the classes that static volumes say they are of: no object need be there."""
    return {("", spec_of(each).get("storageClassName", "")) for each in graph.of_type(VOLUME)}


@rule(
    source="Kubernetes: a pod waits for its volumes, Secrets and ConfigMaps; https://kubernetes.io/docs/concepts/storage/volumes/",
    remedy="register what is named, in the namespace where it is named, or correct the name",
)
def references_exist(graph: Graph) -> Iterator[Finding]:
    """Every referenced claim, ConfigMap, Secret, service account, class and queue exists there (G31; KJ17)."""
    kinds = [*IN_ENVIRONMENT.values(), *OF_GANGS.values(), "PersistentVolumeClaim", "ServiceAccount", "StorageClass"]
    kinds += ["Service", "SecretStore", "ClusterSecretStore"]
    made = {kind: objects(graph, kind) for kind in kinds}
    there = {kind: made[kind] | THERE.get(kind, set()) for kind in kinds}
    there["Secret"] |= set(made_secrets(graph))
    there["StorageClass"] |= classes_of_volumes(graph)
    cluster, namespaces = graph.of_type(CLUSTER), objects(graph, "Namespace")
    named = [(pod.owner, *reference) for pod in pods(graph) for reference in _named_by(pod)]
    for each in graph.resources.values():
        if is_kubernetes(each) and each.kind not in NO_PODS:
            named += [(each.name, *reference) for reference in _named_by_object(each)]
    for owner, kind, namespace, name in named:
        ours = cluster or ("", namespace) in namespaces or any(place == namespace for place, _ in made[kind])
        if ours and (namespace, name) not in there[kind] and (kind, name) not in PUBLISHED:
            place = f" in namespace {namespace}" if namespace else ""
            yield owner, f"names the {kind} {name}{place}, which nothing creates"


@rule(
    source="Kubernetes: Namespaces; https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/",
    remedy="register the Namespace, and take its name from it",
)
def namespaces_exist(graph: Graph) -> Iterator[Finding]:
    """Every object is in a namespace that the program creates or Kubernetes brings (KJ16, KJ20)."""
    made = {name for _, name in objects(graph, "Namespace")}
    made |= {str(each.inputs["namespace"]) for each in graph.of_type("Release") if each.inputs.get("createNamespace")}
    there = made | set(BUILT_IN_NAMESPACES)
    for each in graph.resources.values():
        if is_kubernetes(each):
            source = each.inputs if each.kind == "Release" else each.inputs.get("metadata") or {}
            namespace = source.get("namespace")
            if namespace and namespace not in there and (made or graph.of_type(CLUSTER)):
                yield each.name, f"is in the namespace {namespace}, which nothing creates"


@rule(
    source="Kubernetes: a limit is no less than its request, and extended resources cannot be overcommitted; "
    "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources",
    remedy="set the limit: equal to the request for devices, no less for memory and processors",
)
def extended_resources_limited(graph: Graph) -> Iterator[Finding]:
    """Limits are no less than requests, for extended resources the same: the API server refuses others (KJ23, KJ31)."""
    for pod in pods(graph):
        for container in pod.containers:
            resources = container.get("resources") or {}
            limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
            for name in {*limits, *requests}:
                most, least = quantity(limits.get(name)), quantity(requests.get(name))
                overdrawn = most is not None and least is not None and most < least
                if overdrawn or ("/" in name and limits.get(name) != requests.get(name, limits.get(name))):
                    yield pod.owner, f"requests {requests.get(name)} {name} and limits it to {limits.get(name)}"


@rule(
    source="Kubernetes: Migrating Deployments to horizontal autoscaling; https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/",
    remedy="leave spec.replicas out",
)
def one_owner_of_replicas(graph: Graph) -> Iterator[Finding]:
    """A workload with an autoscaler sets no replicas: the two would fight over them (IN06, P17)."""
    scaled = {scaled_by(each) for each in scalers(graph)}
    for each in graph.resources.values():
        spec, left = spec_of(each), any("replicas" in path for path in each.ignore_changes)
        name = (each.kind, namespace_of(each), metadata_of(each).get("name"))
        if name in scaled and spec.get("replicas") is not None and not left:
            yield each.name, "sets replicas although an autoscaler does; leave them out"


@rule(
    source="Helm: helm upgrade, --version --atomic --cleanup-on-fail; https://helm.sh/docs/helm/helm_upgrade/",
    remedy="make it a helm.v3.Release with version, repository_opts, atomic, cleanup_on_fail and timeout",
)
def releases_pinned(graph: Graph) -> Iterator[Finding]:
    """A release pins version and repository, waits, and rolls back on failure (I03, P20; KJ14, KJ15, PF07)."""
    for each in graph.of_type("Release"):
        if not EXACT_VERSION.fullmatch(str(each.inputs.get("version", ""))):
            yield each.name, f"has no exact version ({each.inputs.get('version')})"
        chart = str(each.inputs.get("chart", ""))
        whole = chart.endswith(".tgz") or chart.startswith("oci://")
        if not whole and not (each.inputs.get("repositoryOpts") or {}).get("repo"):
            yield each.name, "names no repository"
        if not (each.inputs.get("atomic") and each.inputs.get("cleanupOnFail") and each.inputs.get("timeout")):
            yield each.name, "is not rolled back when it fails; set atomic, cleanup_on_fail and timeout"
        if each.inputs.get("skipAwait"):
            yield each.name, "does not wait for its pods"
    for each in graph.of_type("Chart", "ConfigGroup", "ConfigFile"):
        if each.token.startswith("kubernetes:"):
            yield each.name, "is rendered by Pulumi, which leaves the chart's hooks out; use a Release"
