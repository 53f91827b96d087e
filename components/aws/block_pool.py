"""A pool in several capacity blocks: a block holds at most 64 instances, and a gang may need more.

Each block has a node group of its own, whose template names its reservation. Labels and taints are the pool's, so the
scheduler sees one pool.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components._base import Component
from components.aws.nodes import NodePool, NodePoolArgs


@dataclass(frozen=True, kw_only=True)
class BlockPoolArgs:
    """The node groups in order; each has its own name, number of nodes and block."""

    groups: Sequence[NodePoolArgs]


class BlockPool(Component):
    """Node groups of one pool. `nodes` exists when all of them do."""

    nodes: pulumi.Resource

    def __init__(self, name: str, args: BlockPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        for number, each in enumerate(args.groups, 1):
            NodePool(self.named(str(number)), each, self.child())
        self.nodes = self
        self.register_outputs({})
