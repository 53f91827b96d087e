"""Monitoring: a disk for the retention, room for it, thresholds, somebody who is told; and trackers."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from math import ceil

from monitoring.rules import adjustable
from planner.draft import Draft, rule, warning
from planner.findings import Observation
from planner.monitoring.plan import BYTES_PER_SAMPLE, FILLED, needed_gib
from planner.monitoring.series import OWN_INTERVAL
from planner.monitoring.types import ExporterPlan
from planner.rules.known import runs
from settings.workloads import TrainingRun


@rule(
    "ST17 X02",
    formula="(failure, limit) is a threshold of the table of failures, and stands there once",
    source="monitoring/failures: the limits of each failure; its page in docs/runbooks names them",
)
def alert_threshold(draft: Draft) -> Iterable[Observation]:
    """A threshold in the stack file names a failure that exists, and no failure has two for the same limit."""
    if draft.monitoring is None:
        return
    there = {f"{failure} {limit}" for failure, limit in adjustable()}
    seen: set[str] = set()
    for index, each in enumerate(draft.monitoring.alerts.thresholds):
        name = f"{each.failure} {each.limit}"
        if name not in there:
            near = get_close_matches(name, sorted(there), n=3, cutoff=0.4)
            yield Observation(
                path=f"monitoring.alerts.thresholds[{index}]",
                sentence=f"no failure {each.failure} has a threshold {each.limit}",
                remedy=f"take one of: {', '.join(near or sorted(there))}",
            )
        elif name in seen:
            yield Observation(
                path=f"monitoring.alerts.thresholds[{index}]",
                sentence=f"the threshold {each.limit} of {each.failure} is set twice",
                remedy="remove one of the two",
            )
        seen.add(name)


MOST_SAMPLES_PER_S = 100_000
"""A thousand servers of a thousand series each, scraped every 10 seconds (Robust Perception, Scaling and Federating
Prometheus): what one server is said to take without further thought."""

_SLOWEST_S = 120
"""What scrapeSeconds takes at most: rate() over five minutes needs two samples."""

_STORAGE = "Prometheus documentation, Storage: operational aspects, right-sizing retention size"


@rule(
    "X01",
    formula=f"retentionDays x samples/s x {BYTES_PER_SAMPLE} bytes and the head <= {FILLED:.0%} of diskGib",
    source=_STORAGE,
)
def metrics_disk(draft: Draft) -> Iterable[Observation]:
    """Prometheus' disk holds the samples of its retention; what it cannot hold is deleted before its time."""
    plan = draft.monitoring
    if plan is None or plan.needed_gib <= plan.disk_gib * FILLED:
        return
    head = needed_gib(plan.samples_per_s, 0)
    days = max(1, int(plan.retention_days * (plan.disk_gib * FILLED - head) / (plan.needed_gib - head)))
    yield Observation(
        path="monitoring.diskGib",
        sentence=f"{plan.retention_days} days of {plan.samples_per_s:,} samples/s take {plan.needed_gib:,} GiB, and of "
        f"{plan.disk_gib:,} GiB they may fill {plan.retention_size_gib:,}",
        remedy=f"remove diskGib, or set it to at least {ceil(plan.needed_gib / FILLED):,}; or keep {days} "
        f"day{'s' if days > 1 else ''}",
        inputs={
            "retention": f"{plan.retention_days} days",
            "rate": f"{plan.samples_per_s:,} samples/s",
            "disk": f"{plan.disk_gib:,} GiB",
        },
    )


@rule(
    "X10",
    formula=f"sum of series / interval <= {MOST_SAMPLES_PER_S:,} samples/s",
    source="Robust Perception, Scaling and Federating Prometheus: a thousand servers with a thousand series every 10 s",
)
def metrics_storm(draft: Draft) -> Iterable[Observation]:
    """One Prometheus takes what all exporters together give."""
    plan = draft.monitoring
    if plan is None or plan.samples_per_s <= MOST_SAMPLES_PER_S:
        return
    worst: ExporterPlan = max(plan.exporters, key=lambda each: each.samples_per_s)
    slower = _slower(plan.exporters)
    yield Observation(
        path="monitoring.scrapeSeconds",
        sentence=f"{plan.series:,} series every {plan.scrape_s} s are {plan.samples_per_s:,} samples/s, more than the "
        f"{MOST_SAMPLES_PER_S:,} of one Prometheus; most come from {worst.name}: {worst.series:,} series",
        remedy=f"set scrapeSeconds to {slower}" if slower else "divide the nodes among several clusters",
        inputs={"series": f"{plan.series:,} series", "interval": f"{plan.scrape_s} s"},
    )


def _slower(exporters: Iterable[ExporterPlan]) -> int | None:
    """The interval, in tens of seconds, at which one Prometheus takes them all; None where no interval is long enough.

    Alert rules and vLLM's servers keep their own. Of 4 million exporters' series and 1 million of rules, every 30 s,
    60 s make 100,000 samples/s; 50 s, in proportion to all of it, would still make 113,333.
    """
    stay = sum(each.samples_per_s for each in exporters if each.name in OWN_INTERVAL)
    stretch = sum(each.series for each in exporters if each.name not in OWN_INTERVAL)
    if stay >= MOST_SAMPLES_PER_S:
        return None
    slower = ceil(stretch / (MOST_SAMPLES_PER_S - stay) / 10) * 10
    return slower if slower <= _SLOWEST_S else None


@rule(
    "X11",
    formula="requests of what runs on the system pools <= what the kubelets of their nodes offer",
    source="requests of the charts' and add-ons' pods; Grafana Mimir, planning capacity: 2.5 GB for 300,000 series",
)
def system_pool_room(draft: Draft) -> Iterable[Observation]:
    """The system pools hold Prometheus and everything else that runs there; what finds no node stays Pending."""
    plan = draft.monitoring
    if plan is None or not plan.room.offered_cpu_millicores:
        return
    room = plan.room
    index = next(index for index, pool in enumerate(draft.settings.pools) if pool.role == "system")
    key = draft.hardware_key
    inputs = {"series": f"{plan.series:,} series", "Prometheus": f"{plan.requests.prometheus.memory_mib:,} MiB"}
    if room.largest_memory_mib > room.node_memory_mib or room.largest_cpu_millicores > room.node_cpu_millicores:
        yield Observation(
            path=f"pools[{index}].{key}",
            sentence=f"Prometheus and the daemons beside it ask for {_words(room.largest_cpu_millicores)} and "
            f"{room.largest_memory_mib:,} MiB of one node, and the largest of the system pools offers "
            f"{_words(room.node_cpu_millicores)} and {room.node_memory_mib:,} MiB",
            remedy="take larger nodes for the system pool; longer intervals of scraping save no memory",
            subject=draft.settings.pools[index].name,
            inputs=inputs,
        )
    elif room.asked_memory_mib > room.offered_memory_mib or room.asked_cpu_millicores > room.offered_cpu_millicores:
        yield Observation(
            path=f"pools[{index}].count",
            sentence=f"what runs on the system pools asks for {_words(room.asked_cpu_millicores)} and "
            f"{room.asked_memory_mib:,} MiB, and they offer {_words(room.offered_cpu_millicores)} and "
            f"{room.offered_memory_mib:,} MiB",
            remedy="add nodes to the system pool, or take larger ones",
            subject=draft.settings.pools[index].name,
            inputs=inputs,
        )


def _words(millicores: int) -> str:
    return f"{millicores / 1000:g} cores"


@warning(
    "X02",
    formula="a protected stack has a receiver of alerts, not of critical ones alone",
    source="Alertmanager documentation, configuration: a route without a receiver tells nobody",
)
def alerts_unheard(draft: Draft) -> Iterable[Observation]:
    """A protected stack sends its alerts to somebody, its warnings too: most failures begin with one."""
    plan = draft.monitoring
    if draft.settings.lifecycle.protect and plan and all(each.at_least == "critical" for each in plan.receivers):
        yield Observation(
            path="monitoring.receivers",
            sentence=f"nobody is told of {'a warning' if plan.receivers else 'an alert'}, and the stack is protected",
            remedy="add a receiver: {name: team, kind: slack, secret: slackUrl, channel: '#gpu-cluster'}",
        )


@rule(
    "U05",
    formula="monitoring.isolation.most < count of each pool of several nodes",
    source="Kubernetes documentation, Safely Drain a Node: what is left must hold what runs",
)
def isolation_whole_pool(draft: Draft) -> Iterable[Observation]:
    """An alert that is wrong, or a fault of the whole fabric, cannot take every node of a pool."""
    isolation = draft.monitoring.isolation if draft.monitoring else None
    if isolation is None:
        return
    counts = {name: draft.pools[name].count for name in isolation.pools if draft.pools[name].count > 1}
    name = min(counts, key=lambda each: counts[each], default=None)
    if name is not None and isolation.most >= counts[name]:
        yield Observation(
            path="monitoring.isolation.most",
            sentence=f"{isolation.most} nodes of a pool may be isolated at a time, and {name} has {counts[name]}: an "
            "alert that is wrong would leave no node for new pods",
            remedy=f"set most to {counts[name] - 1}" + (" or less" if counts[name] > 2 else ""),
            subject=name,
            inputs={"nodes": f"{counts[name]} nodes"},
        )


ENDED = "2026-03-05"
"""The day on which Neptune's hosted service ended and its customers' data were deleted (Neptune, transition notice)."""


@rule(
    "R05 PF02",
    formula="training.tracking.kind is a tracker that there is",
    source=f"Neptune's transition notice: acquired in December 2025, the service ended on {ENDED}",
)
def tracker_ended(draft: Draft) -> Iterator[Observation]:
    """Runs report to a tracking service that still exists."""
    tracking = draft.settings.training.tracking
    if tracking is not None and tracking.kind == "neptune":
        yield Observation(
            path="training.tracking.kind",
            sentence=f"Neptune's service ended on {ENDED} and its data were deleted, so nobody hears what runs tell",
            remedy="take mlflow, which this stack then has, or wandb",
            subject="neptune",
        )


@warning(
    "R05",
    each=runs,
    formula="the tracker is MLflow, where a run's framework is reference",
    source="node/trainer/tracking.py: the reference trainer speaks MLflow's REST API and nothing else",
)
def tracker_unheard(draft: Draft, run: TrainingRun) -> Iterator[Observation]:
    """The reference trainer reports to MLflow only; a run that should report elsewhere needs its own script."""
    tracking = draft.settings.training.tracking
    if tracking is None or tracking.kind != "wandb":
        return
    if run.framework == "reference":
        yield Observation(
            path="framework",
            sentence=f"run {run.name} is trained by the reference trainer, which tells MLflow alone and nothing to "
            f"{tracking.host}",
            remedy="set training.tracking.kind to mlflow, or train by a script that imports wandb",
        )
