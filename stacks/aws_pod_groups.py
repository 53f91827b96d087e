"""Which pods have security groups of their own on EKS, beside the cluster's: with that alone they speak with nodes,
with the name service, and with each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components.aws.pod_groups import PodGroups, PodGroupsArgs, PodGroupsSpec
from planner import said
from stacks.namespaces import SERVED


@dataclass(frozen=True, kw_only=True)
class SecurityGroups:
    """Groups of services and of teams; `cluster_group_id` is the cluster's own group."""

    wanted: Sequence[said.PodGroups]
    cluster_group_id: pulumi.Output[str]

    def placed(
        self, name: str, namespaces: Mapping[str, pulumi.Output[str]], opts: pulumi.ResourceOptions
    ) -> Mapping[str, pulumi.Output[str]]:
        policies = [
            PodGroupsSpec(
                name=str(each.service or each.team),
                namespace=namespaces[_namespace(each)],
                labels={"app.kubernetes.io/instance": each.service} if each.service else {},
                groups=[self.cluster_group_id, *each.groups],
            )
            for each in self.wanted
            if _namespace(each) in namespaces
        ]
        if not policies:
            return namespaces
        made = PodGroups(name, PodGroupsArgs(policies=policies), opts).made
        of: dict[str, list[pulumi.Output[str]]] = {}
        for each in self.wanted:
            if (policy := made.get(str(each.service or each.team))) is not None:
                of.setdefault(_namespace(each), []).append(policy)
        return {space: _after(output, of.get(space, [])) for space, output in namespaces.items()}


def _namespace(entry: said.PodGroups) -> str:
    return SERVED if entry.service else f"team-{entry.team}"


def _after(namespace: pulumi.Output[str], policies: Sequence[pulumi.Output[str]]) -> pulumi.Output[str]:
    if not policies:
        return namespace
    return pulumi.Output.all(namespace, *policies).apply(lambda known: str(known[0]))
