"""Evaluations and exports of the plan's runs."""

from collections.abc import Callable, Mapping

import pulumi

from catalogue.supply import Supply
from catalogue.versions import PYTHON_IMAGE
from components.platform.network_rules import NetworkRules, NetworkRulesArgs, Pods, Rule, at
from components.training.follow_up import ASKS_KEY, FollowUp, FollowUpArgs, follow_up_files
from planner.workload_types import FollowUpPlan, RunPlan
from stacks.platform import Platform
from stacks.purposes import address
from stacks.services import CHECKPOINTS, Services
from stacks.shapes import shape


def deploy_follow_up(
    run: RunPlan,
    each: FollowUpPlan,
    supply: Supply,
    platform: Platform,
    services: Services,
    gates: Mapping[str, pulumi.Resource],
    labels: Callable[[str], Mapping[str, str]],
    lineage: Mapping[str, str],
    inside: pulumi.ResourceOptions,
) -> None:
    """Register `each` of a run's; `gates` are what shows that a pool was measured, by its name.

    `labels` are those of the jobs of an image.
    """
    pool, objects, namespace = platform.pools[each.pool], platform.objects, services.namespaces["training"]
    own, prefix = f"{run.name}-{each.name}", f"results/{run.name}/{each.name}"
    granted = objects.writer(f"follow-up-{own}-identity", prefix=prefix, namespace=namespace, account=own, opts=inside)
    asks = Rule(
        name=f"asks-for-{own}",
        pods=Pods(labels={ASKS_KEY: own}),
        egress=[at(platform.connections.api)],
    )
    NetworkRules(f"network-{own}", NetworkRulesArgs(rules={"training": [asks]}, names=services.namespaces), inside)
    args = FollowUpArgs(
        run=run.name,
        name=each.name,
        namespace=namespace,
        image=supply.image(each.image),
        asker=supply.image(PYTHON_IMAGE),
        script=each.script,
        shape=shape(each.pod),
        pool=pool.name,
        gpu_product=pool.gpu_product,
        taints=pool.taints,
        queue=services.queues[each.queue],
        priority=services.priorities["experiments"],
        granted=granted,
        checkpoint_claim=services.claims[CHECKPOINTS],
        results_uri=address(objects, prefix),
        after_end=each.after_end,
        every_seconds=each.every_s,
        deadline_seconds=each.deadline_s,
        keep_seconds=each.keep_s,
        after=[services.training_operator, pool.nodes_ready, *services.gpus[pool.name]],
        files=follow_up_files(),
        measured=pool.name in gates,
        labels=labels(each.image),
        lineage={**lineage, "image": supply.image(each.image)},
    )
    FollowUp(f"follow-up-{own}", args, inside)
