"""What NVIDIA's tools call the GPUs that EC2 sells, and the node labels GPU feature discovery makes of it.

Product strings are those of `nvidia-smi -q` ("Product Name") with blanks as dashes, as k8s-device-plugin's GFD writes
them; memory is the total in MiB that the driver reports, which differs from EC2's figure. Recorded from vendors'
published output; an EC2 GPU that is not in the table gets no labels.
"""

from __future__ import annotations

from dataclasses import dataclass

from rehearsal.effects.hardware import Machine


@dataclass(frozen=True)
class Gpu:
    """One GPU model as the driver sees it; memory in MiB."""

    product: str
    memory: int
    family: str
    compute: tuple[int, int]
    mig: bool


_BY_NAME_AND_EC2_MEMORY: dict[tuple[str, int], Gpu] = {
    ("V100", 32768): Gpu("Tesla-V100-SXM2-32GB", 32768, "volta", (7, 0), mig=False),
    ("T4", 16384): Gpu("Tesla-T4", 15360, "turing", (7, 5), mig=False),
    ("T4g", 16384): Gpu("NVIDIA-T4G", 15360, "turing", (7, 5), mig=False),
    ("A10G", 22888): Gpu("NVIDIA-A10G", 23028, "ampere", (8, 6), mig=False),
    ("A100", 40960): Gpu("NVIDIA-A100-SXM4-40GB", 40960, "ampere", (8, 0), mig=True),
    ("A100", 81920): Gpu("NVIDIA-A100-SXM4-80GB", 81920, "ampere", (8, 0), mig=True),
    ("L4", 22888): Gpu("NVIDIA-L4", 23034, "ada-lovelace", (8, 9), mig=False),
    ("L40S", 45776): Gpu("NVIDIA-L40S", 46068, "ada-lovelace", (8, 9), mig=False),
    ("H100", 81920): Gpu("NVIDIA-H100-80GB-HBM3", 81559, "hopper", (9, 0), mig=True),
    ("H200", 144384): Gpu("NVIDIA-H200", 143771, "hopper", (9, 0), mig=True),
    ("B200", 183359): Gpu("NVIDIA-B200", 183359, "blackwell", (10, 0), mig=True),
    ("B300", 275040): Gpu("NVIDIA-B300-SXM6-AC", 275040, "blackwell", (10, 3), mig=True),
    ("RTX PRO Server 6000", 98304): Gpu(
        "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", 97887, "blackwell", (12, 0), mig=True
    ),
}


def find(machine: Machine) -> Gpu | None:
    """The GPU model of an instance type; None without GPUs or when its strings were never recorded."""
    return _BY_NAME_AND_EC2_MEMORY.get((machine.gpu or "", machine.gpu_memory))


def discovery_labels(machine: Machine) -> dict[str, str]:
    """The labels GPU feature discovery puts on a node of this type (source: k8s-device-plugin, docs/gpu-feature-
    discovery, "generated labels"); empty for a machine whose GPU is unknown.
    """
    gpu = find(machine)
    if gpu is None:
        return {}
    major, minor = gpu.compute
    return {
        "nvidia.com/gpu.product": gpu.product,
        "nvidia.com/gpu.count": str(machine.gpu_count),
        "nvidia.com/gpu.memory": str(gpu.memory),
        "nvidia.com/gpu.family": gpu.family,
        "nvidia.com/gpu.compute.major": str(major),
        "nvidia.com/gpu.compute.minor": str(minor),
        "nvidia.com/gpu.machine": machine.instance_type,
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/mig.capable": str(gpu.mig).lower(),
        "nvidia.com/mig.strategy": "single",
    }
