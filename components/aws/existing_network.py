"""An existing VPC, with the interface of `Network`: nothing of it is registered or destroyed.

Its gateways, routes and endpoints are its owner's; `make doctor` reads whether they lead where nodes have to ask.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components.aws.network import SubnetRole


@dataclass(frozen=True, kw_only=True)
class ExistingSubnetSpec:
    """A subnet in one of its roles."""

    id: str
    role: SubnetRole
    zone_id: str


class ExistingNetwork:
    """What `Network` offers, of subnets that stand. What is made in them comes after `after`, and goes before it."""

    vpc_id: pulumi.Output[str]

    def __init__(self, vpc_id: str, subnets: Sequence[ExistingSubnetSpec], after: pulumi.Resource | None) -> None:
        self._subnets, self._after = list(subnets), after
        self.vpc_id = self._then(vpc_id)

    def subnet_ids(self, role: SubnetRole) -> list[pulumi.Output[str]]:
        """Ids of the subnets that play `role`, in the order they were given."""
        return [self._then(each.id) for each in self._subnets if each.role == role]

    def _then(self, known: str) -> pulumi.Output[str]:
        """A name that is known, told when `after` is there: what reads it depends on that."""
        if self._after is None:
            return pulumi.Output.from_input(known)
        return self._after.urn.apply(lambda _: known)
