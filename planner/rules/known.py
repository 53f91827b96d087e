"""What several rules look at: pools, runs and services of which enough is known, each with its settings path."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, overload

from catalogue.model_types import Model
from catalogue.types import Gpu
from planner.draft import AwsDraft, Draft, MetalDraft
from planner.findings import Observation
from planner.forecast import Forecast
from planner.pool_types import AwsPoolPlan, MetalPoolPlan, PoolPlan
from planner.storage.types import RunStorage, StoragePlan
from planner.training.plan import TrainingPlan
from planner.workload_types import RunPlan
from settings.aws_pools import AwsPool
from settings.metal import MetalPool
from settings.pools import Pool
from settings.serving import Service, Triton
from settings.workloads import TrainingRun


@overload
def pools(draft: AwsDraft) -> Iterator[tuple[str, AwsPool]]: ...
@overload
def pools(draft: MetalDraft) -> Iterator[tuple[str, MetalPool]]: ...
@overload
def pools(draft: Draft) -> Iterator[tuple[str, Pool]]: ...
def pools(draft: Draft) -> Iterator[tuple[str, Any]]:
    """All pools."""
    return ((f"pools[{index}]", pool) for index, pool in enumerate(draft.settings.pools))


@overload
def known_pools(draft: AwsDraft) -> Iterator[tuple[str, AwsPool, AwsPoolPlan]]: ...
@overload
def known_pools(draft: MetalDraft) -> Iterator[tuple[str, MetalPool, MetalPoolPlan]]: ...
@overload
def known_pools(draft: Draft) -> Iterator[tuple[str, Pool, PoolPlan]]: ...
def known_pools(draft: Draft) -> Iterator[tuple[str, Any, Any]]:
    """Pools whose hardware is known."""
    return ((path, pool, draft.pools[pool.name]) for path, pool in pools(draft) if pool.name in draft.pools)


def or_own_row(remedy: str, table: str) -> str:
    """What to do about a name that no row has: the remedy, or a row of the site."""
    return f"{remedy}{' Or' if remedy.endswith('?') else '; or'} add a row of your own to gpucluster:catalogue.{table}"


def runs(draft: Draft) -> Iterator[tuple[str, TrainingRun]]:
    """All runs."""
    return ((f"training.runs[{index}]", run) for index, run in enumerate(draft.settings.training.runs))


def impossible(chosen: str, lacking: Mapping[str, tuple[bool, str, str]], instead: str) -> Iterator[Observation]:
    """Settings that exclude what the run has `chosen`. `lacking` has by setting whether the run sets it, why the two
    exclude each other, and what to do; `instead` is what to do about the choice.
    """
    for key, (wrong, reason, remedy) in lacking.items():
        if wrong:
            yield Observation(
                path=key, sentence=f"the run has {chosen}, and {reason}", remedy=f"{remedy}, or {instead}"
            )


def followed(draft: Draft) -> Iterator[tuple[str, str]]:
    """Images of follow-ups that have one of their own, each with its settings path."""
    for path, run in runs(draft):
        for index, each in enumerate(run.follow_ups):
            if each.image is not None:
                yield f"{path}.followUps[{index}].image", each.image


def services(draft: Draft) -> Iterator[tuple[str, Service]]:
    """All services."""
    return ((f"serving.services[{index}]", service) for index, service in enumerate(draft.settings.serving.services))


def triton(draft: Draft) -> Iterator[tuple[str, Triton]]:
    """All Triton servers."""
    return ((f"serving.triton[{index}]", server) for index, server in enumerate(draft.settings.serving.triton))


def answering(draft: Draft) -> Iterator[tuple[str, Service | Triton]]:
    """All services, then all Triton servers."""
    yield from services(draft)
    yield from triton(draft)


def workloads(draft: Draft) -> Iterator[tuple[str, TrainingRun | Service]]:
    """All runs, then all services."""
    yield from runs(draft)
    yield from services(draft)


@overload
def placed_runs(draft: AwsDraft) -> Iterator[tuple[str, TrainingRun, AwsPoolPlan]]: ...
@overload
def placed_runs(draft: MetalDraft) -> Iterator[tuple[str, TrainingRun, MetalPoolPlan]]: ...
@overload
def placed_runs(draft: Draft) -> Iterator[tuple[str, TrainingRun, PoolPlan]]: ...
def placed_runs(draft: Draft) -> Iterator[tuple[str, TrainingRun, Any]]:
    """Runs whose pool's hardware is known."""
    return ((path, run, draft.pools[run.pool]) for path, run in runs(draft) if run.pool in draft.pools)


class Seen(NamedTuple):
    """A run of which everything is known."""

    run: TrainingRun
    plan: RunPlan
    training: TrainingPlan
    model: Model
    pool: PoolPlan
    gpu: Gpu

    @property
    def name(self) -> str:
        """The run's."""
        return self.run.name


def known_runs(draft: Draft) -> Iterator[tuple[str, Seen]]:
    """The runs that name a model, in the order of the settings."""
    for path, run, pool in placed_runs(draft):
        plan = draft.runs.get(run.name)
        if plan and plan.training and pool.gpu is not None:
            model = draft.catalogue.models[plan.training.model]
            yield path, Seen(run, plan, plan.training, model, pool, pool.gpu)


def timed_runs(draft: Draft) -> Iterator[tuple[str, Seen, Forecast, float]]:
    """The runs that say how many tokens they train on, with what these come to, and the days they take."""
    for path, seen in known_runs(draft):
        forecast = seen.plan.forecast
        if forecast is not None and forecast.days is not None:
            yield path, seen, forecast, forecast.days


def stored(draft: Draft) -> Iterator[tuple[str, RunStorage, StoragePlan]]:
    """Runs whose storage is planned, with their settings paths."""
    for path, run in runs(draft):
        if draft.storage is not None and run.name in draft.storage.runs:
            yield path, draft.storage.runs[run.name], draft.storage
