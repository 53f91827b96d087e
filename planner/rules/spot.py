"""Spot pools in node groups: alternative types, and the fallback."""

from __future__ import annotations

from collections.abc import Iterable

from catalogue.types import UsageClass
from planner.draft import AwsDraft, aws_rule
from planner.findings import Observation
from planner.pool_types import AwsPoolPlan
from planner.rules.known import known_pools
from planner.rules.scaled import types_unlike
from settings.aws_pools import AwsPool


@aws_rule(
    "J14",
    each=known_pools,
    formula="types of spot.instanceTypes: in the catalogue, GPUs and their number and architecture of instanceType, "
    "and no less CPU and memory",
    source='Pods of the pool are planned for its instanceType; EC2 user guide, "Best practices for Amazon EC2 Spot": '
    "be flexible about instance types",
)
def spot_types_equal(draft: AwsDraft, pool: AwsPool, _plan: AwsPoolPlan) -> Iterable[Observation]:
    """Whatever type EC2 takes, each pod of the pool finds on it what the plan counts on."""
    yield from types_unlike(draft, pool, "spot.instanceTypes", pool.spot.instance_types if pool.spot else ())


@aws_rule(
    "J14",
    each=known_pools,
    formula="no spot.instanceTypes at a pool with EFA",
    source="EKS user guide, launch templates: one list of network interfaces for all types of a node group; EC2 user "
    "guide, EFA: the cards that carry it differ by type",
)
def spot_fabric_one_type(_: AwsDraft, pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """Nodes of a gang over EFA are of one type: its interfaces stand in the launch template, and ranks are equal."""
    if plan.efa and pool.spot and pool.spot.instance_types:
        yield Observation(
            path="spot.instanceTypes",
            sentence=f"the {plan.efa} EFA interfaces of {pool.instance_type} stand in the launch template, which "
            "all types of a node group share",
            remedy="remove instanceTypes; onDemandMinutes asks for the same type on demand",
            inputs={"EFA": f"{plan.efa} interfaces of a node"},
        )


@aws_rule(
    "Z01",
    each=known_pools,
    formula="a keeper, if a pool has spot.onDemandMinutes",
    source="EKS user guide, managed node group capacity types: a node group is on spot or on demand, and asks for "
    "nothing else where EC2 has none",
)
def spot_fallback_kept(draft: AwsDraft, pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """Somebody sees that spot nodes are missing and asks for others, and that is the keeper."""
    if plan.falls_back and draft.settings.keeper is None:
        yield Observation(
            path="spot.onDemandMinutes",
            sentence=f"nothing asks for the missing nodes of {pool.name} on demand: the keeper does, and the stack "
            "has none",
            remedy="add keeper: {}, remove onDemandMinutes, or give a pool of services karpenter with capacities: "
            "[spot, on-demand]",
        )


@aws_rule(
    "Z01",
    each=known_pools,
    formula="every type of a pool with spot.onDemandMinutes is sold on demand",
    source="EC2 instance types page; AWS price pages",
)
def spot_fallback_sold(_: AwsDraft, _pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """What is asked for on demand can be had so: some types are sold in capacity blocks only."""
    for each in plan.offers.types if plan.falls_back else ():
        if UsageClass.ON_DEMAND not in each.usage_classes:
            yield Observation(
                path="spot.onDemandMinutes",
                sentence=f"EC2 does not sell {each.type} on demand",
                remedy="remove onDemandMinutes, or take another type",
            )


@aws_rule(
    "Z01",
    each=known_pools,
    formula="POOL-on-demand of a pool with spot.onDemandMinutes is no name of a pool",
    source="EKS API reference, CreateNodegroup: names are unique in a cluster",
)
def spot_group_taken(draft: AwsDraft, _pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """The second node group is named after its pool, so no other pool has that name."""
    if plan.spot and plan.falls_back and plan.spot.group in draft.pools:
        yield Observation(
            path="spot.onDemandMinutes",
            sentence=f"the node group for what is bought on demand is called {plan.spot.group}, as another pool is",
            remedy=f"rename pool {plan.spot.group}",
        )
