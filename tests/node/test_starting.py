"""What a pipeline's training step starts: the job of a run, before an API server of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import starting
from publish import Api, ConflictError
from steps import StepError

TEMPLATE = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "${job}", "namespace": "training", "labels": {"gpucluster/commit": "4f2"}, "annotations": {}},
    "spec": {
        "pytorchReplicaSpecs": {
            "Master": {
                "template": {
                    "spec": {
                        "serviceAccountName": "sft",
                        "containers": [
                            {
                                "env": [{"name": "CHECKPOINT_URI", "value": "s3://b/checkpoints/sft/${job}"}],
                                "volumeMounts": [{"subPath": "${saves}"}, {"subPath": "${data}"}],
                            }
                        ],
                    }
                }
            }
        }
    },
}


class Server(Api):
    """Jobs by name; the operator ends each after it was looked at twice, as `ends` says."""

    jobs: dict[str, dict[str, Any]]
    ends: list[str]
    looked: list[str]

    @classmethod
    def empty(cls, *ends: str) -> Server:
        server = cls("http://api", "token", "pipelines", None)
        for key, value in (("jobs", {}), ("ends", list(ends)), ("looked", [])):
            object.__setattr__(server, key, value)
        return server

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        assert path.startswith("/apis/kubeflow.org/v1/namespaces/training/pytorchjobs")
        name = path.rpartition("/")[2]
        self.looked.append(method)
        if method == "POST":
            if body["metadata"]["name"] in self.jobs:
                raise ConflictError("already exists")
            self.jobs[body["metadata"]["name"]] = {**body, "seen": 0}
            return dict(body)
        if name not in self.jobs:
            raise FileNotFoundError(path)
        if method == "DELETE":
            return self.jobs.pop(name)
        job = self.jobs[name]
        job["seen"] += 1
        if job["seen"] == 2:
            how = self.ends.pop(0)
            running = {"type": "Running", "status": "False"}
            job["status"] = {"conditions": [running, {"type": how, "status": "True", "message": f"it {how}"}]}
        return job


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(starting, "_PAUSE_S", 0.001)
    (tmp_path / "monday/shard/train").mkdir(parents=True)
    (tmp_path / "monday/shard/train/SHA256SUMS").write_text("ab  shard-0.bin\n", encoding="utf-8")
    (tmp_path / "job.json").write_text(json.dumps(TEMPLATE), encoding="utf-8")
    return tmp_path


def begun(server: Server, place: Path, monkeypatch: pytest.MonkeyPatch, work: str = "monday") -> str:
    monkeypatch.setattr(Api, "inside", lambda _: server)
    where = [f"--data={place / work / 'shard/train'}", f"--saves={place / work / 'training/saves'}"]
    return starting.main([*where, f"--shared={place}", f"--job={place / 'job.json'}"])


def test_the_job_is_the_runs_with_this_pipelines_data_and_saves(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server.empty("Succeeded")
    name = begun(server, place, monkeypatch)
    job = server.jobs[name]
    (container,) = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    assert [each["subPath"] for each in container["volumeMounts"]] == ["monday/training/saves", "monday/shard/train"]
    assert container["env"][0]["value"] == f"s3://b/checkpoints/sft/{name}"
    assert name.startswith("sft-")
    assert job["metadata"]["labels"]["gpucluster/commit"] == "4f2"
    assert len(job["metadata"]["labels"]["gpucluster/data-sha256"]) == 32
    assert job["metadata"]["annotations"]["gpucluster/data"] == "monday/shard/train"


def test_begun_again_it_waits_for_the_job_that_it_made(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server.empty("Succeeded")
    name = begun(server, place, monkeypatch)
    assert begun(server, place, monkeypatch) == name
    assert server.looked.count("POST") == 1


def test_a_failed_job_is_told_and_made_again_when_it_is_begun_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server.empty("Failed", "Succeeded")
    with pytest.raises(StepError, match="failed: it Failed; see its pods' logs"):
        begun(server, place, monkeypatch)
    begun(server, place, monkeypatch)
    assert (server.looked.count("POST"), server.looked.count("DELETE")) == (2, 1)


def test_another_run_of_the_pipeline_is_another_job(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server.empty("Succeeded", "Succeeded")
    (place / "tuesday/shard/train").mkdir(parents=True)
    (place / "tuesday/shard/train/SHA256SUMS").write_text("cd  shard-0.bin\n", encoding="utf-8")
    assert begun(server, place, monkeypatch) != begun(server, place, monkeypatch, "tuesday")
    labels = {each["metadata"]["labels"]["gpucluster/data-sha256"] for each in server.jobs.values()}
    assert len(labels) == 2


def test_a_job_that_somebody_removed_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server.empty()
    made = server.ask

    def removed(method: str, path: str, body: Any = None) -> dict[str, Any]:
        if method == "GET" and server.jobs:
            server.jobs.clear()
        return made(method, path, body)

    object.__setattr__(server, "ask", removed)
    with pytest.raises(StepError, match="was deleted meanwhile"):
        begun(server, place, monkeypatch)


def test_what_is_missing_is_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server.empty()
    with pytest.raises(StepError, match="has no SHA256SUMS, so no shards"):
        begun(server, place, monkeypatch, "nothing")
    (place / "job.json").unlink()
    with pytest.raises(StepError, match="compile the pipeline with --starts=RUN"):
        begun(server, place, monkeypatch)


def test_directories_that_a_run_has_not_are_refused(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(StepError, match="must be below"):
        starting.filled(json.dumps(TEMPLATE), place / "monday/shard/train", Path("/elsewhere/saves"), place)
