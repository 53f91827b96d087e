"""Contents of the images that runs name: vendors' images from known facts, a site's own from its stack file.

A stack file's rows in `catalogue.images` are its owner's word about images that the owner built, as its buckets are the
owner's; of a vendor's image it cannot change what is there.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from rehearsal.images.contents import Inside, Known, stock
from rehearsal.kubelet.images import repository
from rehearsed.preset import parsed

_NAME = r"(.*?)(?::(\d+(?:\.\d+)*)\.\.(\d+(?:\.\d+)*)?)?"
ROOT = Path(__file__).resolve().parent.parent


def inside(reference: str, root: Path = ROOT) -> Inside | None:
    """What is in an image; None where nobody says."""
    own = (_known(row) for row in declared(root))
    return stock(reference) or next((each.inside for each in own if each.covers(reference)), None)


WORKERS = frozenset({"pytorch", "vllm", "triton"})
"""Containers whose images the stack file names: those of runs and services."""

PUBLISHED = (
    "nvcr.io/nvidia/pytorch",
    "nvcr.io/nvidia/nemo",
    "nvcr.io/nvidia/tritonserver",
    "pytorch/pytorch",
    "vllm/vllm-openai",
    "deep-learning-containers/pytorch-training",
)
"""Repositories of such images that their vendors name: NVIDIA NGC catalogue, PyTorch on Docker Hub, vLLM's
documentation ("Using Docker"), AWS' list of deep learning containers."""

_DOCUMENTATION = re.compile(r"([\w-]+\.)*example(\.(com|net|org))?(:\d+)?/.*")
"""Example hosts, which stand for a private registry (RFC 2606)."""


def absent(pod: Mapping[str, Any], reference: str, root: Path = ROOT) -> bool:
    """Whether no registry has the image of a run or service: no vendor publishes it, and no stack file has a row of it.

    A mirror keeps the end of the path. An image by digest was looked up by whoever wrote it.
    """
    if reference not in {each["image"] for each in pod["spec"]["containers"] if each["name"] in WORKERS}:
        return False
    name = repository(reference)
    if "@sha256:" in reference or _DOCUMENTATION.fullmatch(name):
        return False
    if any(f"/{name}".endswith(f"/{each}") for each in PUBLISHED):
        return False
    return not any(_known(row).covers(reference) for row in declared(root))


def declared(root: Path) -> Iterator[Mapping[str, Any]]:
    """The rows about images in the stack files at `root`; what cannot be read is left for the program to refuse."""
    for path in sorted(root.glob("Pulumi.*.yaml")):
        try:
            found = parsed(path.read_text())["config"]["gpucluster:catalogue"]["images"]
        except (KeyError, TypeError, yaml.YAMLError):
            continue
        yield from (row for row in found if isinstance(row, dict) and "name" in row)


def _known(row: Mapping[str, Any]) -> Known:
    """A row about all tags of a repository, or about those of `NAME:FIRST..LAST`."""
    repository, first, last = re.fullmatch(_NAME, str(row["name"])).groups()  # type: ignore[union-attr]
    *above, lowest = _numbers(last) or (10**6,)
    return Known(repository, _built(row), _numbers(first), (*above, lowest + 1))


def _numbers(version: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")) if version else ()


def _built(row: Mapping[str, Any]) -> Inside:
    """A site's image: what it is built on, with what the row says besides."""
    on = stock(str(row.get("like", "")).partition("..")[0]) or Inside()
    if "aws-ofi-nccl" in row.get("lacks", ()):
        on = replace(on, plugins=on.plugins - {"ofi", "aws-ofi", ""})
    elif row.get("netPlugin") or row.get("awsOfiNccl"):
        on = replace(on, plugins=on.plugins | {str(row.get("netPlugin", "ofi"))})
    return replace(on, files=tuple(row["holds"])) if "holds" in row else on
