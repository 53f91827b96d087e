"""The one table of failures: rules, pages and the labels of alerts come from it (V01, AB09)."""

from collections.abc import Iterator

from monitoring.failure import Failure, Subject
from monitoring.failures.fabric import FABRIC
from monitoring.failures.gpu import GPU
from monitoring.failures.heat import HEAT
from monitoring.failures.machine import MACHINE
from monitoring.failures.node import NODE
from monitoring.failures.pace import PACE
from monitoring.failures.platform import PLATFORM
from monitoring.failures.run import RUN
from monitoring.failures.serving import SERVING
from monitoring.failures.storage import STORAGE

SUBJECTS: tuple[Subject, ...] = (GPU, HEAT, MACHINE, NODE, FABRIC, STORAGE, RUN, PACE, SERVING, PLATFORM)

ROWS = (
    "OOM",
    "GPU unavailable",
    "GPU memory errors",
    "GPU driver/firmware error",
    "GPU NVLink error",
    "Infiniband link",
    "Filesystem mounts",
    "Main memory errors",
    "Ethlink errors",
    "PCIe errors",
    "NCCL timeout",
    "System services",
)
"""The taxonomy's symptoms in its own words (001:L684-697)."""


def failures() -> Iterator[Failure]:
    """Every row of the table."""
    for subject in SUBJECTS:
        yield from subject.failures
