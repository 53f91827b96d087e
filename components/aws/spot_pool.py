"""A spot pool with fallback: a spot node group, and an on-demand one of the same nodes.

A node group is of one way to buy (EKS user guide, "Managed node group capacity types"). Both are empty at first: the
keeper asks one of them for the nodes, and the other for what is missing. Labels and taints are the pool's, so the
scheduler sees one pool; they start in one placement group, where there is one.
"""

from dataclasses import dataclass, replace

import pulumi

from components._base import Component
from components.aws.nodes import NodePool, NodePoolArgs


@dataclass(frozen=True, kw_only=True)
class SpotPoolArgs:
    """`spot` is the group that is asked first; the other is called `on_demand` and is like it."""

    spot: NodePoolArgs
    on_demand: str


class SpotPool(Component):
    """Node groups of one pool. `nodes` exists when both do, with or without nodes."""

    nodes: pulumi.Resource

    def __init__(self, name: str, args: SpotPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        spot = NodePool(self.named("spot"), replace(args.spot, kept=True), self.child())
        paid = replace(
            args.spot,
            pool=args.on_demand,
            capacity_type="ON_DEMAND",
            kept=True,
            placement_group=False,
            beside=spot.placement,
        )
        NodePool(self.named("on-demand"), paid, self.child())
        self.nodes = self
        self.register_outputs({})
