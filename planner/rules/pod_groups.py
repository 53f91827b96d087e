"""Security groups of single pods: whose they are, and whether the nodes can have such pods."""

from collections.abc import Iterable, Iterator

from catalogue.trunks import BRANCH_INTERFACES
from planner.draft import AwsDraft, aws_rule
from planner.findings import Observation
from planner.pool_types import AwsPoolPlan
from planner.said import PodGroups
from settings.serving import Service, Triton


def _entries(draft: AwsDraft) -> Iterator[tuple[str, PodGroups]]:
    for index, each in enumerate(draft.settings.platform.network.pod_groups):
        yield f"platform.network.podGroups[{index}]", each


def _served(draft: AwsDraft) -> list[Service | Triton]:
    return [*draft.settings.serving.services, *draft.settings.serving.triton]


@aws_rule(
    "F02",
    by_name=True,
    formula="each of network.podGroups names a service of serving, or a team",
    source="EKS user guide, Assign security groups to individual Pods: a policy selects pods of one namespace",
)
def pod_groups_unknown(draft: AwsDraft) -> Iterable[Observation]:
    """A name that is misspelt leaves what was meant in the cluster's group alone."""
    known = {
        "service": [each.name for each in _served(draft)],
        "team": [each.name for each in draft.settings.teams],
    }
    for path, each in _entries(draft):
        kind, name = ("service", each.service) if each.service else ("team", each.team)
        if name not in known[kind]:
            yield Observation(
                path=f"{path}.{kind}",
                sentence=f"there is no {kind} {name}",
                remedy=f"write one of {', '.join(known[kind]) or 'none'}, or remove it",
                subject=str(name),
            )


def _pools_of(draft: AwsDraft, entry: PodGroups) -> list[AwsPoolPlan]:
    """Where such pods run: a service on its own pool, a team's pods on any with GPUs."""
    served = {each.name: each.pool for each in _served(draft)}
    wanted = {served.get(entry.service)} if entry.service else {each.name for each in draft.pools.values() if each.gpus}
    return [pool for name, pool in draft.pools.items() if name in wanted]


@aws_rule(
    "F02",
    by_name=True,
    formula="nodes of pods with groups of their own have a trunk: a type that has one, and an interface of card 0 free",
    source="amazon-vpc-resource-controller-k8s, pkg/aws/vpc/limits.go and docs/sgp/workflow.md",
)
def pod_groups_without_trunk(draft: AwsDraft) -> Iterable[Observation]:
    """A pod that a group is meant for asks for a branch interface, and waits where no node has any."""
    for path, each in _entries(draft):
        for pool in _pools_of(draft, each):
            for type_ in pool.offers.types:
                if type_.type not in BRANCH_INTERFACES:
                    why = f"{type_.type} has no trunk for pods with security groups of their own"
                elif not pool.branch_interfaces and type_ == pool.instance:
                    why = f"the node's interface and its EFA leave no place of {type_.type}'s card 0 for a trunk"
                else:
                    continue
                yield Observation(
                    path=path,
                    sentence=f"pods of {each.service or each.team} would not start in pool {pool.name}: {why}",
                    remedy="take another type there, or remove the entry: NetworkPolicies keep pods apart without it",
                    subject=pool.name,
                )
