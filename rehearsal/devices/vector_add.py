"""The CUDA sample vectorAdd, which NVIDIA's images carry to try a GPU with.

Source: NVIDIA/cuda-samples, Samples/0_Introduction/vectorAdd/vectorAdd.cu: it adds two vectors on the GPU it finds, and
ends with 1 and CUDA's words where it finds none. A container sees the GPUs it was given, if its node has a driver.
"""

from rehearsal.devices import cuda
from rehearsal.devices.daemons import has_driver
from rehearsal.devices.gpus import GPU
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Program

SECONDS = 2.0
PASSED = "[Vector addition of 50000 elements]\nTest PASSED\nDone"
NO_DRIVER = "CUDA driver version is insufficient for CUDA runtime version"
NO_GPU = "no CUDA-capable device is detected"
BUSY = "CUDA-capable device(s) is/are busy or unavailable"


def run(launch: Launch) -> Program:
    """Ends well on a GPU of the container's own that works."""
    reason = _reason(launch)
    said = f"Failed to allocate device vector A (error code {reason})!" if reason else PASSED
    launch.log(said)
    return Ends(launch.now + SECONDS / TIME_SCALE, Exit(1, said) if reason else Exit(0))


def _reason(launch: Launch) -> str | None:
    if not has_driver(launch):
        return NO_DRIVER
    if not launch.limit(GPU):
        return NO_GPU
    return BUSY if cuda.unusable(launch) else None
