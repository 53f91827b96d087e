"""Which behaviour an image has: one table from image and container names to what the process does.

An image that nobody knows runs and answers every probe; as the work of a Job or as an init container it ends well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from rehearsal.effects.behaviours import daemons, kubectl, mig, operators, s3sync, trainer, vllm, waits
from rehearsal.effects.behaviours.gpu_operator import GpuOperator
from rehearsal.effects.environment import words
from rehearsal.effects.program import TIME_SCALE, Ends, Exit, Launch, Program

Start = Callable[[Launch], Program]
NOTHING = Program()
_JOB_SECONDS = 10.0
# Source: distribution/reference (the grammar of image names), without the rarely used IPv6 registries.
_REFERENCE = re.compile(
    r"^(?:(?:[a-zA-Z0-9.-]+(?::\d+)?)/)?[a-z0-9]+(?:(?:[._]|__|-+|/)[a-z0-9]+)*"
    r"(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$"
)


@runtime_checkable
class HasFiles(Protocol):
    """A program whose mounted ConfigMaps and Secrets are real files."""

    def refresh_files(self) -> None: ...


class ImageError(Exception):
    """The image reference cannot be parsed."""


@dataclass(frozen=True)
class Row:
    """An image repository (a regular expression on all of it) and perhaps a container's name."""

    repository: str
    start: Start
    container: str = ".*"


TABLE: tuple[Row, ...] = (
    Row(r".*/k8s-device-plugin", daemons.nvidia_device_plugin, container="nvidia-device-plugin.*"),
    Row(r".*/k8s-device-plugin", daemons.gpu_feature_discovery, container="gpu-feature-discovery.*"),
    Row(r".*/k8s-mig-manager", mig.mig_manager),
    Row(r".*/aws-efa-k8s-device-plugin", daemons.efa_device_plugin),
    Row(r".*/nvidia/gpu-operator", waits.for_driver, container="driver-validation"),
    Row(r".*/nvidia/gpu-operator", waits.for_toolkit, container="toolkit-validation"),
    Row(r".*/nvidia/gpu-operator", waits.for_plugin, container="plugin-validation"),
    Row(r".*/nvidia/gpu-operator", GpuOperator, container="gpu-operator"),
    Row(r".*/node-feature-discovery", daemons.feature_worker, container="worker"),
    Row(r".*/aws-fsx-csi-driver", daemons.csi_node("fsx.csi.aws.com"), container="fsx-plugin-node"),
    Row(r".*/aws-ebs-csi-driver", daemons.csi_node("ebs.csi.aws.com"), container="ebs-plugin-node"),
    Row(r".*/vc-scheduler", operators.volcano_scheduler),
    Row(r".*/vc-controller-manager", operators.volcano_controllers),
    Row(r".*/training-v1/training-operator|.*/kubeflow/training-operator", operators.training_operator),
    Row(r".*/kubectl|kubectl", kubectl.run),
    Row(r"(.*/)?(aws-cli|awscli)(/.*)?", s3sync.run),
    Row(r"(.*/)?vllm(-openai)?(/.*)?|.*/vllm/.*", vllm.run),
    Row(r".*", trainer.run, container="pytorch"),
)


def start(launch: Launch) -> Program:
    """The process of a container. Raises ImageError, LaunchError."""
    reference = str(launch.spec["image"])
    if not _REFERENCE.match(reference):
        raise ImageError(f'Failed to apply default image tag "{reference}": couldn\'t parse image name')
    row = find(reference, str(launch.spec["name"]))
    return row.start(launch) if row else unknown(launch)


def find(reference: str, container: str) -> Row | None:
    """The first row that knows the image; None if none does."""
    name = repository(reference)
    for row in TABLE:
        if re.fullmatch(row.repository, name) and re.fullmatch(row.container, container):
            return row
    return None


def serves(container: Mapping[str, Any], port: int) -> bool:
    """Whether a container's process accepts on a port once it runs: vLLM on the one of its command line; of other
    images nothing is known, so they do.
    """
    row = find(str(container["image"]), str(container["name"]))
    if row is None or row.start is not vllm.run:
        return True
    env = {each["name"]: str(each.get("value") or "") for each in container.get("env") or []}
    return vllm.parse(words([*(container.get("command") or []), *(container.get("args") or [])], env)).port == port


def repository(reference: str) -> str:
    """An image reference without tag and digest."""
    name = reference.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return head + slash + last.partition(":")[0]


def unknown(launch: Launch) -> Program:
    """An image nobody knows: a service stays, an init container or a Job's work ends."""
    owners = launch.pod["metadata"].get("ownerReferences") or []
    inits = [each["name"] for each in launch.pod["spec"].get("initContainers") or [] if not each.get("restartPolicy")]
    if launch.spec["name"] in inits:
        return Ends(launch.now, Exit(0))
    if any(owner["kind"] == "Job" for owner in owners):
        return Ends(launch.now + _JOB_SECONDS / TIME_SCALE, Exit(0))
    return Program()
