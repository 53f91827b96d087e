"""Alert rules of this stack, from the table of failures and the plan's expectations."""

from collections.abc import Iterable

import pulumi

from components.monitoring.rules import Rules, RulesArgs
from monitoring.failures import failures
from monitoring.limits import BlockLimits, Limits, MachineLimits, PoolLimits, RunLimits, ServiceLimits
from monitoring.rules import alert_groups, recording_groups
from monitoring.thresholds import Threshold
from planner.said import Alerts, OwnThreshold
from planner.throughput import TYPICAL_MFU
from planner.types import Plan
from planner.workload_types import RunPlan
from stacks.platform import Watching


def limits(
    plan: Plan,
    own: Iterable[OwnThreshold] = (),
    machines: Iterable[MachineLimits] = (),
    blocks: Iterable[BlockLimits] = (),
) -> Limits:
    """What the plan says of GPUs, runs and services, the platform of its machines and of what capacity was bought
    until, and the stack's own thresholds.
    """
    return Limits(
        thresholds={(each.failure, each.limit): _own(each) for each in own},
        pools=tuple(
            PoolLimits(name=pool.name, gpus_per_node=pool.devices_per_node)
            for pool in plan.pools.values()
            if pool.gpus_per_node
        ),
        machines=tuple(machines),
        runs=tuple(_run(run) for run in plan.runs.values()),
        services=tuple(
            ServiceLimits(name=each.name, most=each.max_replicas, to_zero=each.to_zero)
            for each in plan.services.values()
        ),
        blocks=tuple(blocks),
    )


def _own(threshold: OwnThreshold) -> Threshold:
    """In the unit of the one that it replaces."""
    failure = next(each for each in failures() if each.id == threshold.failure)
    replaced = failure.limits[threshold.limit]
    unit = replaced.unit if isinstance(replaced, Threshold) else ""
    return Threshold(threshold.value, unit, threshold.source)


def _run(run: RunPlan) -> RunLimits:
    """The plan's rate of a run is that at a typical utilisation."""
    return RunLimits(
        name=run.name,
        pool=run.pool,
        nodes=run.pods,
        tokens_per_s=run.training.tokens_per_s if run.training else None,
        mfu=TYPICAL_MFU if run.training else None,
        checkpoint_s=run.saving.every_s if run.saving else None,
    )


def monitoring_rules(
    plan: Plan,
    alerts: Alerts,
    namespace: pulumi.Input[str],
    watching: Watching,
    *,
    after: pulumi.Resource,
    opts: pulumi.ResourceOptions,
) -> None:
    """Register them; `after` has the definition of PrometheusRule."""
    expected = limits(plan, alerts.thresholds, watching.machines, watching.blocks)
    args = RulesArgs(
        namespace=namespace,
        recording=recording_groups(expected),
        alerts=alert_groups(expected, alerts.runbooks),
        after=after,
    )
    Rules("rules", args, opts)
