"""The shared file system of AWS, and what runs ask of storage anywhere."""

from collections.abc import Iterable
from math import ceil

from planner.draft import AwsDraft, Draft, MetalDraft, aws_rule, aws_warning, rule
from planner.findings import Observation
from planner.rules.known import stored
from planner.storage import fsx, tiers
from planner.storage.need import staged_gb_per_node
from planner.storage.types import FILE_SYSTEMS, RunStorage, StoragePlan
from settings.aws_storage import MOST_GIB
from settings.metal_storage import MOST_SERVERS

_GUIDE = 'FSx for Lustre user guide, "Managing storage capacity" and "EFA-enabled file systems"'


@aws_rule(
    "G05 ST18", formula="1200 GiB or a multiple of 2400; with EFA a multiple of the tier's own step", source=_GUIDE
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


@aws_rule("G05", formula="EFA interfaces of a training node >= 1, if efa", source=_GUIDE)
def fsx_efa_clients(draft: AwsDraft) -> Iterable[Observation]:
    """An EFA file system has clients with EFA; others reach it over TCP at a part of its speed."""
    planned = [pool for pool in draft.pools.values() if pool.role == "training"]
    if draft.settings.storage.lustre.efa and not any(pool.efa for pool in planned):
        types = ", ".join(sorted({pool.instance.type for pool in planned})) or "none"
        yield Observation(
            path="storage.lustre.efa",
            sentence=f"no training pool has EFA (types: {types}), so no node could use that of the file system",
            remedy="remove the key, or take a training type with EFA",
            inputs={"training pools with EFA": f"0 of {len(planned)}"},
        )


@aws_rule(
    "G05",
    formula="sum of (nodes and what an update runs beside them) x EFA interfaces of their Lustre clients <= 1024",
    source='FSx for Lustre user guide, "Configuring EFA clients": 1024 EFA connections of a file system',
)
def fsx_efa_connections(draft: AwsDraft) -> Iterable[Observation]:
    """Every node has its EFA connections to the file system; those beyond its limit get none."""
    connections = sum((pool.count + pool.surge) * pool.lustre_efa for pool in draft.pools.values())
    if connections > fsx.EFA_CONNECTIONS:
        yield Observation(
            path="storage.lustre.efa",
            sentence=f"the nodes' clients would have {connections} EFA connections, and FSx takes "
            f"{fsx.EFA_CONNECTIONS} to one file system",
            remedy="take fewer nodes with EFA in this stack, or remove the key",
            inputs={"connections": str(connections), "limit": str(fsx.EFA_CONNECTIONS)},
        )


@aws_warning(
    "G05",
    formula="no storage.lustre.associations, if lifecycle.protect",
    source="FSx API reference, CreateBackup: backups are of file systems that are not linked to a data repository",
)
def association_backups(draft: AwsDraft) -> Iterable[Observation]:
    """A protected stack has backups of its file system, or somebody has read that links end them."""
    if draft.settings.lifecycle.protect and draft.settings.storage.lustre.associations:
        yield Observation(
            path="storage.lustre.associations",
            sentence="FSx makes no backups of a file system that is linked with S3, so what is not exported there has "
            "no second copy",
            remedy="export what must stay (exports: [new, changed, deleted]), or copy the data by training.datasets "
            "in place of links",
        )


@aws_warning(
    "G05",
    by_name=True,
    formula="no keyArn of a bucket that an association names",
    source='FSx for Lustre user guide, "Working with server-side encrypted Amazon S3 buckets"',
)
def association_key(draft: AwsDraft) -> Iterable[Observation]:
    """A link with a bucket of SSE-KMS works where the key's own policy lets FSx's role use it; no policy here can."""
    keys = {each.bucket: each.key_arn for each in draft.settings.storage.sources}
    for index, each in enumerate(draft.settings.storage.lustre.associations):
        bucket = each.source.removeprefix("s3://").partition("/")[0]
        if key := keys.get(bucket):
            yield Observation(
                path=f"storage.lustre.associations[{index}].source",
                sentence=f"{bucket} is encrypted with {key}, whose own policy has to let FSx's role in, or the link "
                "becomes MISCONFIGURED",
                remedy="let AWSServiceRoleForFSxS3Access_* of this account use the key, then waive association-key "
                "with the bucket as subject",
                subject=bucket,
            )


@rule(
    "ST12 B09",
    each=stored,
    formula="staged data + kept checkpoints / nodes <= 0.8 x NVMe",
    source="Definition of the planner: a fifth of the drives stays free",
)
def nvme_capacity(_: Draft, run: RunStorage, _storage: StoragePlan) -> Iterable[Observation]:
    """What a run keeps on its nodes' own disks leaves a fifth of them free."""
    needed, raw = tiers.local_gb(run.io), tiers.raw_gb(run.nvme)
    if tiers.fits(run.io, run.nvme):
        return
    staged = staged_gb_per_node(run.io.dataset_gb, run.io.nodes, run.io.staging)
    staging_is_more = staged >= needed - staged
    shard = run.io.dataset_gb / run.io.nodes
    yield Observation(
        path="dataset.staging" if staging_is_more else "checkpoint.keep",
        sentence=f"each node would keep {needed:.1f} GB on its own disks ({staged:.1f} GB staged, "
        f"{needed - staged:.1f} GB of checkpoints), and {tiers.FILL:.0%} of their {raw:.0f} GB are "
        f"{tiers.FILL * raw:.0f} GB",
        remedy=(f"set it to shard ({shard:.1f} GB a node), or " if needed - staged + shard <= tiers.FILL * raw else "")
        + "read from the shared file system"
        if staging_is_more
        else "keep fewer checkpoints, or write them to the shared file system",
        subject=run.io.name,
        inputs={"needed": f"{needed:.1f} GB", "NVMe": f"{raw:.0f} GB", "nodes": str(run.io.nodes)},
    )


@rule(
    "G28 ST04 ST05",
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
        f"{storage.usable_tb:.1f} TB are usable on {FILE_SYSTEMS[storage.kind]}",
        remedy=_more_room(draft, storage),
        inputs={
            "needed": f"{storage.needed_tb:.1f} TB",
            "raw": f"{storage.raw_tb:.1f} TB",
            "usable": f"{storage.usable_tb:.1f} TB",
        },
    )


def _more_room(draft: Draft, storage: StoragePlan) -> str:
    """The size that holds what is needed: one that AWS sells, or so many servers."""
    if not storage.usable_tb:
        return "give it drives, as its groups of drives hold nothing now"
    times, wanted, most = storage.needed_tb / storage.usable_tb, 0, 0
    if isinstance(draft, AwsDraft):
        lustre, most = draft.settings.storage.lustre, MOST_GIB
        _, wanted = fsx.sizes_around(ceil(lustre.capacity_gib * times) - 1, lustre.throughput_mbps_per_tib, lustre.efa)
    elif isinstance(draft, MetalDraft):
        wanted, most = ceil(draft.settings.storage.servers[0].count * times), MOST_SERVERS
    return f"set it to {wanted}, or keep less" if wanted <= most else "keep less"
