"""The values we give to charts are keys that the charts have (these charts have no schema of their own)."""

from typing import Any

import pytest
import yaml

from catalogue.versions import CHARTS
from policy.graph import Resource
from rehearsal.charts.played.values import laid
from rehearsal.charts.values import COMMENTED, not_in
from tests.graph.schema_kubernetes import upstream
from tests.graph.stackfiles import graph_of
from tests.stacks.test_gateway import graph as with_gateway
from tests.stacks.test_outside import dev as with_secrets_outside
from tests.stacks.test_scale_to_zero import graph as with_a_service_at_zero
from tests.stacks.test_scaled import deployed as with_karpenter
from tests.stacks.test_signatures import deployed as with_signatures

SUB_CHARTS = {"kube-prometheus-stack": ("kube-state-metrics", "prometheus-node-exporter")}
"""Charts with values of their own below their names, where ours give them any."""


def vendor_values(chart: str) -> tuple[dict[str, Any], set[str]]:
    """The chart's own values.yaml, and the keys in its comments. Skips, by name, where it is not at hand."""
    place, version = upstream(), CHARTS[chart].version if chart in CHARTS else ""
    for directory in (f"{chart}-{version.removeprefix('v')}", chart):
        file = place / "charts" / directory / "values.yaml" if place else None
        if file and file.is_file():
            values: dict[str, Any] = yaml.safe_load(file.read_text()) or {}
            return values, set(COMMENTED.findall(file.read_text()))
    pytest.skip(f"off: no values.yaml of {chart}; make upstream fetches it, GPUCLUSTER_UPSTREAM may hold it")


def all_values(chart: str) -> tuple[dict[str, Any], set[str]]:
    """The same with what sub-charts have below their names; the chart's own values for them lie over theirs."""
    values, commented = vendor_values(chart)
    for name in SUB_CHARTS.get(chart, ()):
        theirs, more = vendor_values(name)
        values[name] = laid(theirs, values.get(name) or {})
        commented |= more
    return values, commented


def released() -> dict[str, list[Resource]]:
    """Releases by chart: those of prod, of dev what prod has no use for, such as what only autoscalers need, a
    gateway's, what brings secrets from outside, what makes nodes, what asks for signatures, and what goes to zero.
    """
    found: dict[str, list[Resource]] = {}
    for stack in ("dev", "prod"):
        here = graph_of(stack).of_type("Release")
        found |= {_chart(each): [one for one in here if _chart(one) == _chart(each)] for each in here}
    asked = [
        each
        for graph in (
            with_gateway(),
            with_secrets_outside(),
            with_karpenter(),
            with_signatures(),
            with_a_service_at_zero(),
        )
        for each in graph.of_type("Release")
    ]
    return {**{_chart(each): [each] for each in asked}, **found}


def _chart(release: Resource) -> str:
    """Its name; one in a registry is asked for by its whole address."""
    return str(release.inputs["chart"]).rpartition("/")[2]


@pytest.mark.parametrize("chart", CHARTS)
def test_the_chart_has_every_key_we_set(chart: str) -> None:
    theirs, commented = all_values(chart)
    releases = released().get(chart, [])
    assert len(releases) == 1
    assert list(not_in(theirs, releases[0].inputs.get("values") or {}, commented, "")) == []


def test_every_release_is_looked_at() -> None:
    assert set(released()) == set(CHARTS)


def test_a_wrong_key_would_be_found() -> None:
    assert list(not_in({"driver": {"enabled": True}}, {"driver": {"enable": False}}, set(), "")) == ["driver.enable"]
