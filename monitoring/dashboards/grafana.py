"""The parts of a dashboard as the JSON that Grafana reads: no more of it than these dashboards use.

Panels flow from left to right over Grafana's 24 columns, so that none lies on another. The words of the JSON are those
of Grafana's schema (grafana/grafana, kinds/dashboard and public/app/plugins/panel), version 42, the newest that Grafana
13 knows (apps/dashboard/pkg/migration/schemaversion/migrations.go).
"""

from collections.abc import Iterator, Sequence
from string import ascii_uppercase
from typing import Any

from monitoring.dashboards.panels import BAD, COLUMNS, Panel, Section, Variable

SCHEMA_VERSION = 42
TAG = "gpucluster"
EVERYTHING = ".+"
"""What a variable at All matches: every value, and nothing that lacks the label, as `.*` would."""

DATASOURCE = {"type": "prometheus", "uid": "prometheus"}
"""The uid that kube-prometheus-stack gives its Prometheus (values: grafana.sidecar.datasources.uid)."""

_HEADING = 1
"""Rows of the grid that a section's heading takes."""

_PLAIN = "text"


def others() -> dict[str, Any]:
    """A menu of the other dashboards, which keeps time and choices."""
    return {
        "type": "dashboards",
        "title": "gpucluster",
        "tags": [TAG],
        "asDropdown": True,
        "keepTime": True,
        "includeVars": True,
        "targetBlank": False,
        "icon": "external link",
        "tooltip": "",
        "url": "",
    }


def alerts() -> dict[str, Any]:
    """Marks where an alert began to fire."""
    return {
        "name": "Alerts",
        "datasource": DATASOURCE,
        "enable": True,
        "iconColor": BAD,
        "expr": 'ALERTS{alertstate="firing", severity=~"warning|critical"}',
        # The next are the data source's own words (grafana/grafana, packages/grafana-prometheus, annotations.tsx).
        "step": "60s",
        "titleFormat": "{{alertname}}",
        "tagKeys": "severity,node",
    }


def variable(variable: Variable) -> dict[str, Any]:
    return {
        "type": "query",
        "name": variable.name,
        "label": variable.name,
        "datasource": DATASOURCE,
        "query": {"query": variable.query, "refId": variable.name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": EVERYTHING,
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def placed(sections: Sequence[Section]) -> Iterator[dict[str, Any]]:
    """Headings and panels with their places."""
    top = id_ = 0
    for section in sections:
        id_ += 1
        yield {
            "type": "row",
            "id": id_,
            "title": section.title,
            "collapsed": False,
            "panels": [],
            "gridPos": {"x": 0, "y": top, "w": COLUMNS, "h": _HEADING},
        }
        top += _HEADING
        for row in _rows(section.panels):
            left = 0
            for panel in row:
                id_ += 1
                width = COLUMNS - left if panel is row[-1] else panel.width
                yield _panel(panel, id_, {"x": left, "y": top, "w": width, "h": panel.height})
                left += width
            top += max(panel.height for panel in row)


def _rows(panels: Sequence[Panel]) -> Iterator[list[Panel]]:
    """A panel that does not fit in what is left of a row begins the next; the last of a row takes what is left."""
    row: list[Panel] = []
    for panel in panels:
        if row and sum(each.width for each in row) + panel.width > COLUMNS:
            yield row
            row = []
        row.append(panel)
    if row:
        yield row


def _panel(panel: Panel, id_: int, place: dict[str, int]) -> dict[str, Any]:
    defaults: dict[str, Any] = {
        "unit": str(panel.unit),
        "thresholds": {"mode": "absolute", "steps": panel.bounds.steps()},
        "color": {"mode": "palette-classic" if panel.kind == "timeseries" else "thresholds"},
    }
    known = {"min": panel.least, "max": panel.most, "decimals": panel.decimals, "noValue": panel.nothing}
    defaults |= {key: value for key, value in known.items() if value is not None}
    if panel.kind == "timeseries":
        defaults["custom"] = _curves(panel)
        defaults.pop("max", None)
    return {
        "type": panel.kind,
        "id": id_,
        "title": panel.title,
        "description": panel.description,
        "datasource": DATASOURCE,
        "gridPos": place,
        "targets": list(_targets(panel)),
        "fieldConfig": {"defaults": defaults, "overrides": list(_overrides(panel))},
        "options": _OPTIONS[panel.kind],
    }


def _targets(panel: Panel) -> Iterator[dict[str, Any]]:
    latest = panel.kind != "timeseries"
    for letter, query in zip(ascii_uppercase, panel.queries, strict=False):
        yield {
            "refId": letter,
            "datasource": DATASOURCE,
            "expr": query.expr,
            "legendFormat": query.legend,
            "instant": latest,
            "range": not latest,
        }


def _curves(panel: Panel) -> dict[str, Any]:
    bounded = panel.bounds.warn is not None or panel.bounds.bad is not None
    return {
        "lineWidth": 1,
        "fillOpacity": 30 if panel.stacked else 0,
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
        "thresholdsStyle": {"mode": "line" if bounded else "off"},
        **({"axisSoftMax": panel.most} if panel.most is not None else {}),
    }


def _overrides(panel: Panel) -> Iterator[dict[str, Any]]:
    """References are dashed, in the colour of text."""
    for letter, query in zip(ascii_uppercase, panel.queries, strict=False):
        if query.reference:
            yield {
                "matcher": {"id": "byFrameRefID", "options": letter},
                "properties": [
                    {"id": "color", "value": {"mode": "fixed", "fixedColor": _PLAIN}},
                    {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 6]}},
                    {"id": "custom.fillOpacity", "value": 0},
                    {"id": "custom.stacking", "value": {"mode": "none", "group": "reference"}},
                ],
            }


_LATEST = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_OPTIONS: dict[str, dict[str, Any]] = {
    "timeseries": {
        "legend": {"showLegend": True, "displayMode": "list", "placement": "bottom", "calcs": []},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {
        "reduceOptions": _LATEST,
        "orientation": "auto",
        "textMode": "auto",
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
    },
    "bargauge": {
        "reduceOptions": _LATEST,
        "orientation": "horizontal",
        "displayMode": "basic",
        "valueMode": "color",
        "showUnfilled": True,
        "minVizWidth": 8,
        "minVizHeight": 16,
    },
}
"""Options of each kind of panel, as Grafana's plugins of these names have them (panelcfg.cue)."""
