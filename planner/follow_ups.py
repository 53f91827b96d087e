"""Evaluations and exports of runs: what their pods get of a node."""

from collections.abc import Mapping

from catalogue.units import MIB_PER_GIB, SECONDS_PER_HOUR
from planner.nodes import pod_share
from planner.pool_types import PoolPlan
from planner.workload_types import FollowUpPlan, PodResources
from settings.workloads import TrainingRun

LOOK_S = 900
"""How often it is asked whether a run has ended."""


def plan_follow_ups(run: TrainingRun, pools: Mapping[str, PoolPlan]) -> tuple[FollowUpPlan, ...]:
    """Those whose pool is planned and has GPUs enough on a node, in the order of the settings."""
    found = []
    for each in run.follow_ups:
        pool = pools.get(each.pool)
        if pool is None or each.gpus > pool.gpus_per_node:
            continue
        cpu, memory = pod_share(
            pool.allocatable_cpu_millicores, pool.allocatable_memory_mib, each.gpus, pool.gpus_per_node
        )
        found.append(
            FollowUpPlan(
                name=each.name,
                pool=each.pool,
                queue=each.queue,
                image=each.image or run.image,
                script=each.script,
                after_end=each.every_hours is None,
                every_s=each.every_hours * SECONDS_PER_HOUR if each.every_hours is not None else LOOK_S,
                deadline_s=round(each.deadline_hours * SECONDS_PER_HOUR),
                keep_s=each.keep_hours * SECONDS_PER_HOUR,
                pod=PodResources(
                    gpus=each.gpus,
                    efa=0,
                    cpu_millicores=cpu,
                    memory_mib=memory,
                    shm_mib=min(run.shm_gib * MIB_PER_GIB, memory // 2),
                ),
            )
        )
    return tuple(found)
