"""Datasets on the shared file system, or on a volume of their own where runs read a snapshot of them."""

import hashlib
from typing import NamedTuple

import pulumi

from components._base import physical_name
from components.storage import sums
from components.storage.snapshots import OwnFiles, OwnFilesArgs, Snapshot, SnapshotArgs
from components.storage.staged import DATASETS
from components.training.job import RunData
from planner.mlops import DatasetPlan
from stacks.copies import Copy, stage
from stacks.platform import Platform
from stacks.platform_services import Snapshots
from stacks.services import DATA, Services


def run_data(planned: DatasetPlan, platform: Platform, services: Services, inside: pulumi.ResourceOptions) -> RunData:
    """The directory of a dataset; one without a source lies there already."""
    claim = services.claims[DATA]
    if planned.source is None:
        return RunData(claim=claim, path=place(planned))
    copy = Copy(
        "dataset",
        planned.name,
        DATA,
        DATASETS,
        planned.source,
        planned.copy_seconds,
        compared=sums.DATA if planned.sha256 is not None else None,
        sha256=planned.sha256,
    )
    if planned.snapshot is not None and planned.own_gib is not None and platform.snapshots is not None:
        frozen = _Frozen(planned.name, planned.snapshot, planned.own_gib, platform.snapshots)
        return _as_of(frozen, copy, platform, services, inside)
    made = stage(copy, platform, services, inside)
    return RunData(claim=claim, path=made.path, ready=[made.loaded])


def place(planned: DatasetPlan) -> str:
    """Where on the shared file system a dataset lies that nobody copies."""
    return planned.path or f"{DATASETS}/{planned.name}"


class _Frozen(NamedTuple):
    """A dataset by name, the word of its snapshot, the GiB of its volume, and the classes of all of these."""

    name: str
    snapshot: str
    gib: int
    classes: Snapshots


def _as_of(
    frozen: _Frozen, copy: Copy, platform: Platform, services: Services, inside: pulumi.ResourceOptions
) -> RunData:
    """A dataset on a volume of its own, of which runs read a snapshot. Another snapshot or source is another one."""
    name, namespace, classes = f"dataset-{frozen.name}", services.namespaces[DATA[0]], frozen.classes
    files = OwnFilesArgs(name=name, namespace=namespace, storage_class=classes.files, gib=frozen.gib)
    own = OwnFiles(f"{name}-files", files, inside).claim
    made = stage(copy, platform, services, inside, own)
    taken = SnapshotArgs(
        name=physical_name(name, _digest(made.path, frozen.snapshot), limit=63),
        namespace=namespace,
        of=own,
        snapshot_class=classes.taken,
        storage_class=classes.read,
        gib=frozen.gib,
        labels={"gpucluster/dataset": frozen.name, "gpucluster/dataset-snapshot": frozen.snapshot},
        after=[made.loaded],
    )
    read = Snapshot(f"{name}-snapshot", taken, inside).claim
    return RunData(claim=read.metadata.name.apply(str), path=made.path, ready=[read])


def _digest(path: str, snapshot: str) -> str:
    """What tells the snapshot of the files at `path` from others, in a name that takes fewer letters than its word."""
    return hashlib.sha256(f"{path} {snapshot}".encode()).hexdigest()[:8]
