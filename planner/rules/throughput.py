"""What training runs are said to reach, and how long they take."""

from collections.abc import Iterable
from datetime import timedelta
from math import ceil

from planner.draft import AwsDraft, Draft, aws_warning, rule, warning
from planner.findings import Observation
from planner.forecast import Forecast
from planner.pool_types import AwsPoolPlan
from planner.rules.known import Seen, known_runs, timed_runs
from planner.throughput import Claim, claim, peak_tflops
from planner.wording import about, at_most

_PALM = "Chowdhery et al. 2022 (PaLM), appendix B"
_MOST_WAITING = 0.5
_MOST_DAYS = 365


@rule(
    "NC20 C10",
    each=known_runs,
    formula="MFU = tokens/s x (6 x active parameters [+ 12 x layers x width x sequence]) / (GPUs x dense peak) <= 1",
    source=_PALM,
)
def run_claim(_: Draft, seen: Seen) -> Iterable[Observation]:
    """A throughput and a utilisation that a run is said to reach can be true, and of the same run."""
    expected = seen.run.expected
    if expected is None or expected.tokens_per_second is None:
        return
    told = claim(
        seen.model,
        seen.plan.gpus,
        peak_tflops(seen.gpu, seen.run.precision),
        tokens_per_s_=expected.tokens_per_second,
        mfu_=expected.mfu if expected.mfu is not None else 0.0,
        sequence=seen.run.sequence_length,
        full=seen.run.method == "full",
    )
    if told.possible and (expected.mfu is None or told.holds):
        return
    yield Observation(
        path="expected.tokensPerSecond",
        sentence=f"{told.tokens_per_s:,.0f} tokens/s of {seen.model.name} are {_meant(told)} of what "
        f"{seen.plan.gpus} {seen.gpu.name} compute at most" + (f", not {told.mfu:.0%}" if told.mfu else ""),
        remedy=_possible(seen, told),
        inputs={
            "tokens": f"{told.tokens_per_s:g} tokens/s",
            "MFU": f"{told.least_mfu:.1%}",
            "GPUs": str(seen.plan.gpus),
            "peak": f"{peak_tflops(seen.gpu, seen.run.precision):g} TFLOP/s dense",
            "active parameters": f"{seen.model.active_parameters:g}",
        },
    )


def _meant(told: Claim) -> str:
    """The utilisation that a throughput means, without attention and with it."""
    least, most = f"{told.least_mfu:.0%}", f"{told.most_mfu:.0%}"
    return least if least == most else f"{least} (with attention {most})"


def _possible(seen: Seen, told: Claim) -> str:
    step = seen.plan.forecast.step if seen.plan.forecast else None
    estimated = step.tokens_per_s if step else seen.training.tokens_per_s
    if told.mfu:
        meant = at_most(told.tokens_per_s_at_mfu, 3)
        return f"set it to {meant}, if the MFU is {told.mfu:.0%}; the planner's estimate is {about(estimated)} tokens/s"
    return f"set it to {at_most(estimated)}, the planner's estimate, or remove expected"


@warning(
    "A17 C10",
    each=known_runs,
    formula="forecast / (1 + range) <= expected tokens/s <= forecast / (1 - range)",
    source="catalogue/calibration.py: published runs by software, GPU and precision",
)
def run_unlike_forecast(_: Draft, seen: Seen) -> Iterable[Observation]:
    """The expected throughput of a run lies in the range of measured runs like it; otherwise the number or the layout
    is wrong.
    """
    forecast = seen.plan.forecast
    if forecast is None or not forecast.measured or (step := forecast.step) is None:
        return
    few, many = step.rate_range
    if few <= forecast.tokens_per_s <= many:
        return
    yield Observation(
        path="expected",
        sentence=f"{forecast.tokens_per_s:,.0f} tokens/s are {forecast.tokens_per_s / step.tokens_per_s:.2g} times "
        f"what is forecast for this layout on {seen.plan.gpus} {seen.gpu.name}, {about(few)} to {about(many)} "
        "tokens/s",
        remedy="keep it if this layout was measured with this software, and name that in software; else remove it",
        inputs={"expected": f"{forecast.tokens_per_s:g} tokens/s", "forecast": f"{step.tokens_per_s:.0f} tokens/s"},
    )


@warning(
    "HW26 NC19 NC22 P14",
    each=known_runs,
    formula="exposed exchanges / step <= 50 %; step by phases as in NCCL's cost model",
    source="NCCL 2.30.7, src/tuning; nccl-tests, doc/PERFORMANCE.md",
)
def network_bound(_: Draft, seen: Seen) -> Iterable[Observation]:
    """A step computes at least as long as it waits for its exchanges. `gang-without-efa` is about nodes on TCP."""
    step = seen.plan.forecast.step if seen.plan.forecast else None
    over_tcp = isinstance(seen.pool, AwsPoolPlan) and seen.pool.efa == 0
    if step is None or step.communication_share <= _MOST_WAITING or over_tcp:
        return
    waiting = sum(phase.exposed_s for phase in step.phases)
    yield Observation(
        path="parallelism",
        sentence=f"of a step of {step.seconds:.2f} s, {waiting:.2f} s ({step.communication_share:.0%}) pass "
        f"waiting for exchanges of {seen.training.layout.world} GPUs, which leaves an MFU of {step.mfu:.0%}",
        remedy="keep more of it inside nodes (parallelism.tensor, sharding), raise accumulation, or take nodes "
        f"with more or faster network cards; a faster network shortens these {waiting:.2f} s only",
        inputs={
            "step": f"{step.seconds:.3f} s",
            "waiting": f"{waiting:.3f} s",
            "tokens": f"{step.tokens} tokens a step",
        },
    )


@warning("HW22 C11", each=timed_runs, formula="tokens / (tokens/s x effective part) / 86400 <= 365 days", source=_PALM)
def run_takes_years(_: Draft, seen: Seen, forecast: Forecast, days: float) -> Iterable[Observation]:
    """The tokens of a run go through its GPUs within a year."""
    if days <= _MOST_DAYS:
        return
    times = days / _MOST_DAYS
    yield Observation(
        path="tokensBillion",
        sentence=f"{seen.run.tokens_billion:g} billion tokens of {seen.model.name} take {seen.plan.gpus} "
        f"{seen.gpu.name} {days:,.0f} days at {about(forecast.tokens_per_s)} tokens/s",
        remedy=f"take {ceil(times):,} times as many GPUs for a year, or set it to at most "
        f"{at_most((seen.run.tokens_billion or 0) / times)}",
        inputs={
            "tokens": f"{seen.run.tokens_billion:g} x 10^9",
            "rate": f"{forecast.tokens_per_s:.0f} tokens/s",
            "GPUs": str(seen.plan.gpus),
        },
    )


@aws_warning(
    "PF10",
    each=timed_runs,
    formula="start of the block + days of the run <= 45 minutes before the block's end",
    source="EKS user guide, Capacity Blocks: the group is emptied 40 minutes before the end",
)
def block_ends_before_run(draft: AwsDraft, seen: Seen, forecast: Forecast, days: float) -> Iterable[Observation]:
    """The tokens of a run go through its GPUs before their capacity block ends, which it does hard."""
    block = draft.pools[seen.run.pool].block
    if block is None:
        return
    there = (block.times.checkpoint_by - block.times.start) / timedelta(days=1)
    if days > there:
        yield Observation(
            path="tokensBillion",
            sentence=f"the run takes {days:.1f} days at {about(forecast.tokens_per_s)} tokens/s, and the "
            f"block of pool {seen.run.pool} has {there:.1f} until its last checkpoint is due",
            remedy="go on in another block from that checkpoint, or buy a longer one",
            inputs={"run": f"{days:.1f} d", "block": f"{there:.1f} d"},
        )
