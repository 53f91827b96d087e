"""Charts that lie beside the program are compared with those on record before anything is registered (I03, P20)."""

import hashlib
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from catalogue import chart_digests
from catalogue.chart_digests import ALL_CHARTS, CHART_DIGESTS, ChartDigest, digest_of, key, package_name
from catalogue.versions import VOLCANO, Chart
from components.platform.charts import laid
from planner.plan import plan as plan_of
from policy import RULES
from policy.rule import violations
from settings.load import from_file
from tests.graph.stackfiles import ROOT, every_shipped, graph_of, refusal, run_program, stack_config
from tests.planner.stacks import planned, rules


@every_shipped
def test_the_plan_names_the_charts_that_are_installed(stack: str) -> None:
    installed = sorted({each.inputs["chart"] for each in graph_of(stack).of_type("Release")})
    assert sorted(plan_of(from_file(ROOT / f"Pulumi.{stack}.yaml")).charts) == installed


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory below the working one with a package for each chart of dev, and those on record."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "build" / "charts"
    place.mkdir(parents=True)
    known = {}
    for name in planned().charts:
        chart = ALL_CHARTS[name]
        content = f"the package of {name}".encode()
        (place / package_name(chart)).write_bytes(content)
        known[key(chart)] = ChartDigest(sha256=hashlib.sha256(content).hexdigest(), source="this test")
    monkeypatch.setattr(chart_digests, "CHART_DIGESTS", known)
    monkeypatch.setattr(chart_digests.wrong, "__defaults__", (known,))
    return place


def config(**supply: Any) -> dict[str, Any]:
    return {**deepcopy(stack_config("dev")), "gpucluster:supply": supply}


def test_packages_on_record_are_installed_from_the_disk(packages: Path) -> None:
    graph = run_program(config(charts="build/charts"), stack="dev")
    for release in graph.of_type("Release"):
        assert (packages.parents[1] / release.inputs["chart"]).is_file()
        assert release.inputs.get("repositoryOpts") is None
        assert release.inputs["version"]
    assert violations(graph, RULES) == []


def test_a_package_that_is_not_the_one_on_record_stops_the_program(packages: Path) -> None:
    (packages / package_name(VOLCANO)).write_bytes(b"of somebody else")
    said = refusal(config(charts="build/charts"), stack="dev")
    assert said.startswith("gpucluster:supply.charts: build/charts/volcano-1.14.1.tgz is not the package on record")
    assert "make charts" in said


def test_a_package_that_is_not_there_stops_the_program(packages: Path) -> None:
    for each in packages.iterdir():
        each.unlink()
    said = refusal(config(charts="build/charts"), stack="dev").splitlines()
    assert len(said) == len(planned().charts)
    assert all("cannot be read" in each and "make charts" in each for each in said)


def test_a_package_that_nobody_recorded_is_taken_and_a_finding_where_the_stack_is_protected(packages: Path) -> None:
    unknown = ChartDigest(sha256="0", source="")
    assert digest_of(Chart(name="volcano", version="9.9.9", repository=""), {key(VOLCANO): unknown}) is None
    production = planned("prod", {"waivers": []})
    names = [each.subject for each in production.errors if each.rule == "chart-not-pinned"]
    assert names == [name for name in production.charts if digest_of(ALL_CHARTS[name]) is None]
    assert "charts-not-checked" in rules(production)
    assert not {"chart-not-pinned", "charts-not-checked"} & set(rules(planned("dev")))


def test_digests_are_of_versions_that_are_installed_and_say_their_source() -> None:
    """A version that moved has none until somebody records it."""
    assert set(CHART_DIGESTS) <= {key(chart) for chart in ALL_CHARTS.values()}
    for row in CHART_DIGESTS.values():
        assert len(bytes.fromhex(row.sha256)) == 32
        assert row.source


@pytest.mark.parametrize("directory", ["/etc", "../charts", "charts/", ".hidden", "a/../b", "~/charts", ""])
def test_a_directory_elsewhere_is_refused(directory: str) -> None:
    assert "gpucluster:supply.charts" in refusal(config(charts=directory), stack="dev")


def test_values_lie_over_values_as_helm_lays_files() -> None:
    below = {"a": {"b": 1, "c": [1]}, "d": 1}
    assert laid(below, {"a": {"c": [2], "e": {"f": 1}}, "g": 0}) == {
        "a": {"b": 1, "c": [2], "e": {"f": 1}},
        "d": 1,
        "g": 0,
    }
    assert below == {"a": {"b": 1, "c": [1]}, "d": 1}
