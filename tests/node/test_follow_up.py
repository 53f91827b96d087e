"""What makes the jobs of a follow-up, on real directories before a server of its own."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import saves
from ask import Asker, made
from publish import Api, ConflictError

NAME = "sft-evaluate"
MANIFEST: dict[str, Any] = {
    "metadata": {"labels": {"gpucluster/owner": "ml"}},
    "spec": {
        "pytorchReplicaSpecs": {
            "Master": {
                "template": {"spec": {"containers": [{"env": [{"name": "CHECKPOINT_PATH", "value": "/checkpoints"}]}]}}
            }
        }
    },
}


class Server(Api):
    """The API server, as far as a follow-up asks it."""

    jobs: dict[str, dict[str, Any]]
    data: dict[str, str]
    refuses: str

    @classmethod
    def empty(cls) -> Server:
        server = cls("http://api", "token", "training", None)
        for key, value in (("jobs", {}), ("data", {}), ("refuses", "")):
            object.__setattr__(server, key, value)
        return server

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        name = path.rpartition("/")[2]
        if method == "POST":
            if self.refuses:
                raise OSError(f"{path}: {self.refuses}")
            if body["metadata"]["name"] in self.jobs:
                raise ConflictError("already exists")
            self.jobs[body["metadata"]["name"]] = body
        elif method == "PATCH":
            self.data.update(body["data"])
        elif "configmaps" in path:
            return {"metadata": {"name": NAME, "uid": "u-1"}, "data": self.data}
        elif "labelSelector" in path:
            assert path.endswith(f"?labelSelector=gpucluster%2Ffollow-up%3D{NAME}")
            found = [each for each in self.jobs.values() if each["metadata"]["labels"].get("gpucluster/follow-up")]
            return {"items": found}
        elif name not in self.jobs:
            raise FileNotFoundError(path)
        else:
            return self.jobs[name]
        return {}

    def ends(self, job: str, state: str = "Succeeded") -> None:
        condition = {"type": state, "status": "True", "lastTransitionTime": "2026-11-23T09:00:00Z"}
        self.jobs[job]["status"] = {"conditions": [{"type": "Created", "status": "True"}, condition]}


def write(root: Path, step: int) -> Path:
    place = root / saves.name_of(step)
    place.mkdir(parents=True)
    (place / "shard.pt").write_text(str(step))
    (place / saves.SUMS).write_text(f"{hashlib.sha256(str(step).encode()).hexdigest()}  shard.pt\n")
    return place


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    return Asker(Server.empty(), NAME, tmp_path, MANIFEST)


def server(asker: Asker) -> Server:
    assert isinstance(asker.api, Server)
    return asker.api


def test_the_newest_whole_checkpoint_gets_its_job(asker: Asker) -> None:
    write(asker.root, 100)
    corrupt = write(asker.root, 200)
    (corrupt / "shard.pt").write_text("flipped")
    said = asker.look()
    assert said == [
        f"skipped {corrupt}: corrupt, shard.pt does not match its SHA256SUMS",
        "made sft-evaluate-100 for step-000000100",
    ]
    (job,) = server(asker).jobs.values()
    (container,) = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "CHECKPOINT_PATH", "value": "/checkpoints/step-000000100"}]
    assert job["metadata"]["labels"] == {
        "gpucluster/owner": "ml",
        "gpucluster/follow-up": NAME,
        "gpucluster/checkpoint": "step-000000100",
    }
    assert job["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "ConfigMap", "name": NAME, "uid": "u-1"}]


def test_a_checkpoint_is_looked_at_once_whatever_became_of_its_job(asker: Asker) -> None:
    write(asker.root, 100)
    asker.look()
    assert asker.look() == ["sft-evaluate-100 goes on"]
    server(asker).ends("sft-evaluate-100", "Failed")
    assert asker.look() == [
        "sft-evaluate-100: Failed at 2026-11-23T09:00:00Z",
        "step-000000100 was looked at: Failed at 2026-11-23T09:00:00Z",
    ]
    server(asker).jobs.clear()
    assert asker.look() == ["step-000000100 was looked at: Failed at 2026-11-23T09:00:00Z"], "its time to live is over"
    write(asker.root, 200)
    assert asker.look() == ["made sft-evaluate-200 for step-000000200"]


def test_a_checkpoint_stays_until_its_job_has_ended(asker: Asker) -> None:
    for step in (100, 200, 300):
        write(asker.root, step)
        if step == 100:
            asker.look()
    saves.prune(asker.root, 1)
    assert (asker.root / saves.name_of(100)).exists()
    assert not (asker.root / saves.name_of(200)).exists()
    server(asker).ends("sft-evaluate-100")
    asker.look()
    write(asker.root, 400)
    saves.prune(asker.root, 1)
    assert not (asker.root / saves.name_of(100)).exists()


def test_a_mark_of_somebody_else_stays(asker: Asker) -> None:
    save = write(asker.root, 100)
    (save / saves.KEEP).touch()
    asker.look()
    server(asker).ends("sft-evaluate-100")
    asker.look()
    assert [each.name for each in save.glob("KEEP*")] == [saves.KEEP]


def test_one_after_the_end_waits_for_its_run_however_that_ends(asker: Asker) -> None:
    write(asker.root, 100)
    asker.after = "sft"
    assert asker.look() == ["run sft has not ended"], "it is not there"
    server(asker).jobs["sft"] = {"metadata": {"name": "sft", "labels": {}}, "status": {}}
    assert asker.look() == ["run sft has not ended"]
    server(asker).ends("sft", "Failed")
    assert asker.look() == ["made sft-evaluate-100 for step-000000100"]


def test_nothing_is_made_without_a_checkpoint_or_against_the_server(asker: Asker) -> None:
    assert asker.look() == [f"no whole checkpoint is in {asker.root}"]
    save = write(asker.root, 100)
    object.__setattr__(server(asker), "refuses", "its pods run as sft-evaluate")
    with pytest.raises(OSError, match="its pods run as"):
        asker.look()
    assert not list(save.glob("KEEP*")), "a checkpoint that nobody looks at is not kept"


def test_two_who_ask_at_once_make_one_job(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    write(asker.root, 100)
    asker.look()
    monkeypatch.setattr(Asker, "_ended", lambda _self, _known: (None, []))
    assert asker.look() == ["sft-evaluate-100 is there already"]
    assert (asker.root / saves.name_of(100) / f"KEEP-{NAME}").exists()


def test_a_manifest_is_not_changed_by_what_is_made_of_it() -> None:
    before = str(MANIFEST)
    made(MANIFEST, NAME, "step-000000007", {"name": NAME, "uid": "u"})
    assert str(MANIFEST) == before
