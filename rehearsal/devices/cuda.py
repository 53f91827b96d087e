"""What CUDA says to a process whose GPU fails.

Source: CUDA Runtime API, cudaError_t (the texts of cudaGetErrorString), as PyTorch puts them (`CUDA error: ...`).
"""

from rehearsal.devices.gpus import GPU
from rehearsal.kubelet import faults
from rehearsal.kubelet.allotted import Holder
from rehearsal.kubelet.program import Launch

ERRORS = {
    "gpu-unavailable": "unknown error",
    "gpu-memory": "uncorrectable ECC error encountered",
    "gpu-driver": "unspecified launch failure",
    "nvlink": "uncorrectable NVLink error detected during the execution",
}
"""By kind of failure. Others do not end a process."""

UNUSABLE = ("gpu-unavailable", "gpu-driver")
"""Kinds after which nothing can be started on the GPU until it is reset."""


def error(kind: str) -> str | None:
    """What ends a process that works on the GPU; None if it goes on."""
    text = ERRORS.get(kind)
    return f"RuntimeError: CUDA error: {text}" if text else None


def unusable(launch: Launch) -> str | None:
    """Why a container that begins cannot use one of the GPUs that it holds; None if it can use all."""
    if not launch.limit(GPU):
        return None
    holder = Holder(launch.namespace, launch.pod_name, str(launch.spec["name"]))
    held = launch.world.allotted.gpus(launch.node, holder)
    ill = launch.world.orders.now().of(launch.node)
    if any(each.gpu in held for kind in UNUSABLE for each in faults.lasting(ill, kind)):
        return "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable"
    return None
