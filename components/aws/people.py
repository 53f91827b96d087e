"""Access entries for people, as members of Kubernetes groups, by their AWS role or user."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class PeopleArgs:
    """`principals` are ARNs with the groups of Kubernetes that each is in; EKS knows a principal once."""

    cluster_name: pulumi.Input[str]
    principals: Mapping[str, Sequence[str]]


class People(Component):
    """Access entries without policies: what a group may do is RBAC's (EKS user guide, "Create access entries")."""

    def __init__(self, name: str, args: PeopleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        for principal, groups in args.principals.items():
            role = _label(principal)
            aws.eks.AccessEntry(
                self.named(role),
                cluster_name=args.cluster_name,
                principal_arn=principal,
                type="STANDARD",
                kubernetes_groups=sorted(groups),
                tags=self.tags(role),
                opts=self.child(),
            )
        self.register_outputs({"principals": sorted(args.principals)})


def _label(arn: str) -> str:
    """Account, kind and path of a principal: arn:aws:iam::123456789012:role/ml/x is 123456789012-role-ml-x."""
    return "-".join(arn.split(":", 4)[4].replace(":", "/").split("/"))
