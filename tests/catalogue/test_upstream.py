"""`make upstream` against a chart repository on loopback."""

import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from catalogue import upstream
from catalogue.versions import Chart

CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {plural}.{group}
spec:
  group: {group}
  names:
    plural: {plural}
"""


def _archive() -> bytes:
    crds = CRD.format(plural="queues", group="a.example") + "---\n" + CRD.format(plural="gangs", group="b.example")
    members = {
        "thing/Chart.yaml": "name: thing\n",
        "thing/values.yaml": "a: 1\n",
        "thing/templates/x.yaml": "{{ }}",
        "thing/crds/all.yaml": crds,
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
    (root / "thing-1.2.0.tgz").write_bytes(_archive())
    (root / "broken-1.0.0.tgz").write_bytes(b"not an archive")
    entries = {
        "thing": [{"version": "1.2.0", "urls": ["thing-1.2.0.tgz"]}],
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


def test_values_and_each_crd_are_kept_and_templates_are_not(repository: str, tmp_path: Path) -> None:
    into = tmp_path / "upstream"
    assert upstream.fetch([Chart(name="thing", version="1.2.0", repository=repository)], into) == []
    found = sorted(str(path.relative_to(into)) for path in into.rglob("*") if path.is_file())
    assert found == [
        "charts/thing-1.2.0/Chart.yaml",
        "charts/thing-1.2.0/values.yaml",
        "crds/a.example_queues.yaml",
        "crds/b.example_gangs.yaml",
    ]
    assert yaml.safe_load((into / "crds/b.example_gangs.yaml").read_text())["spec"]["names"]["plural"] == "gangs"


def test_each_chart_that_cannot_be_had_is_one_sentence(repository: str, tmp_path: Path) -> None:
    charts = [
        Chart(name="thing", version="9.9.9", repository=repository),
        Chart(name="broken", version="1.0.0", repository=repository),
        Chart(name="thing", version="1.2.0", repository="http://127.0.0.1:1"),
        Chart(name="thing", version="1.2.0", repository="ftp://example.com"),
    ]
    said = upstream.fetch(charts, tmp_path / "upstream")
    assert [sentence.partition(": ")[0] for sentence in said] == [
        "thing 9.9.9",
        "broken 1.0.0",
        "thing 1.2.0",
        "thing 1.2.0",
    ]
    assert "does not list it" in said[0]
    assert "no chart archive" in said[1]
    assert "cannot be read here" in said[2]
    assert "is not https" in said[3]
