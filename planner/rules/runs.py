"""The training runs that rules can look at: those whose model, pool and GPU are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from catalogue.model_types import Model
from catalogue.types import Gpu
from planner.draft import Draft
from planner.training.plan import TrainingPlan
from planner.types import PoolPlan, RunPlan

if TYPE_CHECKING:
    from settings.workloads import TrainingRun


class Seen(NamedTuple):
    """A run of which everything is known. `path` is its path in the settings."""

    path: str
    run: TrainingRun
    plan: RunPlan
    training: TrainingPlan
    model: Model
    pool: PoolPlan
    gpu: Gpu


def known_runs(draft: Draft) -> Iterator[Seen]:
    """The runs that name a model, in the order of the settings."""
    for index, run in enumerate(draft.settings.training.runs):
        plan = draft.runs.get(run.name)
        if plan and plan.training:
            pool = draft.pools[run.pool]
            if pool.gpu is not None:
                model = draft.catalogue.models[plan.training.model]
                yield Seen(f"training.runs[{index}]", run, plan, plan.training, model, pool, pool.gpu)
