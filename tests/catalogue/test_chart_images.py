"""What the catalogue says of charts' images is what the charts render, and each has a version that stays (I03)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from catalogue.chart_images import CHART_IMAGES
from catalogue.image_types import repository, tag
from catalogue.metal_versions import METAL_CHARTS, NETWORK_OPERANDS, RELEASES
from catalogue.supply import Supply, mirrored, whole_name
from catalogue.versions import CHARTS
from tests.graph.schema_kubernetes import upstream

OFF = {
    "ghcr.io/jkroepke/kube-webhook-certgen": "admissionWebhooks.enabled is false",
    "quay.io/cilium/cilium-envoy": "envoy.enabled is false",
    "nvcr.io/nvidia/mellanox/node-feature-discovery": "nfd.enabled is false: the GPU Operator's is the one",
}
"""Images that charts render by default and the program's values switch off."""
VERSIONS = {**CHARTS, **METAL_CHARTS}
WORDS = ("--prometheus-config-reloader=", "--thanos-default-base-image=", "--acme-http01-solver-image=")


def inventory(chart: str) -> dict[str, Any]:
    """What the vendor's chart renders by default. Skips, by name, where it is not at hand."""
    place, version = upstream(), VERSIONS[chart].version.removeprefix("v")
    for name in (f"{chart}-{version}", chart, f"{chart}-1.14.4"):
        file = place / "rendered" / f"{name}.json" if place else None
        if file and file.is_file():
            found: dict[str, Any] = json.loads(file.read_text())
            if str(found["version"]).removeprefix("v") == version:
                return found
    pytest.skip(f"off: no inventory of {chart} {version} in GPUCLUSTER_UPSTREAM")


def _images(value: Any) -> Iterator[str]:
    """Whole names, words of operators, and a repository with an image and a version beside it."""
    if isinstance(value, Mapping):
        image = value.get("image")
        if isinstance(image, str) and value.get("repository"):
            yield f"{value['repository']}/{image}:{value.get('version') or ''}"
        elif isinstance(image, str) and "/" in image:
            yield image
        for each in value.values():
            yield from _images(each)
    elif isinstance(value, list):
        for each in value:
            yield from _images(each)
    elif isinstance(value, str) and value.startswith(WORDS):
        yield value.partition("=")[2]


@pytest.mark.parametrize("chart", CHART_IMAGES)
def test_rows_are_what_the_chart_renders(chart: str) -> None:
    rendered = {whole_name(each) for obj in inventory(chart)["objects"] for each in _images(obj)}
    used = {each for each in rendered if repository(each) not in OFF}
    assert used - {each.image for each in CHART_IMAGES[chart]} == set()
    known = {each.image for each in CHART_IMAGES[chart] if each.use == "always"}
    assert known - used == set()


def test_every_image_has_a_version_that_stays() -> None:
    """A chart that took a floating one would be found by its row, and that by this."""
    rows = [row.image for rows in CHART_IMAGES.values() for row in rows]
    kubernetes = [image for release in RELEASES.values() for image in release.images]
    moving = [each for each in (*rows, *NETWORK_OPERANDS, *kubernetes) if tag(each) in ("", "latest", "main", "master")]
    assert moving == []


@pytest.mark.parametrize(
    ("image", "whole"),
    [
        ("busybox:1", "docker.io/library/busybox:1"),
        ("docker.io/busybox:1", "docker.io/library/busybox:1"),
        ("vllm/vllm-openai:v1", "docker.io/vllm/vllm-openai:v1"),
        ("docker.io/vllm/vllm-openai:v1", "docker.io/vllm/vllm-openai:v1"),
        ("quay.io/a/b:1@sha256:ab", "quay.io/a/b:1@sha256:ab"),
        ("localhost/a:1", "localhost/a:1"),
        ("site:5000/a:1", "site:5000/a:1"),
    ],
)
def test_a_mirror_has_images_by_their_whole_names(image: str, whole: str) -> None:
    assert whole_name(image) == whole
    assert mirrored(image, "hub.site:5000/copies") == f"hub.site:5000/copies/{whole}"


def test_an_image_that_is_at_the_mirrors_host_stays_and_keeps_its_digest() -> None:
    supply = Supply(registry="hub.site/copies")
    assert supply.image("hub.site/ml/trainer:1") == "hub.site/ml/trainer:1"
    assert supply.image("hub.site.example.com/a:1") == "hub.site/copies/hub.site.example.com/a:1"
    assert supply.image("a/b:1", {"a/b:1": "sha256:ab"}) == "hub.site/copies/docker.io/a/b:1@sha256:ab"
    assert Supply().image("a/b:1", {"a/b:1": "sha256:ab"}) == "a/b:1@sha256:ab"
    assert Supply().values("gpu-operator") == {}
