"""Vendors' CRDs and chart values from the directory GPUCLUSTER_UPSTREAM, where there is one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from rehearsal import places

CHECKOUT = Path(__file__).resolve().parents[3]
# (group, plural, kind, namespaced, versions)
Resource = tuple[str, str, str, bool, tuple[str, ...]]


def directory() -> Path | None:
    """The vendors' files; None if there are none on this machine."""
    named = os.environ.get("GPUCLUSTER_UPSTREAM")
    found = Path(named) if named else CHECKOUT.parent / "shared" / "upstream"
    return found if found.is_dir() else None


def crds(resources: Iterable[Resource]) -> list[Path]:
    """One CRD file per resource: the vendor's, or one with an open schema that only makes the kind known."""
    return [_vendors(resource) or _open(resource) for resource in resources]


def missing_crds(resources: Iterable[Resource]) -> list[str]:
    """Kinds whose schema is not at hand."""
    return [resource[2] for resource in resources if _vendors(resource) is None]


def _vendors(resource: Resource) -> Path | None:
    root = directory()
    path = root / "crds" / f"{resource[0]}_{resource[1]}.yaml" if root else None
    return path if path is not None and path.is_file() else None


def _open(resource: Resource) -> Path:
    group, plural, kind, namespaced, versions = resource
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[0],
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
                for version in versions
            ],
        },
    }
    path = places.cache() / "crds" / "open" / f"{group}_{plural}.yaml"
    text = yaml.safe_dump(definition)
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path


def unknown_values(chart: str, version: str, values: Mapping[str, Any]) -> list[str]:
    """Values whose names the chart's own values.yaml does not have."""
    path = _values_file(chart, version)
    if path is None:
        return []
    text = path.read_text()
    optional = set(re.findall(r"^\s*#\s*([A-Za-z][\w-]*):", text, flags=re.MULTILINE))
    found = _unknown(yaml.safe_load(text) or {}, values, optional, "")
    return [f"chart {chart} {version} has no value {name}: see its values.yaml" for name in found]


def values_unchecked(chart: str, version: str) -> list[str]:
    """Why the values' names are not checked, or only against another version's."""
    path = _values_file(chart, version)
    if path is None:
        return [f"{chart} {version}: values check off (no values.yaml in GPUCLUSTER_UPSTREAM)"]
    there = _version_of(path.parent)
    if there and there.lstrip("v") != version.lstrip("v") and not there.endswith("-devel"):
        return [f"{chart} {version}: values are compared with those of version {there}"]
    return []


def _values_file(chart: str, version: str) -> Path | None:
    root = directory()
    if root is None:
        return None
    names = (f"{chart}-{version.lstrip('v')}", chart)
    return next((path for name in names if (path := root / "charts" / name / "values.yaml").is_file()), None)


def _version_of(chart: Path) -> str:
    path = chart / "Chart.yaml"
    return str((yaml.safe_load(path.read_text()) or {}).get("version") or "") if path.is_file() else ""


def _unknown(known: Mapping[str, Any], given: Mapping[str, Any], optional: set[str], path: str) -> Iterator[str]:
    """An empty map, a list or nothing in values.yaml takes anything; a commented-out key is known by its name."""
    for key, value in given.items():
        where = f"{path}.{key}" if path else key
        if key not in known:
            if key not in optional:
                yield where
        elif isinstance(value, Mapping) and isinstance(known[key], Mapping) and known[key]:
            yield from _unknown(known[key], value, optional, where)
