"""Failures of training runs: checkpoints, restarts, capacity that AWS takes back."""

from collections.abc import Iterable
from math import ceil, floor

from catalogue.types import UsageClass
from catalogue.units import HOURS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from planner.draft import AwsDraft, Draft, aws_rule, warning
from planner.findings import Observation
from planner.forecast import Forecast
from planner.pool_types import AwsPoolPlan, PoolPlan
from planner.reliability.checkpoints import STOP_S, overhead
from planner.reliability.mttf import (
    SPOT_MOST_LOST_MINUTES,
    SPOT_NOTICE_S,
    Mttf,
    covered_hours,
    failure_cost,
    failure_rate,
    mttf,
)
from planner.rules.known import Seen, known_runs, placed_runs, timed_runs
from planner.wording import at_most
from settings.checkpoints import MOST_MINUTES
from settings.workloads import TrainingRun

_MOST_LOSS = 0.05
_MOST_UNSAVED_GPUS = 16
"""Two nodes of eight: a trial that is quickly repeated."""
_MOST_RESTARTS = 1000
"""What the settings take for restarts."""

_RSC = "Kokolis et al. 2024, Revisiting Reliability in Large-Scale Machine Learning Research Clusters"


@warning(
    "T01 T10 PF21",
    each=known_runs,
    formula="pause / interval + interval / (2 x MTTF) <= 5 %, or twice that at the interval sqrt(2 x pause x MTTF)",
    source=f"Young 1974; {_RSC}",
)
def checkpoint_interval(_: Draft, seen: Seen) -> Iterable[Observation]:
    """Checkpoints are neither so rare nor so frequent that they lose a twentieth of the time, and twice what they must.

    Spot instances end long before the hardware fails; `spot-checkpoints` is about them.
    """
    best, saving = seen.training.best_checkpoint_seconds, seen.plan.saving
    if best is None or saving is None or _is_spot(seen.pool):
        return
    failing = seen.training.mttf
    pause, every, minutes = saving.within_s, saving.every_s, f"{saving.every_s / SECONDS_PER_MINUTE:g} min"
    now, least = overhead(pause, every, failing.hours), overhead(pause, best, failing.hours)
    if now > max(_MOST_LOSS, 2 * least):
        cost = failure_cost(failing.gpus, 0.0, every_s=every, restart_s=0.0)
        yield Observation(
            path="checkpoint.everyMinutes",
            sentence=f"every {minutes} with pauses up to {pause:g} s loses {now:.1%} of the "
            f"time at {_told(failing)}: each failure takes {cost.gpu_hours:.0f} GPU hours, with "
            f"{failing.gpus - 1} GPUs waiting for one",
            remedy=_better(seen, failing.hours, max(_MOST_LOSS, 2 * least)),
            inputs={
                "pause": f"{pause:g} s",
                "interval": minutes,
                "MTTF": f"{failing.hours:.1f} h",
            },
        )


def _better(seen: Seen, mttf_h: float, most_loss: float) -> str:
    """An interval that may be typed beside the other keys, where one loses no more than is allowed."""
    saves, best = seen.run.checkpoint, seen.training.best_checkpoint_seconds
    if saves is None or best is None or saves.within_seconds >= best:
        return "lower withinSeconds: no interval loses less than pauses of that length do"
    copied_s = saves.object_store_hours * SECONDS_PER_HOUR if saves.object_store_hours else best
    rarest_s = min(best, copied_s, (saves.file_system_minutes or MOST_MINUTES) * SECONDS_PER_MINUTE)
    minutes, lost = at_most(rarest_s / SECONDS_PER_MINUTE, 3), overhead(saves.within_seconds, rarest_s, mttf_h)
    if lost > most_loss:
        return f"save every {best / SECONDS_PER_MINUTE:.3g} min, and copy as seldom at least"
    return f"set it to {minutes}, which would lose {lost:.1%}"


@warning(
    "KJ08 T10",
    each=timed_runs,
    formula="P(failures <= restarts) >= 95 %, failures independent with mean run / MTTF",
    source=f"{_RSC}; PyTorch documentation, torchrun",
)
def restarts_run_out(_: Draft, seen: Seen, forecast: Forecast, days: float) -> Iterable[Observation]:
    """A run that is long enough to fail several times may begin again as often."""
    # Beyond some thousand failures nobody computes how many restarts suffice.
    wanted = forecast.restarts if forecast.restarts is not None else round(forecast.failures or 0)
    if wanted > seen.run.restarts:
        failing = seen.training.mttf
        yield Observation(
            path="restarts",
            sentence=f"{seen.run.restarts} restarts are used up in "
            f"{covered_hours(seen.run.restarts, failing.hours):.0f} h on average at {_told(failing)}, and the run "
            f"takes {days:.0f} days, in which about {forecast.failures:.0f} failures each restart all workers",
            remedy=f"set it to {wanted}, with checkpoints that another number of GPUs can read"
            if wanted <= _MOST_RESTARTS
            else f"a run may have {_MOST_RESTARTS} restarts: part it into runs that each begin at a checkpoint",
            inputs={
                "run": f"{days:.1f} d",
                "MTTF": f"{failing.hours:.1f} h",
                "restarts": str(seen.run.restarts),
            },
        )


@warning(
    "T10",
    each=timed_runs,
    formula="deadline >= run, what failures take included",
    source="Kubeflow training-operator v1, RunPolicy.activeDeadlineSeconds: at its end all pods are removed",
)
def deadline_before_end(_: Draft, seen: Seen, _forecast: Forecast, days: float) -> Iterable[Observation]:
    """A run comes to the end of its tokens before its deadline ends it."""
    deadline, hours = seen.run.deadline_hours, days * HOURS_PER_DAY
    if deadline is not None and deadline < hours:
        yield Observation(
            path="deadlineHours",
            sentence=f"ends the run after {deadline:g} h, and its tokens take {hours:.0f} h once it runs",
            remedy=f"set it to {ceil(hours)} and what it may wait in its queue, or train on fewer tokens",
            inputs={"run": f"{days:.1f} d"},
        )


@warning("T01", each=timed_runs, formula="failures = run / MTTF < 1", source=_RSC)
def run_without_checkpoints(_: Draft, seen: Seen, forecast: Forecast, days: float) -> Iterable[Observation]:
    """A run that will fail once at least does not begin at its first step again."""
    if seen.run.checkpoint is None and (forecast.failures or 0) >= 1:
        failing = seen.training.mttf
        yield Observation(
            path="checkpoint",
            sentence=f"the run takes {days:.1f} days without failures, about {forecast.failures:.0f} are "
            f"to be expected at {_told(failing)}, and it says nothing about checkpoints",
            remedy="add checkpoint with everyMinutes and withinSeconds",
            inputs={"run": f"{days:.1f} d", "MTTF": f"{failing.hours:.1f} h"},
        )


@warning(
    "T01",
    each=placed_runs,
    formula=f"GPUs of the run <= {_MOST_UNSAVED_GPUS}, if it says nothing of checkpoints",
    source=f"Definition of the planner; {_RSC}",
)
def large_run_without_checkpoints(draft: Draft, run: TrainingRun, pool: PoolPlan) -> Iterable[Observation]:
    """A run on many GPUs saves: a failed node, a change of its pod and a drain each start it from its first step."""
    forecast = {seen.run.name for path, seen, told, _ in timed_runs(draft) if (told.failures or 0) >= 1}
    gpus = run.nodes * pool.gpus_per_node
    elsewhere = run.name in forecast or (isinstance(pool, AwsPoolPlan) and (_is_spot(pool) or pool.block))
    if run.checkpoint is None and gpus > _MOST_UNSAVED_GPUS and not elsewhere:
        failing = mttf(gpus, failure_rate(pool.gpu, draft.settings.training.failures_per_1000_node_days))
        yield Observation(
            path="checkpoint",
            sentence=f"the run says nothing about checkpoints, so a failure ({_told(failing)}) and every change of "
            f"its nodes, image or script start its {gpus} GPUs from the first step",
            remedy="add " + ("" if run.model else "model and ") + "checkpoint with everyMinutes and withinSeconds",
            inputs={"run": f"{gpus} GPUs", "MTTF": f"{failing.hours:.1f} h"},
        )


@aws_rule(
    "T14",
    each=placed_runs,
    formula="everyMinutes <= 15 on spot, as fileSystemMinutes with local",
    source="Definition of the planner; EC2 user guide, Spot Instance interruptions",
)
def spot_checkpoints(_: AwsDraft, run: TrainingRun, pool: AwsPoolPlan) -> Iterable[Observation]:
    """A run on spot instances loses at most a quarter of an hour when AWS takes them back, their own disks included."""
    if not _is_spot(pool) or run.checkpoint is None or run.checkpoint.on_file_system_minutes <= SPOT_MOST_LOST_MINUTES:
        return
    often = run.checkpoint.every_minutes <= SPOT_MOST_LOST_MINUTES
    minutes = run.checkpoint.on_file_system_minutes if often else run.checkpoint.every_minutes
    yield Observation(
        path=f"checkpoint.{'fileSystemMinutes' if often else 'everyMinutes'}",
        sentence=f"pool {run.pool} is spot, which may end at any time, and a checkpoint is "
        f"{'copied from its own disks' if often else 'due'} every {minutes:g} min only",
        remedy=f"set it to at most {SPOT_MOST_LOST_MINUTES}",
        inputs={"interval": f"{minutes:g} min"},
    )


@aws_rule(
    "T14 PW18",
    each=placed_runs,
    formula="withinSeconds, the copy to the file system with local, and 30 s for the ranks to end <= 120 s, on spot",
    source="EC2 user guide, Spot Instance interruption notices: two minutes; EKS drains the node when it comes",
)
def spot_save_too_long(draft: AwsDraft, run: TrainingRun, pool: AwsPoolPlan) -> Iterable[Observation]:
    """The save that a spot notice asks for is whole, where it is to stay, before EC2 takes the nodes."""
    planned = draft.runs.get(run.name)
    saving = planned.saving if planned else None
    if not _is_spot(pool) or saving is None:
        return
    copying, most = saving.copy_s, floor(SPOT_NOTICE_S - STOP_S - saving.copy_s)
    if saving.within_s <= most:
        return
    copy = f", its copy to the file system {copying:.0f} s," if copying else ""
    faster = "let it be written faster (storage, fewer trained parameters)"
    yield Observation(
        path="checkpoint.withinSeconds",
        sentence=f"a save may take {saving.within_s:g} s{copy} and its ranks {STOP_S} s to end, and EC2 takes the "
        f"nodes of pool {run.pool} {SPOT_NOTICE_S} s after its notice",
        remedy=(f"set it to at most {most}" if most > 0 else faster)
        + ", buy on demand, or waive spot-save-too-long for a run that may go back to the save before",
        inputs={"save": f"{saving.within_s:g} s", "copy": f"{copying:.0f} s", "notice": f"{SPOT_NOTICE_S} s"},
    )


def _is_spot(pool: PoolPlan) -> bool:
    """Whether AWS may take the pool's instances back at any time."""
    return isinstance(pool, AwsPoolPlan) and pool.usage is UsageClass.SPOT


def _told(mttf: Mttf) -> str:
    """A mean time to failure in a sentence, with its range where it has one: a site's own rate is one number."""
    among = f" ({mttf.low:.0f} to {mttf.high:.0f} h)" if mttf.low < mttf.high else ""
    return f"a mean time to failure of {mttf.hours:.1f} h for {mttf.gpus} GPUs{among}"
