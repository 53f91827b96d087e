"""Experiments: what a trial is, how long all of them take, what they cost, and what Katib is told of their values."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from catalogue.units import HOURS_PER_DAY
from planner.nodes import threads_together
from planner.pool_types import PoolPlan
from planner.teams import RUNS, TeamPlan, trials_of
from planner.workload_types import PodResources, RunPlan
from settings.experiments import Experiment, Parameter
from settings.workloads import Training, TrainingRun

Kind = Literal["double", "int", "discrete", "categorical"]
"""Katib's types of parameters (pkg/apis/controller/experiments/v1beta1/experiment_types.go)."""

COLLECTOR_MILLICORES, COLLECTOR_MIB = 100, 256
"""What the collector of metrics takes beside a trial's first rank, whose pod else has all of its node (assumed)."""

_SETTINGS_OF_HYPERBAND = ("r_l", "resource_name", "eta")


@dataclass(frozen=True, kw_only=True)
class ParameterPlan:
    """Values of a flag in Katib's words: texts, whatever they are. `low`, `high` and `step` are of ranges, `listed` of
    the others. `log` spreads the trials over powers of ten.
    """

    name: str
    kind: Kind
    low: str | None = None
    high: str | None = None
    step: str | None = None
    listed: tuple[str, ...] = ()
    log: bool = False


@dataclass(frozen=True, kw_only=True)
class ExperimentPlan:
    """Trials of the run `run`, each one a gang like `trial`: `parallel` at once and `most` in all.

    `trial_hours` is what one takes on its nodes, `hours` what passes until all have been made, `gpu_hours` and `usd`
    what they come to; None where nobody knows how long a trial takes, or what an hour costs. Failed trials and those
    that are ended early take less. `failed` of them end the experiment.

    `lowest` says which value of `metric` wins, `until` which is good enough. `settings` are the algorithm's own.
    Trials are in `namespace`: that of runs, or the one which people of its `team` read.
    A trial is ended early against `after_trials` others by its first `after_reports` values, None where none is.
    """

    name: str
    run: str
    team: str | None
    namespace: str
    trial: RunPlan
    parallel: int
    most: int
    failed: int
    metric: str
    lowest: bool
    until: float | None
    parameters: tuple[ParameterPlan, ...]
    algorithm: str
    settings: tuple[tuple[str, str], ...]
    after_trials: int | None
    after_reports: int | None
    budget_gpu_hours: float
    trial_hours: float | None
    hours: float | None
    gpu_hours: float | None
    usd: float | None

    @property
    def most_gpus(self) -> int:
        """Those of all trials that run at once."""
        return self.parallel * self.trial.gpus


Planned = Callable[[Iterable["TrainingRun"]], Mapping[str, RunPlan]]
"""Plans runs on the stack's pools, as those of the stack file are planned."""


def plan_experiments(
    training: Training, teams: Iterable[TeamPlan], planned: Planned, pools: Mapping[str, PoolPlan]
) -> dict[str, ExperimentPlan]:
    """The experiments whose run can be planned, by name."""
    runs, queues = {run.name: run for run in training.runs}, {team.name: team.queue for team in teams}
    found = {
        each.name: trial_run(each, runs[each.run], queues.get(each.team or "", each.queue))
        for each in training.experiments
        if each.run in runs
    }
    trials = planned(found.values())
    return {
        each.name: _experiment(each, trials[each.name], pools[trials[each.name].pool])
        for each in training.experiments
        if each.name in trials
    }


def trial_run(experiment: Experiment, run: TrainingRun, queue: str) -> TrainingRun:
    """A trial as a run: of fixed size, as Katib reads the log of a master, in the `queue`.

    An explicit degree of data parallelism is that of the run's own size. A trial's metrics are read from its log.
    """
    nodes = experiment.nodes or run.nodes
    changes: dict[str, object] = {
        "name": experiment.name,
        "nodes": nodes,
        "queue": queue,
        "priority": "experiments",
        "elastic": None,
        "profile": None,
        "metrics_port": None,
        "follow_ups": (),
        "api": "v1",
    }
    if nodes != run.nodes:
        changes |= {"parallelism": run.parallelism.model_copy(update={"data": None}), "expected": None}
    if experiment.tokens_billion is not None:
        changes["tokens_billion"] = experiment.tokens_billion
    return run.model_copy(update=changes)


def _beside_collector(pod: PodResources, pool: PoolPlan) -> PodResources:
    """What is left of a pod for its rank. Where pods have CPUs to themselves a whole core goes to the collector, which
    runs on what all share: of a number of CPUs that is not whole a container gets none of its own (Kubernetes 1.36,
    pkg/kubelet/cm/cpumanager/policy_static.go, guaranteedCPUs).
    """
    cores = threads_together(exclusive=True) * 1000
    cpu = cores if pool.exclusive_cpus else COLLECTOR_MILLICORES
    return replace(
        pod,
        cpu_millicores=max(0, pod.cpu_millicores - cpu),
        memory_mib=max(0, pod.memory_mib - COLLECTOR_MIB),
    )


def _experiment(experiment: Experiment, trial: RunPlan, pool: PoolPlan) -> ExperimentPlan:
    hours = experiment.trial_hours or _forecast_hours(trial)
    trials, objective, stopping = experiment.trials, experiment.objective, experiment.early_stopping
    gpu_hours = trials.most * trial.gpus * hours if hours is not None else None
    price = trial.forecast.price if trial.forecast else None
    return ExperimentPlan(
        **experiment.model_dump(include={"name", "run", "team", "budget_gpu_hours"}),
        namespace=trials_of(experiment.team) if experiment.team else RUNS,
        trial=replace(trial, pod=_beside_collector(trial.pod, pool)),
        parallel=trials.parallel,
        most=trials.most,
        failed=min(trials.failed, trials.most),
        metric=objective.metric,
        lowest=objective.best == "lowest",
        until=objective.until,
        parameters=tuple(_parameter(each) for each in experiment.parameters),
        algorithm=experiment.algorithm.name,
        settings=_settings(experiment),
        after_trials=stopping.after_trials if stopping else None,
        after_reports=stopping.after_reports if stopping else None,
        trial_hours=hours,
        hours=ceil(trials.most / trials.parallel) * hours if hours is not None else None,
        gpu_hours=gpu_hours,
        usd=gpu_hours * price.usd if gpu_hours is not None and price else None,
    )


def _forecast_hours(trial: RunPlan) -> float | None:
    days = trial.forecast.days if trial.forecast else None
    return days * HOURS_PER_DAY if days is not None else None


def _parameter(parameter: Parameter) -> ParameterPlan:
    name = parameter.name
    if parameter.numbers is not None:
        return ParameterPlan(name=name, kind="discrete", listed=tuple(_number(each) for each in parameter.numbers))
    if parameter.words is not None:
        return ParameterPlan(name=name, kind="categorical", listed=parameter.words)
    found = parameter.float_range or parameter.int_range
    if found is None:
        raise ValueError(f"{name} has no values")
    return ParameterPlan(
        name=name,
        kind="double" if parameter.float_range else "int",
        low=_number(found.min),
        high=_number(found.max),
        step=_number(found.step) if found.step is not None else None,
        log=found.scale == "log",
    )


def _number(value: float) -> str:
    """As Go, Python and command lines read it: 3 and 0.0003, not 3.0."""
    return str(int(value)) if value == int(value) and abs(value) < 10**15 else repr(value)


def _settings(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """Hyperband's most of its resource, which one it is, and its reduction (suggestion/v1beta1/hyperband/service.py).

    The others do with their own defaults.
    """
    search = experiment.algorithm
    resource = next((each for each in experiment.parameters if each.name == search.resource), None)
    if resource is None or resource.int_range is None:
        return ()
    values = (str(resource.int_range.max), resource.name, str(search.reduction))
    return tuple(zip(_SETTINGS_OF_HYPERBAND, values, strict=True))
