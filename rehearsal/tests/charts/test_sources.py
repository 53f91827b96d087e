"""Where a chart comes from, in which order, and what is said if it comes from nowhere."""

import hashlib
import tarfile
from pathlib import Path

import pytest
import yaml

from rehearsal.charts import sources
from rehearsal.charts.chart import ChartError
from rehearsal.charts.rendered import HelmChart, _at_revision, documents
from rehearsal.tests.plugins.charts import written
from rehearsal.toolchain import go, versions

CHART = {
    "Chart.yaml": "name: thing\nversion: 1.2.0\nappVersion: '7'\ndependencies:\n- {name: part}\n",
    "values.yaml": "a: {b: 1}\n# c: 2\nfree: {}\n",
    "templates/x.yaml": '{{ .Values.used }} {{ lookup "v1" "Secret" "" "" }}\n',
}


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GPUCLUSTER_UPSTREAM", str(tmp_path / "upstream"))


@pytest.fixture
def vendors(tmp_path: Path) -> Path:
    """A whole chart as `make upstream` leaves it."""
    place = written(tmp_path / "upstream/charts/thing-1.2.0", CHART)
    sums = [f"{hashlib.sha256(text.encode()).hexdigest()}  {name}" for name, text in CHART.items()]
    (place / sources.SUMS).write_text("\n".join(sums) + "\n")
    return place


def test_a_package_is_the_chart_in_it(tmp_path: Path) -> None:
    """The name of the file says nothing; another content is another chart."""
    package = tmp_path / "any.tgz"
    for version in ("1.2.0", "1.3.0"):
        files = {**CHART, "Chart.yaml": f"name: thing\nversion: {version}\n"}
        with tarfile.open(package, "w:gz") as archive:
            archive.add(written(tmp_path / version / "thing", files), "thing")
        found = sources.find(str(package), "")
        assert (found.name, found.version, found.source) == ("thing", version, f"the package {package}")


@pytest.mark.parametrize(
    ("content", "said"), [(b"nothing", "is no chart's package"), (None, r"cannot be read \(No such file")]
)
def test_what_is_no_package_is_said(tmp_path: Path, content: bytes | None, said: str) -> None:
    package = tmp_path / "any.tgz"
    if content is not None:
        package.write_bytes(content)
    with pytest.raises(ChartError, match=said):
        sources.find(str(package), "")


def test_a_directory_comes_first_and_its_values_are_not_checked(tmp_path: Path) -> None:
    chart = sources.find(str(written(tmp_path / "own", CHART)), "")
    assert (chart.name, chart.version, chart.app_version) == ("thing", "1.2.0", "7")
    assert chart.unknown_values({"x": 1}) == []
    assert "not checked" in chart.unchecked()[0]


def test_a_directory_without_a_chart_is_no_chart(tmp_path: Path) -> None:
    with pytest.raises(ChartError, match="is no chart"):
        sources.find(str(tmp_path), "")


@pytest.mark.parametrize("name", ["thing", "vendor/thing", "oci://registry.example.com/charts/thing"])
def test_a_whole_chart_of_the_vendors_is_taken_by_its_last_name(vendors: Path, name: str) -> None:
    chart = sources.find(name, "v1.2.0")
    assert chart.source == "the chart in GPUCLUSTER_UPSTREAM"
    assert chart.unknown_values(
        {"a": {"b": 2, "x": 1}, "c": 1, "free": {"y": 1}, "used": 1, "part": {}, "global": {}}
    ) == ["chart thing 1.2.0 has no value a.x: see its values.yaml"]
    assert "`lookup`" in chart.unchecked()[0]


@pytest.mark.parametrize("change", ["changed", "added", "missing"])
def test_a_chart_that_was_touched_is_refused(vendors: Path, change: str) -> None:
    template = vendors / "templates/x.yaml"
    if change == "missing":
        template.unlink()
    else:
        (template if change == "changed" else vendors / "templates/y.yaml").write_text("other")
    with pytest.raises(ChartError, match=r"templates/[xy]\.yaml is not what `make upstream` fetched"):
        sources.find("thing", "1.2.0")


@pytest.mark.parametrize("lost", [sources.SUMS, "templates/x.yaml"])
def test_values_alone_or_files_without_sums_are_no_whole_chart(vendors: Path, lost: str) -> None:
    (vendors / lost).unlink()
    if lost != sources.SUMS:
        (vendors / "templates").rmdir()
    with pytest.raises(ChartError, match=r"chart 'thing' 1\.2\.0 is not rehearsed.*make upstream"):
        sources.find("thing", "1.2.0")


def test_a_chart_in_a_module_is_released_as_its_vendor_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In Volcano's module the chart, its application and its images still carry an older version."""
    row = sources.IN_MODULES["volcano"]
    files = {
        "Chart.yaml": 'name: volcano\nversion: "1.0.0"\nappVersion: "1.0.0"\n',
        "values.yaml": 'basic:\n  image_tag_version: "v1.0.0"\n  image_registry: "docker.io"\n',
        "templates/x.yaml": "",
    }
    module = tmp_path / "module"
    place = written(module / row.path, files)
    for path in (place / "templates", place):
        path.chmod(0o500)  # as in Go's module cache
    monkeypatch.setattr(sources, "source", lambda *_: module)
    monkeypatch.setattr(go, "find", lambda *_: None)
    chart = sources.find("volcano", versions.VOLCANO)
    assert isinstance(chart, HelmChart)
    assert (chart.version, chart.app_version) == (versions.VOLCANO, versions.VOLCANO)
    (copy,) = (tmp_path / "cache/gpucluster/charts").glob("volcano-*")
    assert yaml.safe_load((copy / "values.yaml").read_text())["basic"] == {
        "image_tag_version": f"v{versions.VOLCANO}",
        "image_registry": "docker.io",
    }
    monkeypatch.setattr(sources, "source", None)
    assert sources.in_module("volcano", f"v{versions.VOLCANO}") is not None
    assert sources.in_module("volcano", "1.0.0") is None


def test_a_chart_of_another_module_is_as_it_was_released_without_what_helm_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Traefik's chart is not in the module of its program; below service.spec its values are handed on as they are."""
    about = {"Chart.yaml": "name: traefik\nversion: 41.6.0\nappVersion: v3.7.13\n"}
    files = {**about, "values.yaml": "service: {spec: {type: LoadBalancer}}\n", "crds/a.yaml": "kind: A\n"}
    ignored = {
        ".helmignore": "# plain\ntests/\ncrds/kustomization.yaml\n",
        "tests/x.yaml": "",
        "crds/kustomization.yaml": "kind: K\n",
    }
    written(tmp_path / "module/traefik", {**files, **ignored})
    asked: list[str | None] = []

    def source(_family: object, _go: object, module: str | None) -> Path:
        asked.append(module)
        return tmp_path / "module"

    monkeypatch.setattr(sources, "source", source)
    monkeypatch.setattr(go, "find", lambda _: None)
    chart = sources.in_module("traefik", versions.TRAEFIK_CHART)
    assert chart is not None
    assert asked == ["github.com/traefik/traefik-helm-chart"]
    assert (chart.version, chart.app_version) == ("41.6.0", "v3.7.13")
    assert [each["kind"] for each in chart.crds()] == ["A"]
    assert chart.unknown_values({"service": {"spec": {"loadBalancerClass": "x"}, "sped": 1}}) == [
        "chart traefik 41.6.0 has no value service.sped: see its values.yaml"
    ]
    assert sources.in_module("traefik", versions.TRAEFIK) is None


def test_definitions_are_those_of_the_chart_and_of_its_sub_charts_packed_or_not(tmp_path: Path) -> None:
    def files(*names: str) -> dict[str, str]:
        return {f"{name}.yaml": f"\napiVersion: v1\nkind: {name.rpartition('/')[2]}\n" for name in names}

    chart = written(tmp_path / "c", {**CHART, **files("crds/A", "crds/more/B", "charts/p/crds/C", "templates/X")})
    written(chart, {"crds/README.md": "no: definition"})
    packed = written(tmp_path / "q", files("crds/D", "templates/Y"))
    with tarfile.open(chart / "charts/q-1.0.0.tgz", "w:gz") as archive:
        archive.add(packed, "q")
    assert [each["kind"] for each in HelmChart(chart, "the test").crds()] == ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        (None, ["A", "B", "C"]),
        ({}, ["A", "C"]),
        ({"b": {"enabled": True}}, ["A", "B", "C"]),
        ({"b": {"enabled": True}, "c": {"on": False}}, ["A", "B"]),
    ],
)
def test_definitions_of_a_sub_chart_that_is_off_are_left_out(
    tmp_path: Path, values: dict[str, object] | None, kinds: list[str]
) -> None:
    about = (
        "name: x\nversion: 1.0.0\ndependencies:\n"
        "- {name: b, condition: b.enabled}\n- {name: d, alias: c, condition: 'other.on,c.on'}\n"
    )
    files = {"Chart.yaml": about, "values.yaml": "b: {enabled: false}\nc: {}\n"}
    files |= {f"{path}.yaml": f"kind: {path[-1]}\n" for path in ("crds/A", "charts/b/crds/B", "charts/c/crds/C")}
    assert [each["kind"] for each in HelmChart(written(tmp_path, files), "the test").crds(values)] == kinds


def test_templates_of_a_later_revision_know_their_number(tmp_path: Path) -> None:
    files = {"templates/a.yaml": "{{ .Release.Revision }} {{ $.Release.Revision | quote }}", "templates/b.yaml": "x"}
    made = _at_revision(written(tmp_path / "a", files), tmp_path / "b", 7)
    assert (made / "templates/a.yaml").read_text() == "{{ 7 }} {{ 7 | quote }}"


def test_manifests_are_read_as_kubernetes_reads_them() -> None:
    text = "kind: ConfigMapList\nitems:\n- {kind: ConfigMap, data: {a: =, b: 2026-01-02}}\n---\n---\nkind: Service\n"
    assert documents(text) == [{"kind": "ConfigMap", "data": {"a": "=", "b": "2026-01-02"}}, {"kind": "Service"}]
