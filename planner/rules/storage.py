"""The shared file system of AWS, and what runs ask of storage anywhere."""

from collections.abc import Iterable, Iterator

from planner.draft import AwsDraft, Draft, aws_rule, rule
from planner.findings import Observation, Severity
from planner.rules.known import runs
from planner.storage import fsx, local
from planner.storage.need import local_write_seconds, shared_write_gb_per_s, staged_gb_per_node
from planner.storage.types import RunStorage, StoragePlan

_GUIDE = 'FSx for Lustre user guide, "Managing storage capacity" and "EFA-enabled file systems"'
_TYPES = {"fsx": "FSx for Lustre", "lustre": "Lustre", "ceph": "Ceph"}


@aws_rule(
    "fsx-size",
    "G05",
    "ST18",
    formula="1200 GiB or a multiple of 2400; with EFA a multiple of the tier's own step",
    source=_GUIDE,
)
def fsx_size(draft: AwsDraft) -> Iterable[Observation]:
    """FSx sells 1200 GiB and multiples of 2400; with EFA the tier decides the step, which is the minimum too."""
    lustre = draft.settings.storage.lustre
    tier, step = lustre.throughput_mbps_per_tib, fsx.step_gib(lustre.throughput_mbps_per_tib, lustre.efa)
    if fsx.is_size(lustre.capacity_gib, tier, lustre.efa):
        return
    below, above = fsx.sizes_around(lustre.capacity_gib, tier, lustre.efa)
    own_step = step != fsx.STEP_GIB
    kind = f"an EFA file system of {tier} MB/s per TiB" if own_step else "FSx for Lustre"
    sizes = f"multiples of {step} GiB" if own_step else f"{fsx.SMALLEST_GIB} GiB and multiples of {step} GiB"
    yield Observation(
        path="storage.lustre.capacityGib",
        sentence=f"{lustre.capacity_gib} GiB is not a size of {kind}, which come in {sizes}",
        remedy=f"take {above}" if below == above else f"take {below} or {above}",
        inputs={"capacity": f"{lustre.capacity_gib} GiB", "step": f"{step} GiB"},
    )


@aws_rule("fsx-efa-clients", "G05", formula="EFA interfaces of a training node >= 1, if efa", source=_GUIDE)
def fsx_efa_clients(draft: AwsDraft) -> Iterable[Observation]:
    """An EFA file system has clients with EFA; others reach it over TCP at a part of its speed."""
    planned = [pool for pool in draft.pools.values() if pool.role == "training"]
    if draft.settings.storage.lustre.efa and not any(pool.efa for pool in planned):
        types = ", ".join(sorted({pool.instance.type for pool in planned})) or "none"
        yield Observation(
            path="storage.lustre.efa",
            sentence=f"no training pool has EFA (types: {types}), so nobody could use the file system's",
            remedy="remove the key, or take a training type with EFA",
            inputs={"training pools with EFA": f"0 of {len(planned)}"},
        )


@aws_rule(
    "fsx-efa-client-setup",
    "G05",
    severity=Severity.WARNING,
    source='FSx for Lustre user guide, "Configuring EFA clients"',
    formula="no efa, as the EKS AMI lacks the client's setup",
)
def fsx_efa_client_setup(draft: AwsDraft) -> Iterable[Observation]:
    """Lustre speaks EFA only on nodes that AWS' client setup has prepared; others mount over TCP and say nothing.

    The EKS AMI does not carry the setup.
    """
    if draft.settings.storage.lustre.efa:
        yield Observation(
            path="storage.lustre.efa",
            sentence="the nodes' AMI lacks the EFA client of Lustre, so mounts fall back to TCP without a word",
            remedy="bake AWS' client setup into the nodes' image, or remove the key",
        )


@rule(
    "checkpoint-write",
    "ST01",
    "ST02",
    "G23",
    formula="checkpoint bytes / allowed seconds <= min(file system, nodes x network)",
    source="14 bytes per parameter: ZeRO (Rajbhandari et al. 2020)",
)
def checkpoint_write(draft: Draft) -> Iterable[Observation]:
    """A checkpoint is written in the time that training may stand still, or before the next one where it is copied."""
    for path, run, storage in _stored(draft):
        asked, there = shared_write_gb_per_s(run.io), min(storage.write_gb_per_s, run.nodes_gb_per_s)
        if asked <= there or not there:
            continue
        seconds = run.io.every_s if run.io.local else run.io.within_s
        pace = "copied before the next one is due" if run.io.local else "written"
        yield Observation(
            path=f"{path}.checkpoint.{'everyMinutes' if run.io.local else 'withinSeconds'}",
            sentence=f"a checkpoint of {run.io.checkpoint_gb:.0f} GB {pace} in {seconds:g} s takes {asked:.1f} GB/s, "
            f"and {_bottleneck(run, storage)} {there:.1f} GB/s, where it would take "
            f"{run.io.checkpoint_gb / there:.0f} s",
            remedy=_more_write(draft, run, storage, asked),
            subject=run.io.name,
            inputs={
                "checkpoint": f"{run.io.checkpoint_gb:.1f} GB",
                "seconds": f"{seconds:g} s",
                "file system": f"{storage.write_gb_per_s:.1f} GB/s",
                "nodes": f"{run.nodes_gb_per_s:.1f} GB/s",
            },
        )


@rule(
    "checkpoints-together",
    "ST02",
    "G23",
    severity=Severity.WARNING,
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
    "checkpoint-local-write",
    "G17",
    "G23",
    formula="checkpoint bytes / nodes / NVMe write rate <= allowed seconds",
    source="4 GB/s per drive: Samsung PM9A3 data sheet, approximate",
)
def checkpoint_local_write(draft: Draft) -> Iterable[Observation]:
    """A checkpoint that goes to the nodes' own disks first is on them in the time training may stand still."""
    for path, run, _ in _stored(draft):
        rate = local.write_gb_per_s(run.nvme)
        if not run.io.local or not rate:
            continue
        seconds = local_write_seconds(run.io, rate)
        if seconds > run.io.within_s:
            yield Observation(
                path=f"{path}.checkpoint.withinSeconds",
                sentence=f"each of {run.io.nodes} nodes writes {run.io.checkpoint_gb / run.io.nodes:.0f} GB of a "
                f"checkpoint at about {rate:.0f} GB/s to its own disks, which takes {seconds:.0f} s, not "
                f"{run.io.within_s:g}",
                remedy=f"allow {seconds:.0f} seconds, or take nodes with more NVMe drives",
                subject=run.io.name,
                inputs={"per node": f"{run.io.checkpoint_gb / run.io.nodes:.1f} GB", "NVMe": f"{rate:.0f} GB/s"},
            )


@rule(
    "nvme-capacity",
    "ST12",
    "B09",
    formula="staged data + kept checkpoints / nodes <= 0.8 x NVMe",
    source="Definition of the planner: a fifth of the drives stays free",
)
def nvme_capacity(draft: Draft) -> Iterable[Observation]:
    """What a run keeps on its nodes' own disks leaves a fifth of them free."""
    for path, run, _ in _stored(draft):
        needed, raw = local.local_gb(run.io), local.raw_gb(run.nvme)
        if local.fits(run.io, run.nvme):
            continue
        staged = staged_gb_per_node(run.io.dataset_gb, run.io.nodes, run.io.staging)
        staging_is_more = staged >= needed - staged
        shard = run.io.dataset_gb / run.io.nodes
        yield Observation(
            path=f"{path}.dataset.staging" if staging_is_more else f"{path}.checkpoint.keep",
            sentence=f"each node would keep {needed:.1f} GB on its own disks ({staged:.1f} GB staged, "
            f"{needed - staged:.1f} GB of checkpoints), and {local.FILL:.0%} of their {raw:.0f} GB are "
            f"{local.FILL * raw:.0f} GB",
            remedy=f"stage shards ({shard:.1f} GB a node), or read from the shared file system"
            if staging_is_more
            else "keep fewer checkpoints, or write them to the shared file system",
            subject=run.io.name,
            inputs={"needed": f"{needed:.1f} GB", "NVMe": f"{raw:.0f} GB", "nodes": str(run.io.nodes)},
        )


@rule(
    "storage-capacity",
    "G28",
    "ST04",
    "ST05",
    formula="max(dataTib, datasets + kept checkpoints) <= usable",
    source="Definition of the stack file (dataTib, dataset, checkpoint.keep); redundancy of the file system",
)
def storage_capacity(draft: Draft) -> Iterable[Observation]:
    """The shared file system holds the data and the checkpoints that are kept, as usable capacity, not raw."""
    storage = draft.storage
    if storage is None or storage.needed_tb <= storage.usable_tb:
        return
    path = {"fsx": "storage.lustre.capacityGib", "lustre": "storage.lustre.count", "ceph": "storage.ceph.count"}
    yield Observation(
        path=path[storage.kind],
        sentence=f"datasets and checkpoints take {storage.needed_tb:.1f} TB, and of {storage.raw_tb:.1f} TB raw "
        f"{storage.usable_tb:.1f} TB are usable on {_TYPES[storage.kind]}",
        remedy=f"take {storage.needed_tb / storage.usable_tb:.2f} times as much, or keep less"
        if storage.usable_tb
        else "give it drives, as its groups of drives hold nothing now",
        inputs={
            "needed": f"{storage.needed_tb:.1f} TB",
            "raw": f"{storage.raw_tb:.1f} TB",
            "usable": f"{storage.usable_tb:.1f} TB",
        },
    )


def _stored(draft: Draft) -> Iterator[tuple[str, RunStorage, StoragePlan]]:
    """Runs whose storage is planned, with their settings paths."""
    for path, run in runs(draft):
        if draft.storage is not None and run.name in draft.storage.runs:
            yield path, draft.storage.runs[run.name], draft.storage


def _bottleneck(run: RunStorage, storage: StoragePlan) -> str:
    if run.nodes_gb_per_s < storage.write_gb_per_s:
        return f"the storage ports of its {run.io.nodes} nodes carry"
    bound = f", bound by {storage.write.bound_by}," if storage.write else ""
    return f"{_TYPES[storage.kind]}{bound} writes"


def _more_write(draft: Draft, run: RunStorage, storage: StoragePlan, asked: float) -> str:
    if isinstance(draft, AwsDraft) and storage.write_gb_per_s < asked:
        lustre = draft.settings.storage.lustre
        gib = fsx.capacity_gib_for(asked, lustre.throughput_mbps_per_tib, lustre.efa)
        return f"set storage.lustre.capacityGib to {gib}, or allow more seconds"
    where = "" if run.io.local else ", or set checkpoint.local"
    return f"allow more seconds{where}, or give the slower side more ports"
