"""Dashboards as data, and as the JSON that Grafana reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from monitoring.dashboards import grafana
from monitoring.dashboards.panels import COLUMNS, Bounds, Panel, Query, Section, Unit, Variable

__all__ = ["COLUMNS", "Bounds", "Dashboard", "Panel", "Query", "Section", "Unit", "Variable"]


@dataclass(frozen=True, kw_only=True)
class Dashboard:
    """A dashboard; Grafana shows it at `/d/<uid>`. `hours` is the stretch that it shows at first."""

    uid: str
    title: str
    description: str
    sections: Sequence[Section]
    variables: Sequence[Variable] = ()
    hours: int = 6

    def panels(self) -> Iterator[Panel]:
        """All panels in order."""
        return (panel for section in self.sections for panel in section.panels)

    def json(self) -> dict[str, Any]:
        """What Grafana reads. It can be looked at and not edited there: it is the program's."""
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.description,
            "tags": [grafana.TAG],
            "schemaVersion": grafana.SCHEMA_VERSION,
            "editable": False,
            "graphTooltip": 1,
            "timezone": "browser",
            "time": {"from": f"now-{self.hours}h", "to": "now"},
            "refresh": "1m",
            "links": [grafana.others()],
            "annotations": {"list": [grafana.alerts()]},
            "templating": {"list": [grafana.variable(each) for each in self.variables]},
            "panels": list(grafana.placed(self.sections)),
        }
