"""Datasets: where they come from, and how long bringing them to the shared file system takes."""

from dataclasses import dataclass
from math import ceil

from catalogue.units import SECONDS_PER_HOUR, gib
from planner.storage.s3 import SCHEDULED_SECONDS
from planner.storage.types import StoragePlan
from settings.workloads import Dataset, Training

_SLACK = 2
"""A copy may take twice as long as it should before it counts as one that will never end."""

_SPARE = 1.1
"""How much more than a dataset its own volume may hold: a copy ends where the volume does."""


@dataclass(frozen=True, kw_only=True)
class DatasetPlan:
    """A dataset of `gb` decimal GB. `copy_s` is what one copier should take from `source`, and `copy_seconds` what it
    may take in all, waiting for a node included, in whole hours, so that few changes of the nodes change the copy. Both
    are 0 where there is nothing to copy. Runs read it as of the `snapshot`, None as it is.
    """

    name: str
    source: str | None
    gb: float
    copy_s: int
    copy_seconds: int
    snapshot: str | None = None

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
        seconds = ceil(each.gb / rate) if each.source and rate else 0
        hours = ceil((_SLACK * seconds + SCHEDULED_SECONDS) / SECONDS_PER_HOUR)
        budget = hours * SECONDS_PER_HOUR if each.source else 0
        return DatasetPlan(
            name=each.name,
            source=each.source,
            gb=each.gb,
            copy_s=seconds,
            copy_seconds=budget,
            snapshot=each.snapshot,
        )

    return {each.name: planned(each) for each in training.datasets}
