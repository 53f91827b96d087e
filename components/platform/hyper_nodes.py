"""Volcano's HyperNodes: which nodes share a switch, and which switches share one above them.

Source: volcano v1.14.1, pkg/scheduler/api/hyper_node_info.go (a tree by exact names, tiers from the nodes upwards) and
pkg/scheduler/plugins/network-topology-aware.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

TIER_KEYS = tuple(f"network.topology.nvidia.com/{tier}" for tier in ("leaf", "spine", "core"))
"""Labels of a node by tier: the switches above it (NVIDIA/topograph, pkg/engines/k8s, labels.go)."""

LEAF_KEY = TIER_KEYS[0]
RACK_KEY, UNIT_KEY = "gpucluster/rack", "gpucluster/unit"


@dataclass(frozen=True, kw_only=True)
class HyperNodeSpec:
    """Nodes that meet at a switch (`tier` 1), or HyperNodes of the tier below that do; `members` are their names."""

    name: str
    tier: int
    members: Sequence[str]

    def body(self) -> dict[str, Any]:
        """The object's spec."""
        kind = "Node" if self.tier == 1 else "HyperNode"
        named = [{"type": kind, "selector": {"exactMatch": {"name": name}}} for name in self.members]
        return {"tier": self.tier, "members": named}


@dataclass(frozen=True, kw_only=True)
class HyperNodesArgs:
    """`scheduler` is what shows that Volcano admits them."""

    nodes: Sequence[HyperNodeSpec]
    scheduler: pulumi.Resource


class HyperNodes(Component):
    """The tree."""

    def __init__(self, name: str, args: HyperNodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        for spec in args.nodes:
            k8s.apiextensions.CustomResource(
                self.named(spec.name),
                api_version="topology.volcano.sh/v1alpha1",
                kind="HyperNode",
                metadata=k8s.meta.v1.ObjectMetaArgs(name=spec.name),
                spec=spec.body(),
                opts=self.child(depends_on=[args.scheduler]),
            )
        self.register_outputs({"hyperNodes": sorted(spec.name for spec in args.nodes)})
