"""Values of played charts: laid over defaults as helm does, and compared with the charts' own."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from rehearsal.charts import upstream
from rehearsal.charts.values import COMMENTED, not_in


def laid(default: Any, value: Any) -> Any:
    """A value over a default: a map over a map, key by key, where null takes a key away; else the value."""
    if not isinstance(value, Mapping):
        return value
    over = dict(default) if isinstance(default, Mapping) else {}
    for key, each in value.items():
        if each is None:
            over.pop(key, None)
        else:
            over[key] = laid(over.get(key), each)
    return over


def unknown(
    folder: str, chart: str, version: str, values: Mapping[str, Any], sub_charts: Iterable[str] = ()
) -> list[str]:
    """Sentences about values whose names neither the chart's own values.yaml nor those of its sub-charts have.

    The chart's files are in `folder`, or else in the one that has its name, below `charts`.
    """
    path = _values_file(folder, chart)
    if path is None:
        return []
    known, optional = _known(path)
    for name in sub_charts:
        if other := _values_file(name, name):
            more, also_optional = _known(other)
            known[name] = laid(more, known.get(name) or {})
            optional |= also_optional
    return [
        f"chart {chart} {version} has no value {name}: see its values.yaml"
        for name in not_in(known, values, optional, "")
    ]


def unchecked(folder: str, chart: str, version: str) -> list[str]:
    """Why the values' names are not checked, or only against another version's."""
    path = _values_file(folder, chart)
    if path is None:
        return [f"{chart} {version}: values check off (no values.yaml in GPUCLUSTER_UPSTREAM)"]
    there = _version_of(path.parent)
    if there and there.lstrip("v") != version.lstrip("v") and not there.endswith("-devel"):
        return [
            f"{chart} {version}: values are compared with those of version {there}; "
            "a key that only one of them has is not reported"
        ]
    return []


def _values_file(folder: str, chart: str) -> Path | None:
    root = upstream.directory()
    if root is None:
        return None
    return next((path for name in (folder, chart) if (path := root / "charts" / name / "values.yaml").is_file()), None)


def _known(path: Path) -> tuple[dict[str, Any], set[str]]:
    """The values of a file, and the names of those that it has as comments only."""
    text = path.read_text()
    return yaml.safe_load(text) or {}, set(COMMENTED.findall(text))


def _version_of(chart: Path) -> str:
    path = chart / "Chart.yaml"
    return str((yaml.safe_load(path.read_text()) or {}).get("version") or "") if path.is_file() else ""
