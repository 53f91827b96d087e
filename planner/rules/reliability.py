"""Failures of training runs: checkpoints, restarts, capacity that AWS takes back."""

from collections.abc import Iterable

from catalogue.types import UsageClass
from planner.draft import AwsDraft, Draft, aws_rule, rule
from planner.findings import Observation, Severity
from planner.reliability.checkpoints import overhead
from planner.reliability.losses import SPOT_MOST_LOST_MINUTES, covered_hours, failure_cost, idle_gpus
from planner.reliability.mttf import Mttf, planning_mttf
from planner.rules.known import known_runs, placed_runs, timed_runs
from planner.types import AwsPoolPlan, PoolPlan

_MOST_LOSS = 0.05
_RSC = "Kokolis et al. 2024, Revisiting Reliability in Large-Scale Machine Learning Research Clusters"


@rule(
    "checkpoint-interval",
    "T01",
    "T10",
    "PF21",
    severity=Severity.WARNING,
    formula="pause / interval + interval / (2 x MTTF) <= 5 %, or twice that at the interval sqrt(2 x pause x MTTF)",
    source=f"Young 1974; {_RSC}",
)
def checkpoint_interval(draft: Draft) -> Iterable[Observation]:
    """Checkpoints are neither so rare nor so frequent that they lose a twentieth of the time, and twice what they must.

    Spot instances end long before the hardware fails; `spot-checkpoints` is about them.
    """
    for seen in known_runs(draft):
        best, checkpoint = seen.training.best_checkpoint_seconds, seen.run.checkpoint
        if best is None or checkpoint is None or _is_spot(seen.pool):
            continue
        mttf = planning_mttf(seen.plan.gpus)
        pause, every = checkpoint.within_seconds, checkpoint.every_minutes * 60
        now, least = overhead(pause, every, mttf.hours), overhead(pause, best, mttf.hours)
        if now > max(_MOST_LOSS, 2 * least):
            cost = failure_cost(mttf.gpus, 0.0, every_s=every, restart_s=0.0)
            yield Observation(
                path=f"{seen.path}.checkpoint.everyMinutes",
                sentence=f"every {checkpoint.every_minutes:g} min with pauses up to {pause:g} s loses {now:.1%} of the "
                f"time at {_told(mttf)}: each failure takes {cost.gpu_hours:.0f} GPU hours, with "
                f"{idle_gpus(mttf.gpus)} GPUs waiting for one",
                remedy=f"every {best / 60:.0f} min would lose {least:.1%}",
                subject=seen.run.name,
                inputs={
                    "pause": f"{pause:g} s",
                    "interval": f"{checkpoint.every_minutes:g} min",
                    "MTTF": f"{mttf.hours:.1f} h",
                },
            )


@rule(
    "restarts-run-out",
    "KJ08",
    "T10",
    severity=Severity.WARNING,
    formula="P(failures <= restarts) >= 95 %, failures independent with mean run / MTTF",
    source=f"{_RSC}; PyTorch documentation, torchrun",
)
def restarts_run_out(draft: Draft) -> Iterable[Observation]:
    """A run that is long enough to fail several times may begin again as often."""
    for seen, forecast, days in timed_runs(draft):
        if forecast.restarts is not None and forecast.restarts > seen.run.restarts:
            mttf = planning_mttf(seen.plan.gpus)
            yield Observation(
                path=f"{seen.path}.restarts",
                sentence=f"{seen.run.restarts} restarts are used up in "
                f"{covered_hours(seen.run.restarts, mttf.hours):.0f} h on average at {_told(mttf)}, and the run takes "
                f"{days:.0f} days, in which about {forecast.failures:.0f} failures each restart all workers",
                remedy=f"set it to {forecast.restarts}, with checkpoints that another number of GPUs can read",
                subject=seen.run.name,
                inputs={
                    "run": f"{days:.1f} d",
                    "MTTF": f"{mttf.hours:.1f} h",
                    "restarts": str(seen.run.restarts),
                },
            )


@rule(
    "run-without-checkpoints",
    "T01",
    severity=Severity.WARNING,
    formula="failures = run / MTTF < 1",
    source=_RSC,
)
def run_without_checkpoints(draft: Draft) -> Iterable[Observation]:
    """A run that will fail once at least does not begin at its first step again."""
    for seen, forecast, days in timed_runs(draft):
        if seen.run.checkpoint is None and (forecast.failures or 0) >= 1:
            mttf = planning_mttf(seen.plan.gpus)
            yield Observation(
                path=f"{seen.path}.checkpoint",
                sentence=f"the run takes {days:.1f} days without failures, about {forecast.failures:.0f} are "
                f"to be expected at {_told(mttf)}, and it says nothing about checkpoints",
                remedy="add checkpoint with everyMinutes and withinSeconds",
                subject=seen.run.name,
                inputs={"run": f"{days:.1f} d", "MTTF": f"{mttf.hours:.1f} h"},
            )


@aws_rule(
    "spot-checkpoints",
    "T14",
    formula="everyMinutes <= 15 on spot",
    source="Definition of the planner; EC2 user guide, Spot Instance interruptions",
)
def spot_checkpoints(draft: AwsDraft) -> Iterable[Observation]:
    """A run on spot instances loses at most a quarter of an hour when AWS takes them back."""
    for path, run, pool in placed_runs(draft):
        if pool.usage is UsageClass.SPOT and run.checkpoint and run.checkpoint.every_minutes > SPOT_MOST_LOST_MINUTES:
            yield Observation(
                path=f"{path}.checkpoint.everyMinutes",
                sentence=f"pool {run.pool} is spot, which may end at any time, and a checkpoint is due every "
                f"{run.checkpoint.every_minutes:g} min only",
                remedy=f"set it to at most {SPOT_MOST_LOST_MINUTES}",
                subject=run.name,
                inputs={"interval": f"{run.checkpoint.every_minutes:g} min"},
            )


def _is_spot(pool: PoolPlan) -> bool:
    """Whether AWS may take the pool's instances back at any time."""
    return isinstance(pool, AwsPoolPlan) and pool.usage is UsageClass.SPOT


def _told(mttf: Mttf) -> str:
    """A mean time to failure in a sentence, with where it is from."""
    return f"a mean time to failure of {mttf.hours:.1f} h for {mttf.gpus} GPUs ({mttf.basis})"
