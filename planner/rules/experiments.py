"""Experiments: room for trials, their budget, and what their script can be told and tells."""

from collections.abc import Iterator
from math import ceil, floor
from typing import NamedTuple

from planner.draft import Draft, rule, warning
from planner.experiments import ExperimentPlan
from planner.findings import Observation
from planner.teams import RUNS
from planner.wording import one_of
from settings.experiments import Experiment
from settings.pools import MOST_NODES
from settings.workloads import TrainingRun

REFERENCE_METRICS = ("loss",)
"""What the log of the reference trainer says by name and value (node/trainer/train.py)."""
REFERENCE_FLAGS = ("learning-rate", "seed", "steps", "warmup-steps")
"""Flags of the reference trainer that trials may differ in: the others are the plan's (node/trainer/arguments.py)."""


class Seen(NamedTuple):
    """An experiment whose trials are planned."""

    said: Experiment
    run: TrainingRun
    plan: ExperimentPlan

    @property
    def name(self) -> str:
        """The experiment's."""
        return self.said.name


def experiments(draft: Draft) -> Iterator[tuple[str, Seen]]:
    """The experiments whose run and pool are known."""
    runs = {run.name: run for run in draft.settings.training.runs}
    for index, said in enumerate(draft.settings.training.experiments):
        if said.name in draft.experiments:
            yield f"training.experiments[{index}]", Seen(said, runs[said.run], draft.experiments[said.name])


@rule(
    "R02",
    each=experiments,
    formula="parallel x nodes of a trial <= count of the pool",
    source="Definition of the stack file: a gang runs whole or not at all",
)
def trials_fit_pool(draft: Draft, seen: Seen) -> Iterator[Observation]:
    """The pool has nodes for all trials that are to run at once."""
    plan, pool = seen.plan, draft.pools[seen.plan.trial.pool]
    wanted = plan.parallel * plan.trial.pods
    if wanted > pool.count:
        most = pool.count // plan.trial.pods
        few = f"set it to {most}" if most else f"set nodes to at most {pool.count}"
        yield Observation(
            path=f"{'trials.parallel' if most else 'nodes'}",
            sentence=f"trials.parallel {plan.parallel} x {plan.trial.pods} of a trial are {wanted} nodes, and pool "
            f"{pool.name} has {pool.count}",
            remedy=few + (f", or the pool's count to {wanted}" if wanted <= MOST_NODES else ""),
            inputs={"trials": f"{wanted} nodes", "pool": f"{pool.count} nodes"},
        )


@warning(
    "R02 A08",
    each=experiments,
    formula="parallel x nodes of a trial + nodes of the pool's runs of priority training <= count of the pool",
    source="Definition of the stack file (priority)",
)
def trials_beside_gangs(draft: Draft, seen: Seen) -> Iterator[Observation]:
    """Trials give way to planned runs, so how long an experiment takes depends on those."""
    plan, pool = seen.plan, draft.pools[seen.plan.trial.pool]
    gangs = sum(run.pods for run in draft.runs.values() if run.pool == pool.name and run.priority == "training")
    wanted = plan.parallel * plan.trial.pods
    if wanted <= pool.count < wanted + gangs:
        left = max(0, pool.count - gangs) // plan.trial.pods
        yield Observation(
            path="trials.parallel",
            sentence=f"runs of priority training take {gangs} of the {pool.count} nodes of pool {pool.name}: "
            f"beside them run {left} of {plan.parallel} trials, and the others wait or give way",
            remedy=f"set it to {left}, or let the runs end first" if left else "let the runs end first",
            inputs={"trials": f"{wanted} nodes", "runs": f"{gangs} nodes", "pool": f"{pool.count} nodes"},
        )


@rule(
    "R02 M01",
    each=experiments,
    formula="the queue is reclaimable, and parallel x GPUs of a trial <= its gpus",
    source="Volcano documentation, Queue (reclaimable, capability)",
)
def trials_queue(draft: Draft, seen: Seen) -> Iterator[Observation]:
    """The trials' queue is reclaimable, so that others get their share back, and admits all parallel trials at once."""
    queues = {queue.name: queue for queue in draft.settings.scheduling.queues}
    plan, queue = seen.plan, queues.get(seen.plan.trial.queue)
    wanted = plan.most_gpus
    if queue is not None and not queue.reclaimable:
        yield Observation(
            path="team" if plan.team else "queue",
            sentence=f"queue {queue.name} has reclaimable: false, so trials would keep GPUs that runs wait for",
            remedy=f"remove reclaimable: false of queue {queue.name}"
            if plan.team
            else "name a queue that is reclaimable, such as {name: experiments, weight: 1}",
        )
    if queue is not None and queue.gpus is not None and wanted > queue.gpus:
        yield Observation(
            path="trials.parallel",
            sentence=f"{plan.parallel} trials take {wanted} GPUs, and queue {queue.name} is capped at {queue.gpus}",
            remedy=f"raise the queue's gpus to {wanted}, or make fewer at once",
            inputs={"trials": f"{wanted} GPUs", "queue": f"{queue.gpus} GPUs"},
        )


@rule(
    "R02 Y02",
    formula="parallel x GPUs of a trial, over the team's experiments <= gpus of the team",
    source="Definition of the stack file (teams)",
)
def team_trials_beyond_quota(draft: Draft) -> Iterator[Observation]:
    """A team's trials are within its quota, which is shared between them and what its people start themselves."""
    for index, team in enumerate(draft.settings.teams):
        held = draft.trial_gpus(team.name)
        if held > team.gpus:
            yield Observation(
                path=f"teams[{index}].gpus",
                sentence=f"trials of team {team.name} hold up to {held} GPUs at once, and its quota is {team.gpus}",
                remedy=f"raise it to {held}, or make fewer trials at once",
                subject=team.name,
                inputs={"trials": f"{held} GPUs", "quota": f"{team.gpus} GPUs"},
            )


@rule(
    "R02 Y02",
    each=experiments,
    formula="the run of a team's experiment reads no snapshot",
    source="Kubernetes documentation, Persistent Volumes: a claim is of one namespace",
)
def team_trials_snapshot(draft: Draft, seen: Seen) -> Iterator[Observation]:
    """A snapshot of a dataset is a volume of the runs' namespace: trials in a team's cannot mount it."""
    dataset = draft.datasets.get(seen.run.dataset.name) if seen.run.dataset else None
    if seen.plan.namespace != RUNS and dataset is not None and dataset.snapshot is not None:
        yield Observation(
            path="team",
            sentence=f"run {seen.run.name} reads snapshot {dataset.snapshot} of dataset {dataset.name}, which is a "
            f"volume of namespace {RUNS}, and trials of team {seen.said.team} are in another",
            remedy="remove it, or the dataset's snapshot",
        )


@rule(
    "R02 C07",
    each=experiments,
    formula="memory of a trial's fullest GPU <= memory of a GPU",
    source="as run-fits-gpus, for the nodes of a trial",
)
def trial_fits_gpus(_: Draft, seen: Seen) -> Iterator[Observation]:
    """A trial on fewer nodes than its base run still fits, though each GPU holds a larger share of the states."""
    training = seen.plan.trial.training
    if training is None or seen.plan.trial.pods == seen.run.nodes:
        return
    layout, gpus = training.layout, seen.plan.trial.gpus
    if layout.world != gpus:
        yield Observation(
            path="nodes",
            sentence=f"a trial has {gpus} GPUs, and the run's tensor {layout.tensor} x pipeline {layout.pipeline} "
            f"x context {layout.context} do not divide them",
            remedy=f"set nodes to a number whose GPUs {layout.replica} divides, or leave it out",
            inputs={"trial": f"{gpus} GPUs", "model replica": f"{layout.replica} GPUs"},
        )
    elif not training.memory.fits:
        memory = training.memory
        yield Observation(
            path="nodes",
            sentence=f"on {seen.plan.trial.pods} nodes {training.model} takes at least {memory.least_gb:.1f} GB of "
            f"each GPU, which has {memory.gpu_gb:.1f} GB",
            remedy=f"raise it; the run has {seen.run.nodes}",
            inputs={"trial": f"{memory.least_gb:.1f} GB", "GPU": f"{memory.gpu_gb:.1f} GB"},
        )


@rule(
    "R02 Z15",
    each=experiments,
    formula="most x GPUs of a trial x its hours <= budgetGpuHours",
    source="Definition of the stack file; the planner's forecast of the run",
)
def trials_budget(_: Draft, seen: Seen) -> Iterator[Observation]:
    """All trials together stay within their budget: Katib has no limit but their number."""
    plan, budget = seen.plan, seen.plan.budget_gpu_hours
    if plan.trial_hours is None or plan.gpu_hours is None:
        yield Observation(
            path="trialHours",
            sentence=f"nobody knows how long a trial takes: run {plan.run} names no model, or says not how many "
            "tokens it trains on",
            remedy="set it to the hours that one takes, or set tokensBillion and the run's model",
        )
    elif plan.gpu_hours > budget:
        one = plan.gpu_hours / plan.most
        inside = floor(budget / one)
        enough = "is below one trial" if not inside else f"is enough for {inside} of {plan.most}"
        yield Observation(
            path="budgetGpuHours",
            sentence=f"a trial takes {_hours(one)} GPU hours ({plan.trial.gpus} x "
            f"{_hours(plan.trial_hours)} h), so the budget of {_hours(budget)} {enough}",
            remedy=f"raise it to {ceil(plan.gpu_hours)}, "
            + (f"set trials.most to {inside}, " if inside else "")
            + "or let trials train on fewer tokens",
            inputs={"trials": f"{_hours(plan.gpu_hours)} GPU h", "budget": f"{_hours(budget)} GPU h"},
        )


def _hours(hours: float) -> str:
    return f"{hours:.1f}" if hours >= 0.1 else f"{hours:.2g}"


@rule(
    "R02",
    each=experiments,
    formula="metric in those that the reference trainer prints",
    source="the log of the reference trainer; Katib 0.19, pkg/metricscollector/v1beta1/common/const.go (DefaultFilter)",
)
def trial_metric(_: Draft, seen: Seen) -> Iterator[Observation]:
    """Trials of the reference trainer are compared by what it prints; what another script prints is not known."""
    if seen.run.framework == "reference" and seen.plan.metric not in REFERENCE_METRICS:
        yield Observation(
            path="objective.metric",
            sentence=f"the reference trainer prints no {seen.plan.metric}, so that each trial would end without a "
            "value (MetricsUnavailable) and count as failed",
            remedy=f"take {' or '.join(REFERENCE_METRICS)}",
        )


@rule(
    "R02",
    each=experiments,
    formula="parameters in the flags of the reference trainer that are not the plan's",
    source="node/trainer/arguments.py",
)
def trial_parameter(_: Draft, seen: Seen) -> Iterator[Observation]:
    """Trials differ in flags that the reference trainer knows: another one ends it. Those that the plan sets stay."""
    for index, parameter in enumerate(seen.plan.parameters):
        if seen.run.framework == "reference" and parameter.name not in REFERENCE_FLAGS:
            yield Observation(
                path=f"parameters[{index}].name",
                sentence=f"trials cannot vary --{parameter.name}: the reference trainer has no such flag, or the plan "
                "sets it",
                remedy=f"take {one_of(REFERENCE_FLAGS)}",
            )
