"""Compiled pipelines beside the stack file, checked before anything is registered."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from catalogue import versions
from planner.said import Pipelines, Upload

_MOST_BYTES = 900_000
"""A ConfigMap holds 1 MiB (Kubernetes documentation, ConfigMaps), its other files included."""

SCHEMA = "2.1.0"
"""The one that the API server takes (Kubeflow Pipelines 2.17, backend/src/apiserver/template/v2_template.go)."""

_DIGEST = re.compile(r"\S+@sha256:[0-9a-f]{64}")
_COMMIT = re.compile(r"commit ([0-9a-f]{7,40})\b")


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """A compiled pipeline. `version` is its commit, where it says one, and a hash of its content."""

    content: str
    version: str


def compiled(upload: Upload) -> Compiled:
    """The pipeline of a file. Raises ValueError with what is wrong, and what to do."""
    again = f"compile it: make pipeline OUT={upload.file} ARGS=..."
    try:
        content = Path(upload.file).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{upload.file} cannot be read ({error.strerror}); {again}") from None
    if len(content.encode()) > _MOST_BYTES:
        raise ValueError(f"{upload.file} has more than {_MOST_BYTES} bytes, the most that a ConfigMap holds; split it")
    try:
        spec = next(iter(yaml.safe_load_all(content)), None)
    except yaml.YAMLError:
        spec = None
    if not isinstance(spec, dict) or not {"pipelineInfo", "deploymentSpec", "root"} <= set(spec):
        raise ValueError(f"{upload.file} is not a compiled pipeline of version 2; {again}")
    if (schema := spec.get("schemaVersion")) != SCHEMA:
        raise ValueError(
            f"{upload.file} has schema version {schema}, and Kubeflow Pipelines {versions.PIPELINES} take {SCHEMA} "
            f"alone; {again}"
        )
    for step, image in sorted(_images(spec)):
        if not _DIGEST.fullmatch(image):
            raise ValueError(
                f"{upload.file}: step {step} is of {image}, whose tag may move; name it with its digest "
                "(NAME@sha256:...) and compile it again"
            )
    digest = hashlib.sha256(content.encode()).hexdigest()[:8]
    commit = _COMMIT.search(str(spec["pipelineInfo"].get("description", "")))
    return Compiled(content=content, version=f"{commit[1][:12]}-{digest}" if commit else digest)


def wrong_uploads(plan: Pipelines | None) -> Iterator[str]:
    """One line for each file that cannot be uploaded."""
    for index, upload in enumerate(plan.uploads if plan else ()):
        try:
            compiled(upload)
        except ValueError as error:
            yield f"gpucluster:training.pipelines.uploads[{index}].file: {error}"


def _images(spec: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The image of each step that is a container."""
    for name, executor in spec["deploymentSpec"].get("executors", {}).items():
        container = executor.get("container") if isinstance(executor, dict) else None
        if isinstance(container, dict):
            yield name.removeprefix("exec-"), str(container.get("image", ""))
