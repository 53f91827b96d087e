"""Security groups of single pods, by policies that EKS' own controller reads.

Sources: EKS user guide, "Assign security groups to individual Pods"; amazon-vpc-resource-controller-k8s,
apis/vpcresources/v1beta1 (EKS puts the kind into every cluster) and webhooks/core/pod_webhook.go: a pod gets a branch
interface when it is made, and one that runs already keeps what it has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class PodGroupsSpec:
    """Pods of a namespace with these labels, all of it without any, are in these security groups and in no other."""

    name: str
    namespace: pulumi.Input[str]
    labels: Mapping[str, str]
    groups: Sequence[pulumi.Input[str]]


@dataclass(frozen=True, kw_only=True)
class PodGroupsArgs:
    policies: Sequence[PodGroupsSpec]


class PodGroups(Component):
    """A SecurityGroupPolicy for each. `made` has, by its name, its namespace's, when it is there."""

    made: dict[str, pulumi.Output[str]]

    def __init__(self, name: str, args: PodGroupsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.made = {each.name: self._policy(each) for each in args.policies}
        self.register_outputs({"policies": sorted(self.made)})

    def _policy(self, spec: PodGroupsSpec) -> pulumi.Output[str]:
        policy = k8s.apiextensions.CustomResource(
            self.named(spec.name),
            api_version="vpcresources.k8s.aws/v1beta1",
            kind="SecurityGroupPolicy",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=spec.name, namespace=spec.namespace),
            spec={
                "podSelector": {"matchLabels": dict(spec.labels)} if spec.labels else {},
                "securityGroups": {"groupIds": list(spec.groups)},
            },
            opts=self.child(),
        )
        return pulumi.Output.all(spec.namespace, policy.id).apply(lambda known: str(known[0]))
