"""What NVIDIA's tools call the GPUs that EC2 sells and one that labs own, what MIG makes of them, and the node labels
and resources of it.

Product strings are those of `nvidia-smi -q` ("Product Name") with blanks as dashes, as k8s-device-plugin's GFD writes
them; memory is the total in MiB that the driver reports, which differs from EC2's figure. Recorded from vendors'
published output; an EC2 GPU that is not in the table gets no labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rehearsal.cloud.seen.hardware import Machine

GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class Gpu:
    """One GPU model as the driver sees it; memory in MiB. `slices` counts how often each MIG profile fits, alone.

    Source of the slices: NVIDIA, MIG user guide, "Supported MIG profiles"; empty for a GPU that cannot be cut.
    """

    product: str
    memory: int
    family: str
    compute: tuple[int, int]
    slices: Mapping[str, int] = field(default_factory=dict, hash=False)


def _seven(small: int, large: int, whole: int) -> dict[str, int]:
    """The profiles of a GPU of seven compute slices, by the GB of an eighth, a quarter (half: twice that) and all."""
    half = (whole + 1) // 2
    return {
        f"1g.{small}gb": 7,
        f"1g.{large}gb": 4,
        f"2g.{large}gb": 3,
        f"3g.{half}gb": 2,
        f"4g.{half}gb": 1,
        f"7g.{whole}gb": 1,
    }


_BY_NAME_AND_EC2_MEMORY: dict[tuple[str, int], Gpu] = {
    ("V100", 32768): Gpu("Tesla-V100-SXM2-32GB", 32768, "volta", (7, 0)),
    ("T4", 16384): Gpu("Tesla-T4", 15360, "turing", (7, 5)),
    ("T4g", 16384): Gpu("NVIDIA-T4G", 15360, "turing", (7, 5)),
    ("A10G", 22888): Gpu("NVIDIA-A10G", 23028, "ampere", (8, 6)),
    ("A100", 40960): Gpu("NVIDIA-A100-SXM4-40GB", 40960, "ampere", (8, 0), _seven(5, 10, 40)),
    ("A100", 81920): Gpu("NVIDIA-A100-SXM4-80GB", 81920, "ampere", (8, 0), _seven(10, 20, 80)),
    ("L4", 22888): Gpu("NVIDIA-L4", 23034, "ada-lovelace", (8, 9)),
    ("L40S", 45776): Gpu("NVIDIA-L40S", 46068, "ada-lovelace", (8, 9)),
    ("H100", 81920): Gpu("NVIDIA-H100-80GB-HBM3", 81559, "hopper", (9, 0), _seven(10, 20, 80)),
    ("H200", 144384): Gpu("NVIDIA-H200", 143771, "hopper", (9, 0), _seven(18, 35, 141)),
    ("B200", 183359): Gpu("NVIDIA-B200", 183359, "blackwell", (10, 0), _seven(23, 45, 180)),
    ("B300", 275040): Gpu("NVIDIA-B300-SXM6-AC", 275040, "blackwell", (10, 3), _seven(34, 67, 269)),
    ("RTX PRO Server 6000", 98304): Gpu(
        "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition",
        97887,
        "blackwell",
        (12, 0),
        {"1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1},
    ),
    # Of no EC2 type, so the name and the memory are the driver's.
    ("RTX 3060", 12288): Gpu("NVIDIA-GeForce-RTX-3060", 12288, "ampere", (8, 6)),
}


def find(machine: Machine) -> Gpu | None:
    """The GPU model of an instance type; None without GPUs or when its strings were never recorded."""
    return _BY_NAME_AND_EC2_MEMORY.get((machine.gpu or "", machine.gpu_memory))


def slices(machine: Machine, profile: str) -> int:
    """How many slices of a profile all GPUs of a machine give; 0 if they cannot be cut so."""
    gpu = find(machine)
    return machine.gpu_count * gpu.slices.get(profile, 0) if gpu else 0


def offered(machine: Machine, profile: str | None, strategy: str, turns: int = 1) -> dict[str, int]:
    """The resources a device plugin advertises for a machine whose GPUs are cut by `profile` (None: whole), each so
    often as pods take turns on it.

    Source: k8s-device-plugin README, "MIG strategies" and "Shared access to GPUs". Under `none` a cut GPU is offered
    neither whole nor in slices.
    """
    if profile is None:
        return {GPU: machine.gpu_count * turns}
    count = slices(machine, profile) * turns
    return {
        "single": {GPU: count},
        "mixed": {GPU: 0, slice_resource(profile): count},
    }.get(strategy, {GPU: 0})


def slice_resource(profile: str) -> str:
    """The resource of a slice under the strategy `mixed`."""
    return f"nvidia.com/mig-{profile.replace('+', '.')}"


def discovery_labels(
    machine: Machine, profile: str | None = None, strategy: str = "single", turns: int = 1
) -> dict[str, str]:
    """The labels GPU feature discovery puts on a node of this type (source: k8s-device-plugin, docs/gpu-feature-
    discovery, "generated labels"); empty for a machine whose GPU is unknown.

    Cut GPUs are named with their profile under `single`, and those that pods take turns on are SHARED; how much memory
    a slice reports was never recorded, and that label stays the GPU's.
    """
    gpu = find(machine)
    if gpu is None:
        return {}
    major, minor = gpu.compute
    single = profile is not None and strategy == "single"
    product = f"{gpu.product}-MIG-{profile}".replace("+", ".") if single else gpu.product
    return {
        "nvidia.com/gpu.product": product + ("-SHARED" if turns > 1 else ""),
        "nvidia.com/gpu.count": str(slices(machine, profile) if profile and single else machine.gpu_count),
        "nvidia.com/gpu.memory": str(gpu.memory),
        "nvidia.com/gpu.family": gpu.family,
        "nvidia.com/gpu.compute.major": str(major),
        "nvidia.com/gpu.compute.minor": str(minor),
        "nvidia.com/gpu.machine": machine.instance_type,
        "nvidia.com/gpu.replicas": str(turns),
        "nvidia.com/gpu.sharing-strategy": "time-slicing" if turns > 1 else "none",
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/mig.capable": str(bool(gpu.slices)).lower(),
        "nvidia.com/mig.strategy": strategy,
    }


def called(product: str) -> tuple[str, int]:
    """A model's name and memory (MiB) as EC2 has them, by the product that nvidia-smi shows; of one that EC2 does not
    sell the product itself, of which nothing is known.
    """
    dashed = product.replace(" ", "-")
    return next((key for key, gpu in _BY_NAME_AND_EC2_MEMORY.items() if gpu.product == dashed), (product, 0))
