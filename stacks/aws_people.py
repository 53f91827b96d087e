"""People by their ARNs: entries of the cluster's access list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components.aws.people import People, PeopleArgs


@dataclass(frozen=True, kw_only=True)
class EksPeople:
    """Who is let into an EKS cluster. `opts` name the parent and the account's provider."""

    cluster_name: pulumi.Output[str]
    opts: pulumi.ResourceOptions

    def admit(self, name: str, principals: Mapping[str, Sequence[str]]) -> None:
        """Let people in, each as a member of groups."""
        People(name, PeopleArgs(cluster_name=self.cluster_name, principals=principals), self.opts)
