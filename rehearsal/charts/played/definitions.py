"""CustomResourceDefinitions of played charts: generated from Go types, the vendors' own, or with an open schema."""

import copy
import functools
from pathlib import Path
from typing import Any

import yaml

from rehearsal import toolchain
from rehearsal.charts import upstream
from rehearsal.charts.chart import ChartError, Object

# API groups, without what stands before their last parts, whose types the toolchain generates definitions from.
_GENERATED = {
    "kubeflow.org": "training-operator",
    "monitoring.coreos.com": "prometheus-operator",
    "volcano.sh": "volcano",
}


def whole(named: Object) -> Object:
    """The definition that a data file names by group, kind, scope and versions, with the best schema at hand.

    Raises ChartError if it cannot be generated.
    """
    found = _generated(named) or vendors(named) or _open(named)
    annotations = named["metadata"].get("annotations")
    return _annotated(found, annotations) if annotations else found


def has_schema(named: Object) -> bool:
    """Whether the schema of a definition can be had here, which may mean to generate it first."""
    return _set_of(named) is not None or vendors(named) is not None


def vendors(named: Object) -> Object | None:
    """The vendor's definition, if GPUCLUSTER_UPSTREAM has one with the same versions."""
    root = upstream.directory()
    return _read(root / "crds" / _file(named), named) if root else None


def _set_of(named: Object) -> str | None:
    group = str(named["spec"]["group"])
    return next((name for suffix, name in _GENERATED.items() if f".{group}".endswith(f".{suffix}")), None)


def _generated(named: Object) -> Object | None:
    name = _set_of(named)
    try:
        paths = toolchain.crds(name, report=lambda _: None) if name else []
    except toolchain.BuildError as error:
        raise ChartError("chart", f"the definitions of {name} cannot be generated: {error}") from None
    path = next((path for path in paths if path.name == _file(named)), None)
    return _read(path, named) if path else None


def _file(named: Object) -> str:
    return f"{named['spec']['group']}_{named['spec']['names']['plural']}.yaml"


def _read(path: Path, named: Object) -> Object | None:
    if not path.is_file():
        return None
    found = _parsed(path, path.stat().st_mtime_ns)
    return copy.deepcopy(found) if _versions(named) <= _versions(found) else None


@functools.cache
def _parsed(path: Path, _changed_ns: int) -> Object:
    """A definition's file. Charts are rendered several times, and the files are long."""
    found: Object = yaml.load(path.read_text(), yaml.CSafeLoader)
    return found


def _versions(definition: Object) -> set[str]:
    return {each["name"] for each in definition["spec"]["versions"]}


def _annotated(definition: Object, annotations: dict[str, Any]) -> Object:
    meta = definition["metadata"]
    return {**definition, "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), **annotations}}}


def _open(named: Object) -> Object:
    """One that takes any content: it only makes the kind known."""
    spec = named["spec"]
    names = {**spec["names"], "singular": spec["names"]["kind"].lower(), "listKind": f"{spec['names']['kind']}List"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {
            **version,
            "served": True,
            "storage": version == spec["versions"][0],
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        for version in spec["versions"]
    ]
    return {**named, "spec": {**spec, "names": names, "versions": versions}}
