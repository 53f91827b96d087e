"""Rules about Kubernetes objects: what they name exists, pods can be placed, releases and images stay what they are."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policy.graph import Finding, Graph
from policy.pods import Pod, objects, pods

EXACT_VERSION = re.compile(r"v?\d+\.\d+\.\d+([-+][0-9A-Za-z.\-]+)?")
DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
BUILT_IN_CLASSES = ("system-cluster-critical", "system-node-critical")
BUILT_IN_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
LABELS_OF_NODES = ("nvidia.com/",)
"""Labels that something else than the node group puts on nodes."""


def _named_by(pod: Pod) -> Iterator[tuple[str, str, str]]:
    """(kind, namespace, name) of what a pod cannot start without."""
    for volume in pod.spec.get("volumes", []):
        if claim := volume.get("persistentVolumeClaim"):
            yield "PersistentVolumeClaim", pod.namespace, claim["claimName"]
        if secret := volume.get("secret"):
            yield "Secret", pod.namespace, secret["secretName"]
        if config := volume.get("configMap"):
            yield "ConfigMap", pod.namespace, config["name"]
    for container in pod.containers:
        for variable in container.get("env", []):
            source = variable.get("valueFrom") or {}
            if "secretKeyRef" in source:
                yield "Secret", pod.namespace, source["secretKeyRef"]["name"]
            if "configMapKeyRef" in source:
                yield "ConfigMap", pod.namespace, source["configMapKeyRef"]["name"]
        for whole in container.get("envFrom", []):
            for key, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
                if key in whole:
                    yield kind, pod.namespace, whole[key]["name"]
    account = pod.spec.get("serviceAccountName", "default")
    if account != "default":
        yield "ServiceAccount", pod.namespace, account
    priority = pod.spec.get("priorityClassName")
    if priority and priority not in BUILT_IN_CLASSES:
        yield "PriorityClass", "", priority


def references_exist(graph: Graph) -> Iterator[Finding]:
    """Each claim, ConfigMap, Secret, account, class and queue that is named is there, where it is named (G31; KJ17)."""
    kinds = ("PersistentVolumeClaim", "Secret", "ConfigMap", "ServiceAccount", "PriorityClass", "StorageClass", "Queue")
    there = {kind: objects(graph, kind) for kind in kinds}
    named = [(pod.owner, *reference) for pod in pods(graph) for reference in _named_by(pod)]
    for claim in graph.of_type("PersistentVolumeClaim"):
        if storage_class := claim.inputs["spec"].get("storageClassName"):
            named.append((claim.name, "StorageClass", "", storage_class))
    for job in graph.of_type("PyTorchJob"):
        policy = job.inputs["spec"].get("runPolicy", {}).get("schedulingPolicy", {})
        named += [(job.name, "Queue", "", policy["queue"])] if "queue" in policy else []
        named += [(job.name, "PriorityClass", "", policy["priorityClass"])] if "priorityClass" in policy else []
    for owner, kind, namespace, name in named:
        if (namespace, name) not in there[kind]:
            place = f" in namespace {namespace}" if namespace else ""
            yield owner, f"names the {kind} {name}{place}, which nothing creates"


def namespaces_exist(graph: Graph) -> Iterator[Finding]:
    """Every object is put into a namespace that the program makes, or that Kubernetes has (KJ16, KJ20)."""
    there = {name for _, name in objects(graph, "Namespace")} | set(BUILT_IN_NAMESPACES)
    for each in graph.resources.values():
        if each.token.startswith("kubernetes:"):
            source = each.inputs if each.kind == "Release" else each.inputs.get("metadata") or {}
            namespace = source.get("namespace")
            if namespace and namespace not in there:
                yield each.name, f"is put into the namespace {namespace}, which nothing creates"


def _tolerates(pod: Pod, taint: Mapping[str, Any]) -> bool:
    effect = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute"}.get(taint["effect"], "")
    return not effect or any(
        each.get("key") in (None, taint["key"])
        and each.get("effect") in (None, effect)
        and (each.get("operator") == "Exists" or each.get("value", "") == taint.get("value", ""))
        for each in pod.spec.get("tolerations", [])
    )


def pods_can_be_placed(graph: Graph) -> Iterator[Finding]:
    """A pod's node selector fits a node group whose taints the pod tolerates (J09, J10; KJ22, PW19)."""
    groups = graph.of_type("aws:eks/nodeGroup:NodeGroup")
    for pod in pods(graph):
        wanted = {
            key: value for key, value in pod.spec.get("nodeSelector", {}).items() if not key.startswith(LABELS_OF_NODES)
        }
        fitting = [each for each in groups if wanted.items() <= (each.inputs.get("labels") or {}).items()]
        if not fitting:
            yield pod.owner, f"selects nodes with {wanted}, which no node group has"
        elif not any(all(_tolerates(pod, taint) for taint in each.inputs.get("taints") or []) for each in fitting):
            names = ", ".join(each.name for each in fitting)
            yield pod.owner, f"tolerates the taints of none of the node groups it selects ({names})"


def extended_resources_limited(graph: Graph) -> Iterator[Finding]:
    """Extended resources are limited to what is requested: the API server refuses anything else (KJ23, KJ31)."""
    for pod in pods(graph):
        for container in pod.containers:
            resources = container.get("resources") or {}
            limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
            for name in {*limits, *requests}:
                if "/" in name and limits.get(name) != requests.get(name, limits.get(name)):
                    yield pod.owner, f"requests {requests.get(name)} {name} and limits it to {limits.get(name)}"


def one_owner_of_replicas(graph: Graph) -> Iterator[Finding]:
    """A Deployment under an autoscaler states no replicas: the two would fight over them (IN06, P17)."""
    scaled = {
        (each.inputs["metadata"].get("namespace"), each.inputs["spec"]["scaleTargetRef"]["name"])
        for each in graph.of_type("HorizontalPodAutoscaler")
    }
    for each in graph.of_type("Deployment"):
        metadata = each.inputs["metadata"]
        if (metadata.get("namespace"), metadata.get("name")) in scaled and "replicas" in each.inputs["spec"]:
            yield each.name, "states replicas although an autoscaler sets them; leave them out"


def releases_pinned(graph: Graph) -> Iterator[Finding]:
    """A release names exact version and repository, waits, rolls back what fails (I03, P20; KJ14, KJ15, PF07)."""
    for each in graph.of_type("Release"):
        if not EXACT_VERSION.fullmatch(str(each.inputs.get("version", ""))):
            yield each.name, f"has no exact version ({each.inputs.get('version')})"
        if not (each.inputs.get("repositoryOpts") or {}).get("repo"):
            yield each.name, "names no repository"
        if not (each.inputs.get("atomic") and each.inputs.get("cleanupOnFail") and each.inputs.get("timeout")):
            yield each.name, "is not rolled back when it fails; set atomic, cleanup_on_fail and timeout"
        if each.inputs.get("skipAwait"):
            yield each.name, "does not wait for its pods"
    for each in graph.of_type("Chart", "ConfigGroup", "ConfigFile"):
        if each.token.startswith("kubernetes:"):
            yield each.name, "is rendered by Pulumi, which leaves the chart's hooks out; use a Release"


def images_pinned(graph: Graph) -> Iterator[Finding]:
    """An image has a digest in a protected stack unless waived, and always a tag that stays (I03; IN01, KJ32, PF12)."""
    for pod in pods(graph):
        for image in sorted({container["image"] for container in pod.containers}):
            if DIGEST.search(image):
                continue
            tag = image.rsplit("/", 1)[-1].partition(":")[2]
            if tag in ("", "latest"):
                yield pod.owner, f"runs {image}, which is another image tomorrow; give it a version"
            elif graph.protected and image not in graph.waived_images:
                yield pod.owner, f"runs {image} without a digest in a protected stack"


RULES = (
    references_exist,
    namespaces_exist,
    pods_can_be_placed,
    extended_resources_limited,
    one_owner_of_replicas,
    releases_pinned,
    images_pinned,
)
