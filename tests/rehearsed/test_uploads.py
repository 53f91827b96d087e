"""The script that uploads pipelines before the API server that a rehearsed cluster has (R01, AB01)."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import upload
import yaml
from steps import StepError

from rehearsal.cluster.pages import Request
from rehearsal.images import pipelines
from rehearsal.images.pipelines import Pipelines
from rehearsal.images.table import TABLE
from rehearsal.kubelet.images import Images
from rehearsal.testing.answering import Asked, Said, answering
from rehearsed import PROGRAM, scripts

SPEC = {"pipelineInfo": {"name": "pretraining"}, "root": {"dag": {}}, "schemaVersion": "2.1.0"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the server keeps what it knows."""
    return tmp_path / "cluster" / "pipelines.json"


@pytest.fixture
def server(file: Path) -> Iterator[str]:
    def answer(asked: Asked) -> Said:
        url = urlsplit(asked.path)
        headers = {name.lower(): value for name, value in asked.headers.items()}
        # A server that was started again knows what its database does.
        found = Pipelines(file).answer(Request(asked.method, url.path, url.query, headers, asked.body))
        return Said(yaml.safe_load(found.content), found.status)

    with answering(answer) as where:
        yield f"http://{where}"


def uploaded(server: str, tmp_path: Path, version: str, **changes: object) -> str:
    file = tmp_path / "p.yaml"
    file.write_text(yaml.safe_dump_all([{**SPEC, **changes}, {"platforms": {}}]), encoding="utf-8")
    return upload.main([f"--server={server}", "--name=nightly", f"--version={version}", f"--file={file}"])


def versions(file: Path) -> list[str]:
    found = Pipelines(file).answer(Request("GET", "/apis/v2beta1/pipelines/names/nightly")).content
    (listed,) = [
        Pipelines(file).answer(Request("GET", f"/apis/v2beta1/pipelines/{each}/versions"))
        for each in [yaml.safe_load(found)["pipeline_id"]]
    ]
    return [each["name"] for each in yaml.safe_load(listed.content)["pipeline_versions"]]


def test_a_pipeline_is_there_once_and_each_change_is_a_version(server: str, file: Path, tmp_path: Path) -> None:
    first = uploaded(server, tmp_path, "a-1")
    assert uploaded(server, tmp_path, "a-1") == first
    assert uploaded(server, tmp_path, "b-2", sdkVersion="kfp-2.17.0") != first
    assert versions(file) == ["nightly", "a-1", "b-2"]


def test_more_versions_than_a_page_holds_are_all_seen(
    server: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines, "MOST_OF_A_PAGE", 2)
    made = [uploaded(server, tmp_path, f"v{number}") for number in range(4)]
    assert uploaded(server, tmp_path, "v3") == made[3]
    monkeypatch.undo()
    assert versions(file) == ["nightly", "v0", "v1", "v2", "v3"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schemaVersion": "2.0.0"}, "KFP only supports schema version 2.1.0, but the pipeline spec has version 2.0.0"),
        ({"pipelineInfo": {}}, "unknown template format"),
    ],
)
def test_what_is_no_pipeline_is_refused_in_the_servers_words(
    server: str, file: Path, tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(StepError, match=said):
        uploaded(server, tmp_path, "a-1", **changes)
    assert not file.exists()


def test_a_rehearsed_job_runs_the_script_itself_and_the_server_is_known() -> None:
    images = Images((*PROGRAM.images, *TABLE))
    job = images.find("docker.io/library/python:3.13", "upload", ["python3"])
    assert job
    assert job.start is scripts.run
    found = images.find("ghcr.io/kubeflow/kfp-api-server:2.17.0", "ml-pipeline-api-server")
    assert found
    assert found.start is pipelines.run
