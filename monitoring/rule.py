"""Recording rules as data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

NODE_POOL = "gpucluster:node:pool"


@dataclass(frozen=True)
class Recording:
    """A recorded name: gpucluster:<subject>:<what>, the last word its unit. `labels` stay on its series.

    `constant` labels are added: they tell apart rules that record one name.
    """

    name: str
    expression: str
    labels: tuple[str, ...]
    constant: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """As a rule group has it."""
        return {
            "record": self.name,
            "expr": self.expression,
            **({"labels": dict(self.constant)} if self.constant else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rules that are evaluated together, in order, every `interval`."""

    name: str
    rules: tuple[Recording, ...]
    interval: str = "30s"

    def document(self) -> dict[str, Any]:
        """As a PrometheusRule has it."""
        return {
            "name": f"gpucluster.{self.name}",
            "interval": self.interval,
            "rules": [rule.document() for rule in self.rules],
        }


def in_pool(expression: str) -> str:
    """The series with the pool of their node. Those of a node without one stay as they are: what tells a sick node must
    not vanish with kube-state-metrics, which tells the pools.
    """
    return f"({expression}) * on (node) group_left (pool) {NODE_POOL}\nor ({expression}) unless on (node) {NODE_POOL}"


def names(groups: Iterable[Group]) -> dict[str, tuple[str, ...]]:
    """The labels of every recorded name."""
    return {rule.name: (*rule.labels, *rule.constant) for group in groups for rule in group.rules}
