"""`python -m tests.graph.images STACK`: every image that the stack's nodes pull, and where it comes from.

With a mirror (supply.registry) a line is the image at its maker's and the copy that nodes pull, as tools that copy take
them; those that an option of the stack may pull are among them. No engine, no account.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from catalogue.chart_images import CHART_IMAGES
from catalogue.metal_versions import (
    KUBE_VIP_IMAGE,
    NETWORK_OPERANDS,
    NETWORK_OPERATOR,
    OWN_PORT_OPERANDS,
    RELEASES,
    SRIOV_IMAGES,
)
from catalogue.supply import Supply, whole_name
from planner.stack import plan_supply
from policy.graph import Graph
from policy.pods import pods
from policy.words import flags
from settings.load import from_file
from settings.model import MetalSettings, Settings
from tests.graph.stackfiles import ROOT, run_program, stack_config


def pulled(graph: Graph, settings: Settings) -> list[str]:
    """Images at their makers' that a stack without a mirror pulls, by name, each once."""
    found = {*_of_objects(graph), *_of_charts(graph)}
    if isinstance(settings, MetalSettings):
        found |= {KUBE_VIP_IMAGE, *RELEASES[settings.platform.kubernetes_version].images}
        if any(each.inputs["chart"] == NETWORK_OPERATOR.name for each in graph.of_type("Release")):
            shared = settings.fabric.pod_devices == "sharedDevice"
            found |= {*(NETWORK_OPERANDS if shared else OWN_PORT_OPERANDS)}
            found |= {*SRIOV_IMAGES.values()} if settings.fabric.pod_devices == "sriov" else set()
    return sorted(found, key=whole_name)


def _of_objects(graph: Graph) -> Iterator[str]:
    """Of the program's own objects: containers, words that name an image, and configurations of operators."""
    for pod in pods(graph):
        for container in pod.containers:
            yield str(container["image"])
            yield from (value for name, value in flags(container) if name.endswith("image") and "/" in value)
    for each in graph.of_type("ConfigMap"):
        if "katib" in each.name:
            yield from _named(each.inputs.get("data"))


def _named(value: Any) -> Iterator[str]:
    """Images in the text of a configuration."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key == "image" and isinstance(each, str):
                yield each
            else:
                yield from _named(each)
    elif isinstance(value, list):
        for each in value:
            yield from _named(each)
    elif isinstance(value, str) and "image:" in value:
        yield from _named(yaml.safe_load(value))


def _of_charts(graph: Graph) -> Iterator[str]:
    for release in graph.of_type("Release"):
        yield from (each.image for each in CHART_IMAGES.get(release.inputs["chart"], ()) if each.use != "named")


def lines(graph: Graph, settings: Settings, supply: Supply) -> list[str]:
    """One for each image; the copy stands behind it where somebody has to make it."""
    images = pulled(graph, settings)
    if not supply.registry or supply.only is not None:
        return [whole_name(image) for image in images]
    return [f"{whole_name(image)} {supply.image(image, {})}" for image in images]


def main(arguments: list[str]) -> int:
    """Print the images of a stack."""
    if len(arguments) != 1 or not (ROOT / f"Pulumi.{arguments[0]}.yaml").is_file():
        names = ", ".join(sorted(path.name.split(".")[1] for path in ROOT.glob("Pulumi.*.yaml")))
        print(f"usage: make images STACK=<name>; there are {names}", file=sys.stderr)
        return 2
    (stack,) = arguments
    settings = from_file(ROOT / f"Pulumi.{stack}.yaml")
    config = {
        key: value
        for key, value in stack_config(stack).items()
        if key != "gpucluster:supply" and not (isinstance(value, dict) and "secure" in value)
    }
    supply = plan_supply(settings)
    print("\n".join(lines(run_program(config, stack=stack), settings, supply)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
