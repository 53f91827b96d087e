"""A training run: its pace, its checkpoints, and what of its time was of use (C10, V02, U09, X14).

The effective training time ratio (ETTR) is productive time / the time that the run had, waiting in its queue included
(Kokolis et al. 2024, section 2). Productive are the steps beyond any that were reached before, each at the median time
of a step: work that is done again after a restart counts once. The run had the time in which its pods existed. What is
missing, on all the run's GPUs, are its lost GPU hours.
"""

from monitoring.dashboards.model import Dashboard, Panel, Query, Section, Unit, Variable
from monitoring.dashboards.queries import LABEL_OF_RUN, planned, told
from monitoring.dashboards.references import References
from monitoring.run_metrics import CHECKPOINT_PAUSE, LOSS, STEP

_RUN = '{run=~"$run"}'
_DAY = "1d"
_SECONDS_PER_HOUR = 3600
_OF_THE_RUN = f'on (namespace, pod) group_left () max by (namespace, pod) (kube_pod_labels{{{LABEL_OF_RUN}=~"$run"}})'
"""Leaves of series of pods those of the run."""

_SLOW = 0.9
"""Part of the planned pace below which somebody looks."""


def run(plan: References) -> Dashboard:
    """All runs, or one."""
    return Dashboard(
        uid="gpucluster-run",
        title="Training run",
        description="Pace, checkpoints and lost time. What a run tells of itself needs its metricsPort.",
        variables=(Variable(name="run", label="run", metric="gpucluster:gpu:run"),),
        sections=(
            Section(title="Pace", panels=_pace(plan)),
            Section(title="Checkpoints and lost time", panels=_time(plan)),
            Section(title="What it does with its nodes", panels=_nodes()),
        ),
        hours=24,
    )


def wallclock_s(window: str) -> str:
    """Seconds of a window in which a run's pods existed, running or not."""
    named = f'label_replace(kube_pod_labels{{{LABEL_OF_RUN}=~"$run"}}, "run", "$1", "{LABEL_OF_RUN}", "(.+)")'
    return f"60 * sum_over_time((clamp_max(count by (run) ({named}), 1))[{window}:1m])"


def productive_s(window: str) -> str:
    """Seconds that the steps of a window took which nobody had reached before."""
    reached = f"max by (run) (max_over_time({STEP.name}{_RUN}[{window}]))"
    before = f"max by (run) (max_over_time({STEP.name}{_RUN}[{window}] offset {window}))"
    first = f"min by (run) (min_over_time({STEP.name}{_RUN}[{window}]))"
    median = f"quantile_over_time(0.5, gpucluster:run:step_seconds{_RUN}[{window}])"
    return f"({reached} - ({before} or {first})) * on (run) max by (run) ({median})"


def effective_part(window: str) -> str:
    """The effective training time ratio of a window."""
    return f"clamp_max({productive_s(window)} / on (run) ({wallclock_s(window)}), 1)"


def _pace(plan: References) -> tuple[Panel, ...]:
    runs = plan.runs.items()
    rate, mfu, step = (f"gpucluster:run:{name}{_RUN}" for name in ("tokens_per_second", "mfu_ratio", "step_seconds"))
    return (
        Panel(
            title="Tokens per second",
            description=f"Below {_SLOW:.0%} of the dashed line something slows the run: heat, the fabric, or its data.",
            unit=Unit.TOKENS_PER_SECOND,
            queries=[
                Query(rate, "{{run}}"),
                *planned("run", {name: each.tokens_per_s for name, each in runs}, rate),
            ],
        ),
        Panel(
            title="Model FLOP utilisation",
            description="A drop without a change of the script is a sick node: compare its clocks and its fabric.",
            unit=Unit.PART,
            queries=[Query(mfu, "{{run}}"), *planned("run", {name: each.mfu for name, each in runs}, mfu)],
            most=1,
        ),
        Panel(
            title="Time of a step",
            description="Spikes at even distances are checkpoints; a new level that stays is a straggler.",
            unit=Unit.SECONDS,
            queries=[
                Query(step, "{{run}}"),
                *planned("run", {name: each.step_s for name, each in runs}, step),
            ],
        ),
        Panel(
            title="Loss",
            description="A jump that does not come back: a learning rate too high, bad data, or corrupted memory.",
            unit=Unit.COUNT,
            queries=[Query(f"max by (run) ({LOSS.name}{_RUN})", "{{run}}")],
            least=None,
            width=12,
        ),
        Panel(
            title="Step",
            description="A saw tooth is work done again: each tooth is a restart at the last checkpoint.",
            unit=Unit.COUNT,
            queries=[Query(f"max by (run) ({STEP.name}{_RUN})", "{{run}}")],
            width=12,
        ),
    )


def _time(plan: References) -> tuple[Panel, ...]:
    runs = plan.runs.items()
    age = f"gpucluster:run:checkpoint_age_seconds{_RUN}"
    every = planned("run", {name: each.checkpoint_every_s for name, each in runs}, age, "interval")
    return (
        Panel(
            title="Age of the newest checkpoint",
            description="Far above its interval a save fails or hangs, and a failure now costs all that time.",
            unit=Unit.SECONDS,
            queries=[Query(age, "{{run}}"), *every],
        ),
        Panel(
            title="Training stood still for the last save",
            description="Above what the run allows the file system is slower than planned, or somebody else is on it.",
            unit=Unit.SECONDS,
            queries=[
                Query(f"max by (run) ({CHECKPOINT_PAUSE.name}{_RUN})", "{{run}}"),
                *planned(
                    "run",
                    {name: each.checkpoint_pause_s for name, each in runs},
                    f"max by (run) ({CHECKPOINT_PAUSE.name}{_RUN})",
                    "allowed",
                ),
            ],
        ),
        Panel(
            title="Effective training time ratio, last day",
            description="Below the dashed line failures cost more than planned: more of them, or slower restarts.",
            unit=Unit.PART,
            queries=[
                Query(effective_part(_DAY), "{{run}}"),
                *planned(
                    "run", {name: each.effective_part for name, each in runs}, f"max by (run) ({STEP.name}{_RUN})"
                ),
            ],
            most=1,
        ),
        *_lost(plan),
        Panel(
            title="Containers that began again, in an hour",
            description="All pods of a run at once: the gang restarted; one that repeats is one bad node.",
            unit=Unit.COUNT,
            queries=[
                Query(
                    f"sum by (pod) (increase(kube_pod_container_status_restarts_total[1h]) * {_OF_THE_RUN}) > 0",
                    "{{pod}}",
                )
            ],
            decimals=0,
            nothing="none",
        ),
        Panel(
            title="Pods by phase",
            description="Pending: the gang waits for its queue or for nodes; Failed: read the pod's last words.",
            unit=Unit.COUNT,
            queries=[Query(f"sum by (phase) (kube_pod_status_phase * {_OF_THE_RUN}) > 0", "{{phase}}")],
            decimals=0,
        ),
    )


def _lost(plan: References) -> tuple[Panel, ...]:
    """Of the runs that are planned: of others nobody told how many GPUs they have."""
    if not plan.runs:
        return ()
    gpus = told("run", {name: each.gpus for name, each in plan.runs.items()})
    seconds = f"clamp_min(({wallclock_s(_DAY)}) - on (run) ({productive_s(_DAY)}), 0)"
    return (
        Panel(
            title="Lost GPU hours of the last day",
            description="GPUs that were held and brought the run no further: waits, restarts, work done again.",
            unit=Unit.HOURS,
            queries=[Query(f"{seconds} / {_SECONDS_PER_HOUR} * on (run) {gpus}", "{{run}}")],
            decimals=1,
        ),
    )


def _nodes() -> tuple[Panel, ...]:
    return (
        Panel(
            title="GPUs of the run",
            description="Busy and without tokens is a hang; tensor cores far below that wait for memory or fabric.",
            unit=Unit.PART,
            queries=[
                Query(f"gpucluster:run:gpu_utilisation_ratio{_RUN}", "{{run}} busy"),
                Query(f"gpucluster:run:tensor_active_ratio{_RUN}", "{{run}} tensor cores"),
            ],
            most=1,
        ),
        Panel(
            title="Fabric traffic of the run's nodes, sent",
            description="Zero while it trains on several nodes: NCCL fell back to TCP.",
            unit=Unit.BYTES_PER_SECOND,
            queries=[Query(f"gpucluster:run:fabric_bytes_per_second{_RUN}", "{{run}}")],
        ),
        Panel(
            title="Hottest GPU of the run",
            description="One hot GPU lowers its clock, and with it the pace of all.",
            unit=Unit.CELSIUS,
            queries=[
                Query(
                    "max by (run) (gpucluster:gpu:temperature_celsius"
                    f" * on (node, gpu) group_left (run) gpucluster:gpu:run{_RUN})",
                    "{{run}}",
                )
            ],
            most=100,
        ),
    )
