"""Played charts: their data equals what the real chart renders, and they say what is not known of them."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from rehearsal import toolchain
from rehearsal.charts import played, upstream
from rehearsal.charts.chart import ChartError, Object
from rehearsal.charts.played import files, generate
from rehearsal.charts.played.chart import INSTALL_ORDER, PlayedChart
from rehearsal.charts.played.switches import Rules
from rehearsal.tests.charts import facts
from rehearsal.tests.charts.facts import find, order

VENDORS = upstream.directory()
with_inventories = pytest.mark.skipif(VENDORS is None, reason="no GPUCLUSTER_UPSTREAM: comparison with inventories off")


def entries_of(inventory: str) -> list[Mapping[str, Any]]:
    assert VENDORS is not None
    found: list[Mapping[str, Any]] = json.loads((VENDORS / "rendered" / f"{inventory}.json").read_text())["objects"]
    return found


def assert_equal(chart: PlayedChart, entries: list[Mapping[str, Any]]) -> None:
    told, made = facts.told(entries), facts.made([*chart.crds(), *chart.render(order())])
    assert list(made) == list(told)
    for identity, expected in told.items():
        assert {key: made[identity][key] for key in expected} == expected, identity


# -- the data and the real chart


@with_inventories
@pytest.mark.parametrize("name", files.names())
def test_committed_data_is_what_the_inventory_gives(name: str) -> None:
    assert VENDORS is not None
    committed = files.path(name).read_text()
    assert generate.text(generate.data(VENDORS, json.loads(committed)["inventory"])) == committed


@with_inventories
@pytest.mark.parametrize("name", files.names())
def test_with_default_values_the_chart_renders_what_the_real_one_does(name: str) -> None:
    chart = find(name)
    assert_equal(chart, entries_of(files.load(name)["inventory"]))


@with_inventories
@pytest.mark.parametrize("name", ["cert-manager", "kube-prometheus-stack", "kubeflow-trainer"])
def test_a_further_chart_is_a_generated_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "DIRECTORY", tmp_path)
    assert played.find(name, "1") is None
    assert generate.main([name]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.json"]
    first = files.path(name).read_bytes()
    assert generate.main([]) == 0
    assert files.path(name).read_bytes() == first
    assert_equal(find(name), entries_of(name))
    assert generate.main(["no-such-chart"]) == 1
    assert "no-such-chart.json does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("name", files.names())
def test_every_object_is_one_that_kubernetes_takes(name: str) -> None:
    served = frozenset({"apiregistration.k8s.io/v1"})
    for each in find(name).render(replace(order("r", "there"), api_versions=served)):
        # Custom resources have no schema there, and definitions are the vendors' or checked elsewhere.
        group = each["apiVersion"].rpartition("/")[0]
        own = each["kind"] == "ClusterPolicy" or group in ("monitoring.coreos.com", "nfd.k8s-sigs.io", "csi.ceph.io")
        if not own and each["kind"] != "CustomResourceDefinition":
            kubernetes_validate.validate(each, "1.36", strict=True)


def test_data_holds_facts_in_one_line_per_object() -> None:
    for name in files.names():
        data, lines = files.load(name), files.path(name).read_text().splitlines()
        for each in [*data["crds"], *data["objects"]]:
            assert json.dumps(each, sort_keys=True) in [line.rstrip(",") for line in lines]
        assert not [line for line in lines if "description" in line]


# -- order, hooks, definitions


@pytest.mark.parametrize("name", files.names())
def test_objects_come_as_helm_installs_them_and_hooks_last(name: str) -> None:
    made = find(name).render(order())
    hooks = ["helm.sh/hook" in each["metadata"].get("annotations", {}) for each in made]
    assert hooks == sorted(hooks)
    places = [INSTALL_ORDER.index(each["kind"]) for each in made if each["kind"] in INSTALL_ORDER and not _hook(each)]
    assert places == sorted(places)


def _hook(obj: Object) -> bool:
    return "helm.sh/hook" in obj["metadata"].get("annotations", {})


def test_an_object_that_a_value_adds_stands_where_its_kind_does() -> None:
    values = {"migManager": {"config": {"create": True, "name": "cuts", "data": {"config.yaml": "version: v1"}}}}
    kinds = [each["kind"] for each in find("gpu-operator").render(order(values=values)) if not _hook(each)]
    assert kinds.count("ConfigMap") == 3
    assert kinds[kinds.index("ConfigMap") : kinds.index("ConfigMap") + 3] == ["ConfigMap"] * 3


def test_definitions_are_in_crds_or_templates_as_in_the_chart() -> None:
    kinds = {name: {each["kind"] for each in find(name).render(order())} for name in files.names()}
    assert find("gpu-operator").crds()[0]["metadata"]["name"] == "clusterpolicies.nvidia.com"
    assert "CustomResourceDefinition" not in kinds["gpu-operator"]
    assert find("volcano").crds() == []
    assert "CustomResourceDefinition" in kinds["volcano"]
    assert kinds["prometheus-operator-crds"] == {"CustomResourceDefinition"}


def test_without_a_schema_a_definition_takes_anything_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPUCLUSTER_UPSTREAM", str(tmp_path))
    chart = find("gpu-operator")
    definition = next(each for each in chart.crds() if each["metadata"]["name"] == "nodefeatures.nfd.k8s-sigs.io")
    assert definition["spec"]["names"]["kind"] == "NodeFeature"
    assert definition["spec"]["scope"] == "Namespaced"
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["x-kubernetes-preserve-unknown-fields"] is True
    assert any("schema check off for NodeFeature" in each for each in chart.unchecked())


def test_a_definition_of_another_version_is_not_taken_for_the_charts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPUCLUSTER_UPSTREAM", str(tmp_path))
    (tmp_path / "crds").mkdir()
    later = {"kind": "CustomResourceDefinition", "spec": {"versions": [{"name": "v2"}]}}
    (tmp_path / "crds" / "nvidia.com_clusterpolicies.yaml").write_text(json.dumps(later))
    assert [each["name"] for each in find("gpu-operator").crds()[0]["spec"]["versions"]] == ["v1"]
    assert any("schema check off for ClusterPolicy" in each for each in find("gpu-operator").unchecked())


def test_definitions_that_cannot_be_generated_are_the_charts_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> list[Path]:
        raise toolchain.BuildError("no Go here")

    monkeypatch.setattr(toolchain, "crds", fail)
    with pytest.raises(ChartError, match="prometheus-operator cannot be generated: no Go here") as refused:
        find("prometheus-operator-crds").render(order())
    assert refused.value.where == "chart"


# -- what is said


def test_another_version_than_the_inventorys_is_said() -> None:
    chart = played.find("volcano", "1.14.1")
    assert chart is not None
    assert (chart.version, chart.app_version, chart.source) == ("1.14.1", "1.14.4", "the inventory of volcano 1.14.4")
    assert "volcano 1.14.1: played from the inventory of 1.14.4" in chart.unchecked()
    prefixed = played.find("volcano", "v1.14.4")
    assert prefixed is not None
    assert not [each for each in prefixed.unchecked() if "played from" in each]


def test_values_without_a_switch_are_named_and_change_nothing() -> None:
    chart = find("metrics-server")
    before = chart.render(order())
    values = {"service": {"port": 8443, "labels": {"a": "b"}}, "replicas": 1, "podLabels": {}}
    assert chart.render(order(values=values)) == before
    said = [each for each in chart.unchecked() if "has no effect" in each]
    assert said == [
        f"metrics-server 3.13.1: the value {path} has no effect in the played chart"
        for path in ("service.port", "service.labels.a", "podLabels")
    ]


def test_an_object_of_which_only_the_name_is_known_is_left_out_and_named() -> None:
    data = {**files.load("metrics-server"), "leftOut": ["PersistentVolumeClaim x-data"]}
    said = PlayedChart("metrics-server", "3.13.1", data, Rules()).unchecked()
    assert "metrics-server 3.13.1: PersistentVolumeClaim x-data is not made (its inventory holds the name only)" in said


@with_inventories
def test_values_of_sub_charts_are_known_by_their_own_files() -> None:
    chart = find("gpu-operator")
    known = {"worker": {"nodeSelector": {"a": "b"}, "tolerations": [], "config": {"core": {}}}}
    assert chart.unknown_values({"node-feature-discovery": known}) == []
    assert chart.unknown_values({"node-feature-discovery": {"wroker": {}}}) == [
        "chart gpu-operator v26.3.3 has no value node-feature-discovery.wroker: see its values.yaml"
    ]


def test_no_chart_is_made_up() -> None:
    assert played.find("kueue", "0.19.2") is None
