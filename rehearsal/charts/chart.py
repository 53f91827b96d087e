"""What a chart is to a rehearsal: something that renders objects from values and from what Helm knows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Object = dict[str, Any]


class ChartError(Exception):
    """The chart cannot be had or does not render; `where` is the Release input at fault: "chart" or "values"."""

    def __init__(self, where: str, text: str) -> None:
        super().__init__(text)
        self.where = where


@dataclass(frozen=True)
class Order:
    """What Helm knows when it renders.

    `kube_version` is the API server's ("1.36.3"); `api_versions` holds `group/version` and `group/version/Kind`.
    """

    release: str
    namespace: str
    values: Mapping[str, Any]
    kube_version: str
    api_versions: frozenset[str]
    revision: int = 1
    upgrade: bool = False


class Chart(Protocol):
    """A chart at one version. `source` tells people where it comes from."""

    name: str
    version: str
    app_version: str
    source: str

    def render(self, order: Order) -> list[Object]:
        """Everything but `crds/`; hooks carry their `helm.sh/hook` annotations. Raises ChartError."""

    def crds(self, values: Mapping[str, Any] | None = None) -> list[Object]:
        """The definitions in `crds/` of the chart and of the sub-charts that these values leave on; all without any."""

    def unknown_values(self, values: Mapping[str, Any]) -> list[str]:
        """One sentence per value that the chart does not know."""

    def unchecked(self) -> list[str]:
        """One sentence per check that is off here: to be reported as off, never as passed."""
