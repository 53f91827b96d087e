"""Rules about images: of containers and volumes, of custom resources, in values of charts and words of operators."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policy.graph import Graph
from policy.owners import IN_CHARTS
from policy.pods import NO_PODS, Pod, is_kubernetes, pods
from policy.rule import Finding, rule
from policy.words import flags

DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
VERSIONS = ("tag", "version", "digest", "sha")


def _named(value: Any) -> Iterator[str]:
    """Every image that a value names: `image: name`, or a mapping of repository and tag."""
    if isinstance(value, Mapping):
        if isinstance(value.get("image"), str) and "containers" not in value:
            yield _joined(value, str(value["image"]))
        elif isinstance(value.get("repository"), str) and any(key in value for key in VERSIONS[:1] + VERSIONS[2:]):
            yield _joined(value, str(value["repository"]))
        for each in value.values():
            yield from _named(each)
    elif isinstance(value, list):
        for each in value:
            yield from _named(each)


def _joined(value: Mapping[str, Any], name: str) -> str:
    """A name with the tag and digest that stand beside it."""
    digest = value.get("digest") or value.get("sha")
    tag = next((str(value[key]) for key in ("tag", "version") if value.get(key)), "")
    if tag and ":" not in name.rsplit("/", 1)[-1] and "@" not in name:
        name = f"{name}:{tag}"
    return f"{name}@sha256:{str(digest).removeprefix('sha256:')}" if digest and "@" not in name else name


def _elsewhere(graph: Graph) -> Iterator[tuple[str, str]]:
    """(logical name, image) of every image that is in no container."""
    in_pods = {(pod.owner, str(each.get("image"))) for pod in pods(graph) for each in pod.containers}
    for each in graph.resources.values():
        if is_kubernetes(each) and each.kind in IN_CHARTS:
            yield from ((each.name, image) for image in _named(each.inputs.get("values") or {}))
        elif is_kubernetes(each) and each.kind not in NO_PODS:
            for image in _named(each.inputs.get("spec") or {}):
                if (each.name, image) not in in_pods:
                    yield each.name, image
    for pod in pods(graph):
        for container in pod.containers:
            yield from (
                (pod.owner, value)
                for name, value in flags(container)
                if name.endswith("image") and re.search("[/:]", value) and "$" not in value
            )


def _unpinned(graph: Graph, image: str) -> str:
    """What is wrong with how an image is named; empty where it stays what it is, or may go without a digest."""
    if DIGEST.search(image):
        return ""
    if image.rsplit("/", 1)[-1].partition(":")[2] in ("", "latest"):
        return f"{image}, whose tag moves; give it a version"
    return f"{image} without a digest in a protected stack" if graph.protected and not graph.is_waived(image) else ""


def _images(pod: Pod) -> set[str]:
    """Images of a pod's containers, and those that are volumes."""
    mounted = [each["image"].get("reference") or "" for each in pod.spec.get("volumes") or [] if each.get("image")]
    return {each.get("image") or "" for each in pod.containers} | set(mounted)


@rule(
    source='Kubernetes: Image names, "Image digests"; https://kubernetes.io/docs/concepts/containers/images/',
    remedy="name a version and its digest (make pin-images), or waive image-not-pinned by name",
)
def images_pinned(graph: Graph) -> Iterator[Finding]:
    """An image has a digest in a protected stack unless waived, and never a moving tag (I03; IN01, KJ32, PF12)."""
    for pod in pods(graph):
        for image in sorted(_images(pod)):
            if wrong := _unpinned(graph, image):
                yield pod.owner, f"runs {wrong}"


@rule(
    source="Kubernetes: Image digests; https://kubernetes.io/docs/concepts/containers/images/",
    remedy="name version and digest: image: NAME:VERSION@sha256:…, or tag and digest among the values",
)
def images_elsewhere_pinned(graph: Graph) -> Iterator[Finding]:
    """Images in custom resources, chart values and operators' arguments are pinned (I03, Y10)."""
    for owner, image in dict.fromkeys(_elsewhere(graph)):
        if wrong := _unpinned(graph, image):
            yield owner, f"names the image {wrong}"
