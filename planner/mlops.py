"""Datasets, the tracker, pipelines and follow-ups: what stands around training runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Literal

from catalogue.units import MIB_PER_GIB, SECONDS_PER_HOUR, gib
from planner.nodes import pod_share, threads_together
from planner.pool_types import PoolPlan
from planner.storage.tiers import SCHEDULED_SECONDS, SUMS_GB_PER_S
from planner.storage.types import StoragePlan
from planner.workload_types import FollowUpPlan, PodResources
from settings.datasets import Dataset
from settings.workloads import Training, TrainingRun

_SLACK = 2
"""A copy may take twice as long as it should before it counts as one that will never end."""

_SPARE = 1.1
"""How much more than a dataset its own volume may hold: a copy ends where the volume does."""


@dataclass(frozen=True, kw_only=True)
class DatasetPlan:
    """A dataset of `gb` decimal GB. `copy_s` is what one copier should take from `source`, and `copy_seconds` what it
    may take in all, waiting for a node included, in whole hours, so that few changes of the nodes change the copy. Both
    are 0 where there is nothing to copy. Runs read it as of the `snapshot`, None as it is. What is not copied lies in
    the directory `path`, None in the one by its name. `sha256` is that of its SHA256SUMS, with which a copy is compared
    where somebody said it, by one process that reads all of it once more.
    """

    name: str
    source: str | None
    gb: float
    copy_s: int
    copy_seconds: int
    snapshot: str | None = None
    path: str | None = None
    sha256: str | None = None

    @property
    def own_gib(self) -> int | None:
        """The size of the volume that it has for itself, None where it lies among others."""
        return ceil(gib(self.gb) * _SPARE) if self.snapshot is not None else None


def dataset_sizes(training: Training) -> dict[str, float]:
    """Decimal GB by name."""
    return {each.name: each.gb for each in training.datasets}


def plan_datasets(training: Training, storage: StoragePlan | None) -> dict[str, DatasetPlan]:
    """The datasets by name, at the rate of the object store's copier where that is known.

    One that no run reads is copied too: data may come before the GPU nodes that wait for it.
    """
    rate = storage.object_gb_per_s if storage else None

    def planned(each: Dataset) -> DatasetPlan:
        compared = each.gb / SUMS_GB_PER_S if each.sha256 else 0
        seconds = ceil(each.gb / rate + compared) if each.source and rate else 0
        hours = ceil((_SLACK * seconds + SCHEDULED_SECONDS) / SECONDS_PER_HOUR)
        budget = hours * SECONDS_PER_HOUR if each.source else 0
        return DatasetPlan(
            **each.model_dump(include={"name", "source", "gb", "snapshot", "path", "sha256"}),
            copy_s=seconds,
            copy_seconds=budget,
        )

    return {each.name: planned(each) for each in training.datasets}


MLFLOW_REQUEST, DATABASE_REQUEST = (500, 2048), (250, 1024)
"""Millicores and MiB that the tracker and its database ask for: two workers of about half a GiB each (assumed)."""


@dataclass(frozen=True, kw_only=True)
class MlflowPlan:
    """MLflow in the cluster: its database on a volume of `gib`, copied to the object store every `backup_hours`."""

    gib: int
    backup_hours: int | None


@dataclass(frozen=True, kw_only=True)
class WandbPlan:
    """Weights & Biases at `host`; None where it, or the stack, has a name for what runs are told below."""

    host: str
    entity: str | None
    project: str | None


@dataclass(frozen=True, kw_only=True)
class TrackingPlan:
    """Where runs tell how they get on. `secret` of the stack is the database's password, or the key of `wandb`.

    Exactly one of `mlflow` and `wandb` is there, none of a kind that is refused.
    """

    kind: Literal["mlflow", "wandb", "neptune"]
    secret: str
    mlflow: MlflowPlan | None = None
    wandb: WandbPlan | None = None


def plan_tracking(training: Training) -> TrackingPlan | None:
    """The tracker; None without the section."""
    said = training.tracking
    if said is None:
        return None
    mlflow = wandb = None
    if said.kind == "mlflow":
        mlflow = MlflowPlan(gib=said.gib, backup_hours=said.backup_hours)
    if said.kind == "wandb":
        wandb = WandbPlan(host=said.host, entity=said.entity, project=said.project)
    return TrackingPlan(kind=said.kind, secret=said.key, mlflow=mlflow, wandb=wandb)


def has_mlflow(training: Training) -> bool:
    """Whether a tracker runs in the cluster."""
    return training.tracking is not None and training.tracking.kind == "mlflow"


LOOK_S = 900
"""How often it is asked whether a run has ended."""


def plan_follow_ups(run: TrainingRun, pools: Mapping[str, PoolPlan]) -> tuple[FollowUpPlan, ...]:
    """Those whose pool is planned and has GPUs enough on a node, in the order of the settings."""
    found = []
    for each in run.follow_ups:
        pool = pools.get(each.pool)
        if pool is None or each.gpus > pool.gpus_per_node:
            continue
        offered = pool.allocatable_cpu_millicores, pool.allocatable_memory_mib
        together = threads_together(exclusive=pool.exclusive_cpus)
        cpu, memory = pod_share(*offered, each.gpus, pool.gpus_per_node, threads=together)
        found.append(
            FollowUpPlan(
                **each.model_dump(include={"name", "pool", "queue", "script"}),
                image=each.image or run.image,
                after_end=each.every_hours is None,
                every_s=each.every_hours * SECONDS_PER_HOUR if each.every_hours is not None else LOOK_S,
                deadline_s=round(each.deadline_hours * SECONDS_PER_HOUR),
                keep_s=each.keep_hours * SECONDS_PER_HOUR,
                pod=PodResources(
                    gpus=each.gpus,
                    efa=0,
                    cpu_millicores=cpu,
                    memory_mib=memory,
                    shm_mib=min(run.shm_gib * MIB_PER_GIB, memory // 2),
                ),
            )
        )
    return tuple(found)
