"""The values we give to charts are keys that the charts have (these charts have no schema of their own)."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tests.graph.schema_kubernetes import upstream
from tests.graph.stackfiles import graph_of

DIRECTORIES = {
    "gpu-operator": ("gpu-operator-26.3.3", "gpu-operator"),
    "aws-efa-k8s-device-plugin": ("aws-efa-k8s-device-plugin",),
    "volcano": ("volcano",),
    "prometheus-operator-crds": ("prometheus-operator-crds",),
}


def vendor_values(chart: str) -> dict[str, Any]:
    """The chart's own values.yaml. Skips, by name, where it is not at hand."""
    place = upstream()
    for directory in DIRECTORIES[chart]:
        file = place / "charts" / directory / "values.yaml" if place else None
        if file and file.is_file():
            values: dict[str, Any] = yaml.safe_load(file.read_text()) or {}
            return values
    pytest.skip(f"off: no values.yaml of {chart}; make upstream fetches it, GPUCLUSTER_UPSTREAM may hold it")


def unknown(ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Keys of ours that the chart does not have. Below an empty map or a null the chart takes anything."""
    for key, value in ours.items():
        if key not in theirs:
            yield f"{path}{key}"
        elif isinstance(value, Mapping) and isinstance(theirs[key], Mapping) and theirs[key]:
            yield from unknown(value, theirs[key], f"{path}{key}.")


@pytest.mark.parametrize("chart", DIRECTORIES)
def test_the_chart_has_every_key_we_set(chart: str) -> None:
    theirs = vendor_values(chart)
    releases = [each for each in graph_of("prod").of_type("Release") if each.inputs["chart"] == chart]
    assert len(releases) == 1
    assert list(unknown(releases[0].inputs.get("values") or {}, theirs)) == []


def test_every_release_is_looked_at() -> None:
    assert {each.inputs["chart"] for each in graph_of("prod").of_type("Release")} == set(DIRECTORIES)


def test_a_wrong_key_would_be_found() -> None:
    assert list(unknown({"driver": {"enable": False}}, {"driver": {"enabled": True}})) == ["driver.enable"]
