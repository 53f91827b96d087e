"""`make upstream` against a chart repository on loopback."""

import hashlib
import http.server
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from catalogue import chart_digests, upstream
from catalogue.versions import Chart
from rehearsal.charts import sources
from rehearsal.charts.chart import ChartError

CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {plural}.{group}
spec:
  group: {group}
  names:
    plural: {plural}
"""


def _archive(**more: str) -> bytes:
    crds = CRD.format(plural="queues", group="a.example") + "---\n" + CRD.format(plural="gangs", group="b.example")
    members = {
        "thing/Chart.yaml": "name: thing\nversion: 1.2.0\nappVersion: '1'\n",
        "thing/values.yaml": "a: 1\n",
        "thing/templates/x.yaml": "{{ }}",
        "thing/crds/all.yaml": crds,
        "thing/charts/part/Chart.yaml": "name: part\n",
        **{f"thing/{name.replace('__', '/')}": text for name, text in more.items()},
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[str]:
    root = tmp_path / "repository"
    root.mkdir()
    archive = _archive()
    digest = f"sha256:{hashlib.sha256(archive).hexdigest()}"
    (root / "thing-1.2.0.tgz").write_bytes(archive)
    (root / "outside-1.0.0.tgz").write_bytes(_archive(**{"..__x": "evil"}))
    (root / "broken-1.0.0.tgz").write_bytes(b"not an archive")
    for number, group in enumerate(("../../../x", "a/b", "A.example", "")):
        crd = CRD.format(plural="queues", group=group or "''")
        (root / f"climbing-{number}.tgz").write_bytes(_archive(**{"crds__climbs.yaml": crd}))
    entries = {
        **{f"climbing{number}": [{"version": "1.0.0", "urls": [f"climbing-{number}.tgz"]}] for number in range(4)},
        "away": [{"version": "1.0.0", "urls": ["file:///etc/hostname"]}],
        "thing": [{"version": "1.2.0", "urls": ["thing-1.2.0.tgz"], "digest": digest}],
        "swapped": [{"version": "1.2.0", "urls": ["thing-1.2.0.tgz"], "digest": "0" * 64}],
        "outside": [{"version": "1.0.0", "urls": ["outside-1.0.0.tgz"]}],
        "broken": [{"version": "1.0.0", "urls": ["broken-1.0.0.tgz"]}],
    }
    (root / "index.yaml").write_text(yaml.safe_dump({"entries": entries}))

    class Files(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(root))  # type: ignore[arg-type]

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_whole_charts_are_kept_with_their_sums_and_each_crd_by_itself(repository: str, tmp_path: Path) -> None:
    into = tmp_path / "upstream"
    (into / "charts/thing-1.2.0").mkdir(parents=True)
    (into / "charts/thing-1.2.0/old.yaml").write_text("of an earlier fetch")
    assert upstream.fetch([Chart(name="thing", version="1.2.0", repository=repository)], into) == []
    found = sorted(str(path.relative_to(into)) for path in into.rglob("*") if path.is_file())
    assert found == [
        "charts/thing-1.2.0/Chart.yaml",
        "charts/thing-1.2.0/SHA256SUMS",
        "charts/thing-1.2.0/charts/part/Chart.yaml",
        "charts/thing-1.2.0/crds/all.yaml",
        "charts/thing-1.2.0/templates/x.yaml",
        "charts/thing-1.2.0/values.yaml",
        "crds/a.example_queues.yaml",
        "crds/b.example_gangs.yaml",
    ]
    assert yaml.safe_load((into / "crds/b.example_gangs.yaml").read_text())["spec"]["names"]["plural"] == "gangs"


def test_what_is_fetched_is_what_a_rehearsal_takes_for_a_whole_chart(
    repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = tmp_path / "upstream"
    upstream.fetch([Chart(name="thing", version="1.2.0", repository=repository)], into)
    (into / "charts/thing-1.2.0/Chart.yaml").write_text("name: thing\nversion: 1.2.0\n")
    monkeypatch.setenv("GPUCLUSTER_UPSTREAM", str(into))
    with pytest.raises(ChartError, match=r"Chart\.yaml is not what `make upstream` fetched"):
        sources.find("thing", "1.2.0")
    upstream.fetch([Chart(name="thing", version="1.2.0", repository=repository)], into)
    assert sources.find("thing", "1.2.0").source == "the chart in GPUCLUSTER_UPSTREAM"


def test_each_chart_that_cannot_be_had_is_one_sentence(repository: str, tmp_path: Path) -> None:
    charts = [
        Chart(name="thing", version="9.9.9", repository=repository),
        Chart(name="broken", version="1.0.0", repository=repository),
        Chart(name="swapped", version="1.2.0", repository=repository),
        Chart(name="outside", version="1.0.0", repository=repository),
        Chart(name="thing", version="1.2.0", repository="http://127.0.0.1:1"),
        Chart(name="thing", version="1.2.0", repository="ftp://example.com"),
    ]
    said = upstream.fetch(charts, tmp_path / "upstream")
    assert [sentence.partition(": ")[0] for sentence in said] == [
        "thing 9.9.9",
        "broken 1.0.0",
        "swapped 1.2.0",
        "outside 1.0.0",
        "thing 1.2.0",
        "thing 1.2.0",
    ]
    assert "does not list it" in said[0]
    assert "no chart archive" in said[1]
    assert "is not the archive that the index names" in said[2]
    assert "which is no file of a chart" in said[3]
    assert "cannot be read here" in said[4]
    assert "is not https" in said[5]


@pytest.mark.parametrize("name", [f"climbing{number}" for number in range(4)])
def test_a_definition_whose_group_is_no_name_is_not_written(repository: str, tmp_path: Path, name: str) -> None:
    """A group of `../../../x` once chose the file that the vendor's bytes were written to."""
    into = tmp_path / "some" / "where" / "upstream"
    (said,) = upstream.fetch([Chart(name=name, version="1.0.0", repository=repository)], into)
    assert "names no definition" in said
    assert not [path for path in tmp_path.rglob("*_queues.yaml") if "repository" not in path.parts]


def test_an_index_does_not_lead_to_a_file_of_this_machine(repository: str, tmp_path: Path) -> None:
    (said,) = upstream.fetch([Chart(name="away", version="1.0.0", repository=repository)], tmp_path / "upstream")
    assert "file:///etc/hostname is not https" in said


def test_an_archive_that_unpacks_without_an_end_is_left(
    repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream, "LARGEST", 1024)
    (said,) = upstream.fetch([Chart(name="thing", version="1.2.0", repository=repository)], tmp_path / "upstream")
    assert "its archive holds more than" in said


def test_a_package_that_is_not_the_one_on_record_is_not_kept(
    repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repository's own index vouches for it, and that index came from the same place."""
    thing = Chart(name="thing", version="1.2.0", repository=repository)
    other = {chart_digests.key(thing): chart_digests.ChartDigest(sha256="ab" * 32, source="this test")}
    monkeypatch.setattr(upstream.package, "__defaults__", (other,))
    for problems in (upstream.fetch([thing], tmp_path / "a"), upstream.keep_packages([thing], tmp_path / "b")):
        assert len(problems) == 1
        assert f"{'ab' * 32} is on record" in problems[0]
    assert list(tmp_path.glob("[ab]/**/*")) == []


def test_packages_are_kept_as_they_came_and_put_on_record_once(repository: str, tmp_path: Path) -> None:
    thing = Chart(name="thing", version="1.2.0", repository=repository)
    assert upstream.keep_packages([thing], tmp_path / "packages") == []
    kept = tmp_path / "packages" / "thing-1.2.0.tgz"
    assert upstream.package(thing)[1] == kept.read_bytes()
    file = tmp_path / "record.json"
    file.write_text('{"other 1": {"sha256": "00", "source": "s"}}')
    assert upstream.record([thing], file) == []
    rows = chart_digests.read(file)
    assert rows["thing 1.2.0"].sha256 == hashlib.sha256(kept.read_bytes()).hexdigest()
    assert rows["thing 1.2.0"].source == f"{repository}/thing-1.2.0.tgz"
    assert rows["other 1"].sha256 == "00"
    moved = {"thing 1.2.0": chart_digests.ChartDigest(sha256="11", source="s")}
    file.write_text(json.dumps({name: vars(row) for name, row in moved.items()}))
    assert upstream.record([thing], file) == []
    assert chart_digests.read(file) == moved, "what is on record stays"
