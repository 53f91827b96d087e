"""A run's checkpoint directories, and the environment that tells its script (T01)."""

import math
from typing import Literal, Protocol

import pulumi

DATA, CHECKPOINTS, LOCAL = "/data", "/checkpoints", "/local-checkpoints"

STOP_SECONDS = 30
"""For the ranks to end after their last save, as Kubernetes gives every pod."""

SHUTDOWN_VARIABLE = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
"""How long torchrun lets the ranks save after SIGTERM before it kills them; its own default is 30 s, whatever the pod's
grace period (PyTorch, torch/distributed/run.py, --shutdown-timeout)."""


def saves(run: str) -> str:
    """Where on the claim of the checkpoints those of a run lie."""
    return f"checkpoints/{run}"


class SaveTimes(Protocol):
    """When a run saves, in seconds, how long it may stand for that, and how many saves it keeps; a planner's own object
    will do (T01).

    With `local` every pod has a directory on its node's own disks to save to, from where a save goes on to the file
    system every `file_system_s`. A save is a directory, whole when it holds `SHA256SUMS`, which is written last.
    `sidecar` is where a container beside the ranks finds saves to do both with. `last_s` is for the last save and its
    copy.
    """

    @property
    def every_s(self) -> int: ...

    @property
    def within_s(self) -> float: ...

    @property
    def keep(self) -> int: ...

    @property
    def local(self) -> bool: ...

    @property
    def file_system_s(self) -> int: ...

    @property
    def sidecar(self) -> Literal["local", "shared"] | None: ...

    @property
    def last_s(self) -> float: ...


def grace_seconds(saving: SaveTimes) -> int:
    """Seconds from SIGTERM to SIGKILL: a run that is told to stop may be in a save, or begin one, and that is copied
    from the disks that go with the pod.
    """
    return math.ceil(saving.last_s) + STOP_SECONDS


def told(saving: SaveTimes) -> dict[str, pulumi.Input[str]]:
    """What the script finds in its environment."""
    words: dict[str, pulumi.Input[str]] = {
        "CHECKPOINT_DIR": CHECKPOINTS,
        "CHECKPOINT_EVERY_SECONDS": str(saving.every_s),
        "CHECKPOINT_KEEP": str(saving.keep),
        "CHECKPOINT_WITHIN_SECONDS": str(math.ceil(saving.within_s)),
        SHUTDOWN_VARIABLE: str(math.ceil(saving.last_s)),
    }
    if saving.local:
        words |= {"CHECKPOINT_LOCAL_DIR": LOCAL, "CHECKPOINT_FILE_SYSTEM_SECONDS": str(saving.file_system_s)}
    return words
