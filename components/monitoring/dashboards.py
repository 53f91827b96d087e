"""Dashboards for Grafana's sidecar: one ConfigMap each, which it finds by a label (X08, AB09).

Sources: values of the grafana chart, sidecar.dashboards (label, labelValue); the sidecar writes each key of the
ConfigMap to a file, and Grafana reads the files.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

LABEL = {"grafana_dashboard": "1"}
MOST_BYTES = 1 << 20
"""What the API server takes in the data of a ConfigMap (kubernetes.io, ConfigMaps: 1 MiB)."""


class Board(Protocol):
    """A dashboard of whatever making; `uid` is its address in Grafana."""

    @property
    def uid(self) -> str: ...

    def json(self) -> dict[str, Any]:
        """What Grafana reads."""
        ...


@dataclass(frozen=True, kw_only=True)
class DashboardsArgs:
    """Dashboards in the `namespace` where the sidecar looks. Raises ValueError for one that no ConfigMap can hold."""

    namespace: pulumi.Input[str]
    boards: Sequence[Board]

    def __post_init__(self) -> None:
        for board in self.boards:
            size = len(content(board).encode())
            if size > MOST_BYTES:
                raise ValueError(
                    f"{board.uid}: {size} bytes exceed a ConfigMap's {MOST_BYTES}; show less, or split the dashboard"
                )


def content(board: Board) -> str:
    """The file that Grafana reads."""
    return json.dumps(board.json(), sort_keys=True)


class Dashboards(Component):
    """The ConfigMaps, named after the dashboards."""

    def __init__(self, name: str, args: DashboardsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        for board in args.boards:
            k8s.core.v1.ConfigMap(
                self.named(board.uid),
                metadata=k8s.meta.v1.ObjectMetaArgs(
                    name=board.uid,
                    namespace=args.namespace,
                    labels=LABEL,
                ),
                data={f"{board.uid}.json": content(board)},
                opts=self.child(),
            )
        self.register_outputs({})
