"""Whether a run's checkpoints get to their places in time."""

from collections.abc import Iterable, Iterator
from math import ceil

from catalogue.units import SECONDS_PER_HOUR
from planner.cost.stack import fsx_service
from planner.draft import AwsDraft, Draft, MetalDraft, rule, warning
from planner.findings import Observation
from planner.reliability.checkpoints import Saving
from planner.rules.known import impossible, runs, stored
from planner.storage import fsx, tiers
from planner.storage.need import local_write_seconds, shared_write_gb_per_s
from planner.storage.types import FILE_SYSTEMS, RunStorage, StoragePlan
from planner.wording import enough
from settings.checkpoints import COPY_HOURS, MOST_KEPT
from settings.workloads import TrainingRun


def _saving(draft: Draft) -> Iterator[tuple[str, RunStorage, Saving, StoragePlan]]:
    """The runs that save, with their settings paths."""
    for path, run, storage in stored(draft):
        if run.io.saving is not None:
            yield path, run, run.io.saving, storage


@rule(
    "ST01 ST02 G23",
    each=_saving,
    formula="checkpoint bytes / allowed seconds <= min(file system, nodes x network)",
    source="14 bytes per parameter: ZeRO (Rajbhandari et al. 2020)",
)
def checkpoint_write(draft: Draft, run: RunStorage, saving: Saving, storage: StoragePlan) -> Iterable[Observation]:
    """A checkpoint is written in the time that training may stand still, or before the next one where it is copied."""
    asked, there = shared_write_gb_per_s(run.io), min(storage.write_gb_per_s, run.nodes_gb_per_s)
    if asked <= there or not there:
        return
    seconds = saving.file_system_s if saving.local else saving.within_s
    pace = "copied before the next one is due" if saving.local else "written"
    rarer = "fileSystemMinutes" if saving.file_system_s > saving.every_s else "everyMinutes"
    yield Observation(
        path=f"checkpoint.{rarer if saving.local else 'withinSeconds'}",
        sentence=f"a checkpoint of {run.io.checkpoint_gb:.0f} GB {pace} in {seconds:g} s takes {asked:.1f} GB/s, "
        f"and {_bottleneck(run, storage)} {there:.1f} GB/s, where it would take "
        f"{run.io.checkpoint_gb / there:.0f} s",
        remedy=_more_write(draft, run, saving, storage, asked),
        subject=run.io.name,
        inputs={
            "checkpoint": f"{run.io.checkpoint_gb:.1f} GB",
            "seconds": f"{seconds:g} s",
            "file system": f"{storage.write_gb_per_s:.1f} GB/s",
            "nodes": f"{run.nodes_gb_per_s:.1f} GB/s",
        },
    )


@warning(
    "ST02 G23",
    formula="sum of the runs' checkpoint bytes / allowed seconds <= file system",
    source="14 bytes per parameter: ZeRO (Rajbhandari et al. 2020)",
)
def checkpoints_together(draft: Draft) -> Iterable[Observation]:
    """Runs that save at the same moment share the file system."""
    storage = draft.storage
    if storage is None or storage.target_write_gb_per_s <= storage.write_gb_per_s:
        return
    each = [shared_write_gb_per_s(run.io) for run in storage.runs.values()]
    if max(each) <= storage.write_gb_per_s:
        yield Observation(
            path="training.runs",
            sentence=f"checkpoints of all {sum(rate > 0 for rate in each)} runs at once take "
            f"{storage.target_write_gb_per_s:.1f} GB/s, and the file system writes {storage.write_gb_per_s:.1f} GB/s",
            remedy="expect longer pauses when they coincide, or allow them more seconds",
            inputs={
                "asked": f"{storage.target_write_gb_per_s:.1f} GB/s",
                "file system": f"{storage.write_gb_per_s:.1f} GB/s",
            },
        )


@rule(
    "G17 G23",
    each=_saving,
    formula="checkpoint bytes / nodes / NVMe write rate <= allowed seconds",
    source="4 GB/s per drive: Samsung PM9A3 data sheet, approximate",
)
def checkpoint_local_write(_: Draft, run: RunStorage, saving: Saving, _storage: StoragePlan) -> Iterable[Observation]:
    """A checkpoint that goes to the nodes' own disks first is on them in the time training may stand still."""
    rate = tiers.write_gb_per_s(run.nvme)
    if not saving.local or not rate:
        return
    seconds = local_write_seconds(run.io, rate)
    if seconds > saving.within_s:
        longer = (
            f"set it to {enough(seconds, 0)}" if seconds < saving.every_s - 1 else "save more seldom, allow it more"
        )
        yield Observation(
            path="checkpoint.withinSeconds",
            sentence=f"each of {run.io.nodes} nodes writes {run.io.checkpoint_gb / run.io.nodes:.0f} GB of a "
            f"checkpoint at about {rate:.0f} GB/s to its own disks, which takes {seconds:.0f} s, not "
            f"{saving.within_s:g}",
            remedy=f"{longer}, or take nodes with more NVMe drives",
            subject=run.io.name,
            inputs={"per node": f"{run.io.checkpoint_gb / run.io.nodes:.1f} GB", "NVMe": f"{rate:.0f} GB/s"},
        )


@rule(
    "T01",
    each=_saving,
    formula="2 x checkpoint bytes / one copier's rate <= objectStoreHours, and <= keep x interval",
    source='EC2 user guide, "Amazon EC2 instance network bandwidth"; sha256sum on one core, approximate',
)
def checkpoint_object_copy(_: Draft, run: RunStorage, saving: Saving, storage: StoragePlan) -> Iterable[Observation]:
    """A copy to the object store is whole before the next one begins; it is read twice, once to check its hashes."""
    every, taken, kept = saving.object_store_s, run.object_copy_s, saving.keep * saving.file_system_s
    if not every or not taken or taken <= min(every, kept):
        return
    larger = "give the copier nodes with a faster network"
    size, rate = f"{run.io.checkpoint_gb:.0f} GB", f"{storage.object_gb_per_s:.2f} GB/s"
    if taken > every:
        key, then = "objectStoreHours", f"the next copy is due after {every / SECONDS_PER_HOUR:g}"
        hours = next((each for each in COPY_HOURS if each * SECONDS_PER_HOUR >= taken), None)
        remedy = f"set it to {hours} or more, or {larger}" if hours else larger
    else:
        key, then = "keep", f"a save is on the file system for {kept / SECONDS_PER_HOUR:.1f}"
        kept_saves = ceil(taken / saving.file_system_s)
        remedy = f"set it to {kept_saves} or more, or {larger}" if kept_saves <= MOST_KEPT else larger
    yield Observation(
        path=f"checkpoint.{key}",
        sentence=f"copying {size} takes one copier {taken / SECONDS_PER_HOUR:.1f} h at {rate}, and {then}",
        remedy=remedy,
        subject=run.io.name,
        inputs={
            "checkpoint": size,
            "copier": rate,
            "every": f"{every / SECONDS_PER_HOUR:g} h",
            "keep": str(saving.keep),
        },
    )


@rule(
    "S05",
    each=runs,
    formula="checkpoint.sidecar: another framework than reference, launcher torchrun, api v1, no Slurm, fixed nodes "
    "with local; the pod has 2 cores and 4 GiB beside shmGib at least: it takes an eighth, up to 4, and 2 GiB",
    source="Kubernetes documentation, Sidecar Containers; node/trainer/sealing.py",
)
def sidecar_cannot(draft: Draft, run: TrainingRun) -> Iterable[Observation]:
    """The container that seals and copies saves knows its pod's part, and is no second copier."""
    saves = run.checkpoint
    if saves is None or not saves.sidecar:
        return
    moves = saves.local and run.elastic is not None
    slurm = isinstance(draft, MetalDraft) and run.pool in draft.settings.slurm.pools
    lacking = {
        "framework": (run.framework == "reference", "the bundled trainer does the same itself", "take another"),
        "launcher": (run.launcher == "mpi", "parts are told apart by the training operator", "set it to torchrun"),
        "api": (run.api == "v2", "parts are told apart by the training operator's index", "set it to v1"),
        "pool": (slurm, "batch scripts of Slurm start no container beside the ranks", "take another"),
        "elastic": (moves, "nobody knows of how many parts a save is whose nodes come and go", "remove it"),
    }
    yield from impossible("checkpoint.sidecar", lacking, "remove checkpoint.sidecar")
    planned = draft.runs.get(run.name)
    if planned is not None and (
        planned.pod.cpu_millicores < 2000 or planned.pod.memory_mib - planned.pod.shm_mib < 4096
    ):
        yield Observation(
            path="checkpoint.sidecar",
            sentence=f"it takes a core and 2 GiB of a pod that has {planned.pod.cpu_millicores // 1000} cores and "
            f"{(planned.pod.memory_mib - planned.pod.shm_mib) // 1024} GiB beside shmGib",
            remedy="remove it, or take larger nodes or a smaller shmGib",
        )


@warning(
    "T01 S05",
    each=runs,
    formula="framework megatron, nemo or deepspeed with objectStoreHours or followUps: checkpoint.sidecar",
    source="components/training/backup.py and node/follow_up/ask.py look for SHA256SUMS, which these do not write",
)
def saves_without_hashes(_: Draft, run: TrainingRun) -> Iterable[Observation]:
    """What takes a run's newest whole save finds none where nobody hashes them."""
    saves = run.checkpoint
    if saves is None or saves.sidecar or run.framework not in ("megatron", "nemo", "deepspeed"):
        return
    if saves.object_store_hours is not None or run.follow_ups:
        yield Observation(
            path="checkpoint.sidecar",
            sentence=f"{run.framework} writes no SHA256SUMS, so that no checkpoint is taken for complete: none goes to "
            "the object store or to a follow-up",
            remedy="set it to true, or let the script write SHA256SUMS at the end of each",
        )


def _bottleneck(run: RunStorage, storage: StoragePlan) -> str:
    if run.nodes_gb_per_s < storage.write_gb_per_s:
        return f"the storage ports of its {run.io.nodes} nodes carry"
    bound = f", bound by {storage.write.bound_by}," if storage.write else ""
    return f"{FILE_SYSTEMS[storage.kind]}{bound} writes"


def _faster(draft: AwsDraft, asked: float) -> Iterator[tuple[float, str]]:
    """Ways to a file system that writes so many GB/s: what each costs more in USD an hour, and what to type."""
    lustre, prices = draft.settings.storage.lustre, draft.catalogue.services
    tier = lustre.throughput_mbps_per_tib

    def usd(tier: int | None, gib: int) -> float:
        return prices[fsx_service(lustre.deployment_type, tier)].usd_per_hour * gib

    now = usd(tier, lustre.capacity_gib)
    gib = fsx.capacity_gib_for(asked, tier, lustre.efa)
    yield usd(tier, gib) - now, f"storage.lustre.capacityGib to {gib}"
    for faster in fsx.EFA_STEP_GIB if tier else ():
        fits = fsx.is_size(lustre.capacity_gib, faster, lustre.efa)
        if faster > (tier or 0) and fits and fsx.mb_per_s(lustre.capacity_gib, faster) >= asked * 1000:
            yield usd(faster, lustre.capacity_gib) - now, f"storage.lustre.throughputMbpsPerTib to {faster}"
            return


def _more_write(draft: Draft, run: RunStorage, saving: Saving, storage: StoragePlan, asked: float) -> str:
    if isinstance(draft, AwsDraft) and storage.write_gb_per_s < asked <= run.nodes_gb_per_s:
        ways = [f"set {change} (+{more:,.2f} USD an hour)" for more, change in sorted(_faster(draft, asked))]
        return " or ".join([*ways, "allow more seconds"])
    where = "" if saving.local else ", or set checkpoint.local"
    return f"allow more seconds{where}, or give the slower side more ports"
