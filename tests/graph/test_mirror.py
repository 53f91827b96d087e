"""A mirror (supply.registry): every image that a stack pulls comes from it, and what cannot is named (J16, I03)."""

import base64
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from catalogue.chart_images import CHART_IMAGES
from catalogue.metal_versions import METAL_CHARTS
from catalogue.supply import Supply
from catalogue.versions import CHARTS
from policy.pods import pods
from rehearsal.charts import sources
from rehearsal.charts.chart import ChartError, Order
from settings.load import from_file
from tests.graph import images
from tests.graph.harness import Recorded
from tests.graph.stackfiles import ROOT, SHIPPED, every_shipped, graph_of, refusal, run_program, stack_config
from tests.planner.stacks import experiment
from tests.stacks.test_gateway import GATEWAY
from tests.stacks.test_metal import site, told

MIRROR = "123456789012.dkr.ecr.us-east-2.amazonaws.com/mirror"
HOSTS = (
    r"quay\.io|ghcr\.io|docker\.io|registry\.k8s\.io|nvcr\.io|public\.ecr\.aws|cr\.fluentbit\.io|registry\.example\.com"
    r"|602401143452\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com"
)
ELSEWHERE = re.compile(rf"(?<![\w./-])(?:{HOSTS})(?:/[\w.\-/:@]+)?")
"""A registry that is not below another one."""


def _everything(stack: str) -> dict[str, Any]:
    """The stack with what shipped ones have not: a gateway, and of dev an experiment."""
    config = deepcopy(stack_config(stack))
    if stack in ("dev", "prod"):
        config["gpucluster:serving"]["gateway"] = GATEWAY
    if stack == "dev":
        longer = {"trialHours": 2, "trials": {"parallel": 1, "most": 5}, "budgetGpuHours": 200}
        config["gpucluster:training"]["experiments"] = [experiment("llama-3-8b-sft", **longer)]
        config["gpucluster:scheduling"]["queues"] = [{"name": "training"}, {"name": "experiments"}]
    return config


@cache
def mirrored(stack: str) -> Recorded:
    config = _everything(stack)
    return run_program({**config, "gpucluster:supply": {"registry": MIRROR}}, stack=stack)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value


def _elsewhere(value: Any) -> set[str]:
    """Whatever names a registry that is not the mirror."""
    return {found for text in _texts(value) for found in ELSEWHERE.findall(text)}


@every_shipped
def test_nothing_that_is_registered_names_another_registry(stack: str) -> None:
    found = {each.name: wrong for each in mirrored(stack).resources.values() if (wrong := _elsewhere(each.inputs))}
    assert found == {}
    assert _elsewhere({each.name: each.inputs for each in graph_of(stack).resources.values()})


@every_shipped
def test_every_container_pulls_from_the_mirror(stack: str) -> None:
    """Images without a host, which the walk above does not know, too."""
    pulled = {str(each["image"]) for pod in pods(mirrored(stack)) for each in pod.containers}
    assert [image for image in pulled if not image.startswith(f"{MIRROR}/")] == []


@every_shipped
def test_every_image_of_a_chart_is_moved_by_its_values(stack: str) -> None:
    for release in mirrored(stack).of_type("Release"):
        values = release.inputs.get("values") or {}
        for row in CHART_IMAGES.get(release.inputs["chart"], ()):
            for path in row.values:
                held: Any = values
                for key in path.split("."):
                    held = held[key]
                assert MIRROR in held or row.values[path] == "path", (release.name, path, held)


@every_shipped
def test_charts_render_no_image_of_another_registry(stack: str) -> None:
    """What each chart makes of its values, by helm itself where the chart is at hand, else as it is played."""
    looked = 0
    for release in mirrored(stack).of_type("Release"):
        given = release.inputs
        values = given.get("values") or {}
        order = Order(given["name"], "there", values, "1.36.3", frozenset({"monitoring.coreos.com/v1"}))
        try:
            chart = sources.find(given["chart"], given["version"])
            rendered = chart.render(order)
        except ChartError:
            continue  # neither chart nor helm nor inventory: its values were looked at above
        looked += 1
        without = [each for each in rendered if each["kind"] != "CustomResourceDefinition"]
        assert {each["metadata"]["name"]: wrong for each in without if (wrong := _elsewhere(each))} == {}
    assert looked >= 3


def test_every_chart_with_pods_says_its_images() -> None:
    """A new chart is not forgotten: definitions alone need no image, and Rook's chart has those of Ceph's drivers."""
    assert {*CHARTS, *METAL_CHARTS} - set(CHART_IMAGES) == {"prometheus-operator-crds", "ceph-csi-drivers"}


@every_shipped
def test_images_are_listed_for_whoever_copies_them(stack: str) -> None:
    """Every image that a container of the mirrored stack pulls is the second word of a line."""
    settings = from_file(ROOT / f"Pulumi.{stack}.yaml")
    plain = run_program(_everything(stack), stack=stack)
    listed = dict(line.split() for line in images.lines(plain, settings, Supply(registry=MIRROR)))
    pulled = {str(each["image"]) for pod in pods(mirrored(stack)) for each in pod.containers}
    assert pulled <= set(listed.values())
    assert all(copy == f"{MIRROR}/{image}" for image, copy in listed.items())
    assert images.lines(plain, settings, Supply()) == list(listed)


def test_what_eks_pulls_by_itself_is_named() -> None:
    """The one place that no value moves."""
    said = [text for _, text in mirrored("dev").messages if "image-not-mirrored" in text or "its own registry" in text]
    assert len(said) == 1
    assert "vpc-cni" in said[0]
    assert not [text for _, text in graph_of("dev").messages if "its own registry" in text]
    assert not [text for _, text in mirrored("metal").messages if "its own registry" in text]


def test_shipped_stacks_pull_from_the_makers() -> None:
    assert {from_file(ROOT / f"Pulumi.{stack}.yaml").supply.registry for stack in SHIPPED} == {None}


@pytest.mark.parametrize(
    "registry",
    [
        "https://registry.example.com/mirror",
        "registry.example.com/mirror/",
        "registry.example.com/mirror:1",
        "mirror",
        "Registry.example.com",
        "registry.example.com/a b",
        "user:password@registry.example.com",
    ],
)
def test_what_is_no_registry_is_refused_with_path_and_remedy(registry: str) -> None:
    said = refusal({**stack_config("dev"), "gpucluster:supply": {"registry": registry}}, stack="dev")
    assert "gpucluster:supply.registry" in said
    assert "no scheme, no tag" in said


def test_machines_of_ones_own_pull_kubernetes_itself_from_the_mirror() -> None:
    """Kubeadm, the pod that holds the API's address, and containerd's sandbox are told by files."""

    def words_of(graph: Recorded) -> str:
        variables = told(site().control_plane[0].name, graph)
        held = (line.split()[2] for line in variables["CONTROL_PLANE_FILES"].splitlines())
        return "\n".join([*variables.values(), *(base64.b64decode(each).decode() for each in held)])

    with_mirror, without = words_of(mirrored("metal")), words_of(graph_of("metal"))
    for words in (
        f"imageRepository: {MIRROR}/registry.k8s.io\n",
        f"imageRepository: {MIRROR}/registry.k8s.io/coredns\n",
        f"image: {MIRROR}/ghcr.io/kube-vip/kube-vip:",
        f"{MIRROR}/registry.k8s.io/pause:",
    ):
        assert words in with_mirror, words
    assert _elsewhere(with_mirror) == set()
    assert "imageRepository" not in without
    assert "image: ghcr.io/kube-vip/kube-vip:" in without
