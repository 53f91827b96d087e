"""Machines of Slurm: needs of its daemons that Kubernetes nodes meet in another way."""

from collections.abc import Iterable

from planner.draft import MetalDraft, metal_rule
from planner.findings import Observation


@metal_rule(
    "A03 W10",
    formula="slurm.pools only with a shared file system that machines mount",
    source="slurm.conf(5), StateSaveLocation: both controllers read and write it; jobs find scripts and images there",
)
def slurm_shared_files(draft: MetalDraft) -> Iterable[Observation]:
    """Slurm's state, scripts and checkpoints lie on a shared file system that every machine mounts itself."""
    if draft.slurms and draft.site and draft.site.shared_files is None:
        yield Observation(
            path="slurm.pools",
            sentence="Ceph's files are mounted by pods alone, and machines of Slurm have none"
            if draft.site.ceph
            else "machines of Slurm have no shared file system to mount",
            remedy="add inventory.sharedFiles or storage.lustre, or leave the pools to Kubernetes",
            inputs={"pools": str(len(draft.slurms))},
        )


@metal_rule(
    "A03 W04",
    formula="slurm.pools with GPUs only with inventory.driver: host",
    source="gres.conf(5), AutoDetect=nvml: slurmd asks the driver of its machine; NVIDIA GPU Operator documentation: "
    "driver containers are pods",
)
def slurm_driver(draft: MetalDraft) -> Iterable[Observation]:
    """Machines of Slurm have the driver of their GPUs themselves: no pod brings it."""
    there = [pool for pool in draft.slurms if pool.gpus_per_node]
    if there and draft.site and draft.site.driver != "host":
        yield Observation(
            path="inventory.driver",
            sentence=f"is {draft.site.driver}, and no pod brings a driver to machines of pool {there[0].name}, which "
            "are Slurm's",
            remedy="install the driver on the machines and take host, or leave the pool to Kubernetes",
            inputs={"pools": str(len(there))},
        )
