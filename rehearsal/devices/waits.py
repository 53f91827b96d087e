"""Init containers of the GPU operator's operands that wait until something is true on their node.

Source: gpu-operator, assets/state-*: each operand has an init container that waits for a validation file.
"""

from collections.abc import Callable

from rehearsal.devices.daemons import has_driver
from rehearsal.devices.gpus import GPU
from rehearsal.kube.quantities import parse
from rehearsal.kubelet.program import Exit, Launch, Program

LOOK_SECONDS = 0.5


class Waits(Program):
    """Ends well as soon as a condition holds."""

    def __init__(self, condition: Callable[[], bool]) -> None:
        self._condition = condition

    def exited(self, now: float) -> Exit | None:  # noqa: ARG002
        return Exit(0) if self._condition() else None

    def next_change(self, now: float) -> float | None:
        return now + LOOK_SECONDS


def for_driver(launch: Launch) -> Program:
    """Until the driver is on the node, from the AMI or the operator's driver pod."""
    return Waits(lambda: has_driver(launch))


def for_toolkit(launch: Launch) -> Program:
    """Until containers can use the GPUs: driver, and container toolkit from the AMI or the operator's toolkit pod."""

    def ready() -> bool:
        host = launch.world.hosts.get(launch.node)
        running = launch.world.running(launch.node, "nvidia-container-toolkit-ctr")
        return has_driver(launch) and ((host is not None and host.toolkit) or any(True for _ in running))

    return Waits(ready)


def for_plugin(launch: Launch) -> Program:
    """Until the device plugin has advertised GPUs on the node."""

    def ready() -> bool:
        node = launch.world.find("nodes", launch.node) or {}
        return parse((node.get("status") or {}).get("allocatable", {}).get(GPU, 0)) > 0

    return Waits(ready)
