"""The pre-training pipeline on made-up data, every step for real on the CPU (R01, R06, PF02).

What is registered is told MLflow's own server.
"""

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cleaning
import lineage
import pack
import pipeline
import pytest
import snapshot
import steps
import training

from rehearsal.places import free_port
from tests.node import mlflow_servers
from tests.node.mlflow_servers import asked
from tests.partners import KFP

PROGRAMS = Path(__file__).with_name("pipeline_programs.py")
COMMIT, IMAGE = "c" * 40, "registry.example/trainer@sha256:" + "d" * 64
WORDS = ("the", "gang", "waits", "for", "nodes", "and", "rails", "carry", "gradients", "between", "leaves")


def documents(place: Path, count: int = 200, seed: int = 1) -> Path:
    """Made-up documents in two files, one of them below a directory."""
    dice = random.Random(seed)  # noqa: S311
    lines = [json.dumps({"text": " ".join(dice.choices(WORDS, k=30))}) for _ in range(count)]
    (place / "below").mkdir(parents=True)
    (place / "a.jsonl").write_text("\n".join(lines[: count // 2]) + "\n", encoding="utf-8")
    (place / "below" / "b.jsonl").write_text("\n".join(lines[count // 2 :]) + "\n", encoding="utf-8")
    return place


@dataclass
class Line:
    """A pipeline's run: its directory, and what it is asked."""

    work: Path
    source: Path
    tracker: str
    changes: dict[str, str] = field(default_factory=dict)
    worse: str = "0"

    def words(self) -> list[str]:
        known = {
            "work": str(self.work),
            "source": str(self.source),
            "sequence-length": "64",
            "vocab": "257",
            "hold-out": "10",
            "shards": "4",
            "commit": COMMIT,
            "image": IMAGE,
            "experiment": "sft",
            "stack": "dev",
            "tracker": self.tracker,
            "model": "llama-chat",
            "kept-at": f"s3://artefacts/checkpoints/{self.work.name}",
            "train": f"{sys.executable} {PROGRAMS} train {{data}} {{saves}}",
            "evaluate": f"{sys.executable} {PROGRAMS} evaluate {{save}} {{data}} {self.worse}",
            **self.changes,
        }
        return [f"--{name}={value}" for name, value in known.items()]

    def run(self) -> tuple[int, str]:
        """Status, and all that was said."""
        script = Path(pipeline.__file__)
        done = subprocess.run(
            [sys.executable, str(script), *self.words()],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        return done.returncode, done.stdout + done.stderr

    def facts(self, step: str) -> dict[str, Any]:
        found = steps.read(self.work / step)
        assert found
        return dict(found.facts)


@pytest.fixture(scope="module")
def tracker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with mlflow_servers.served(tmp_path_factory.mktemp("mlflow"), free_port()) as address:
        yield address


@pytest.fixture
def line(tmp_path: Path, tracker: str, request: pytest.FixtureRequest) -> Line:
    name = hashlib.sha256(request.node.name.encode()).hexdigest()[:8]
    return Line(tmp_path / "work", documents(tmp_path / "source"), tracker, {"model": f"llama-{name}"})


def champion(line: Line) -> dict[str, Any]:
    path = f"registered-models/alias?name={line.changes['model']}&alias=champion"
    found: dict[str, Any] = asked(line.tracker, path)["model_version"]
    return found


def tags(version: dict[str, Any]) -> dict[str, str]:
    return {each["key"]: each["value"] for each in version["tags"]}


def test_documents_become_a_registered_model_that_says_where_it_is_from_r06(line: Line) -> None:
    """PF01: by calls that MLflow's own server answers."""
    code, said = line.run()
    assert code == 0, said
    version = champion(line)
    known = tags(version)
    sums = "".join(
        f"{hashlib.sha256((line.source / name).read_bytes()).hexdigest()}  files/{name}\n"
        for name in ("a.jsonl", "below/b.jsonl")
    )
    assert known["gpucluster.dataset_sha256"] == hashlib.sha256(sums.encode()).hexdigest()
    assert (known["gpucluster.commit"], known["gpucluster.image"]) == (COMMIT, IMAGE)
    assert float(known["gpucluster.metric.loss"]) == line.facts("evaluation")["value"] < 2.0
    assert version["source"] == f"s3://artefacts/checkpoints/{line.work.name}"
    made_of = lineage.read(line.work / "training" / "lineage.json")
    assert {name: known[name] for name in made_of.tags()} == made_of.tags()
    assert training.whole(line.work / "training" / "saves" / "step-000000004")
    left = {each.name for each in line.work.iterdir()}
    assert left == {"training", "evaluation", "registration", "cleaning"}
    assert steps.read(line.work / "cleaning") is not None
    assert line.facts("cleaning")["freedBytes"] > 0


def test_run_again_nothing_is_repeated(line: Line) -> None:
    assert line.run()[0] == 0
    code, said = line.run()
    assert (code, said) == (0, f"pipeline: {line.work} is done; use another --work for another run\n")


def test_training_that_breaks_says_its_last_words_and_goes_on_at_its_saves(line: Line) -> None:
    (line.work / "training").mkdir(parents=True)
    broken = line.work / "training" / "fail-at-3"
    broken.touch()
    code, said = line.run()
    assert code == 1
    assert "exited with 1; its last output: CUDA error: device-side assert in step 3" in said
    assert "pipeline: training exited with 1; run again to continue there" in said
    assert steps.read(line.work / "training") is None
    broken.unlink()
    code, said = line.run()
    assert code == 0, said
    for step in ("snapshot", "pack", "shard"):
        assert f"{step}: already done" in said
    assert "goes on at step 2" in said


def test_a_model_that_is_worse_is_kept_and_not_promoted(line: Line, tmp_path: Path) -> None:
    assert line.run()[0] == 0
    first = champion(line)
    other = Line(tmp_path / "worse", documents(tmp_path / "other", seed=2), line.tracker, line.changes, worse="0.5")
    code, said = other.run()
    assert code == 0, said
    assert "it is not promoted" in said
    assert champion(line)["version"] == first["version"]
    assert (
        other.facts("registration") == {"version": "1", "promoted": True} or not other.facts("registration")["promoted"]
    )
    better = Line(tmp_path / "better", documents(tmp_path / "more", 400), line.tracker, line.changes, worse="-0.5")
    code, said = better.run()
    assert code == 0, said
    assert better.facts("registration")["promoted"] is True
    assert champion(line)["version"] == better.facts("registration")["version"] != first["version"]


def test_kfps_local_runner_runs_each_step_of_the_compiled_file(line: Line, tmp_path: Path) -> None:
    scripts, compiled = Path(pipeline.__file__).parent, tmp_path / "pipeline.yaml"

    def said_by_kfp(*words: str | Path) -> tuple[int, str]:
        done = subprocess.run([KFP.python(), *words], capture_output=True, text=True, check=False, timeout=600)
        return done.returncode, done.stdout + done.stderr

    asked_for = [each for each in line.words() if not each.startswith("--work=")]
    code, said = said_by_kfp(scripts / "pretraining.py", f"--into={compiled}", *asked_for)
    assert code == 0, said
    broken = line.work / "training" / "fail-at-3"
    broken.parent.mkdir(parents=True)
    broken.touch()
    run = (Path(__file__).with_name("local_kfp.py"), compiled, scripts, line.work)
    code, said = said_by_kfp(*run)
    assert code == 1
    assert steps.read(line.work / "registration") is None
    assert "its last output: CUDA error: device-side assert in step 3" in said
    broken.unlink()
    code, said = said_by_kfp(*run)
    assert code == 0, said
    assert [each for each in ("snapshot", "pack", "shard") if f"{each}: already done" not in said] == []
    assert "goes on at step 2" in said
    assert tags(champion(line))["gpucluster.commit"] == COMMIT
    assert steps.read(line.work / "cleaning") is not None


def already(said: str) -> list[str]:
    """Steps that had nothing to do."""
    names = {"training": "train", "evaluation": "evaluate", "registration": "register"}
    return [each for each in pipeline.STEPS if f"{names.get(each, each)}: already done" in said]


BROKEN = (
    ("snapshot", {"source": "/nowhere/at/all"}, "no *.jsonl files in /nowhere/at/all"),
    ("pack", {"vocab": "100"}, "the model has 100: take its own tokenizer, or --vocab"),
    ("pack", {"tokenizer": "/nowhere.json"}, "--tokenizer /nowhere.json is not a file; type bytes"),
    ("pack", {"sequence-length": "999999"}, "too few for a sequence of 1000000"),
    ("shard", {"shards": "99999"}, "--shards is 99999, and there are"),
    ("training", {"image": "trainer:latest"}, "an image with its digest"),
    ("training", {"commit": "main"}, "lineage: commit is 'main'; it must be 40 hex digits"),
    ("training", {"train": "/no/such/program"}, "/no/such/program cannot be started"),
    ("training", {"train": "true"}, "training left no save"),
    ("evaluation", {"evaluate": "echo accuracy=1"}, "printed no loss=VALUE (it printed accuracy)"),
    ("evaluation", {"evaluate": "echo loss=nan"}, "loss is nan, not a finite number, so the model is not registered"),
    ("registration", {"tracker": "http://127.0.0.1:1"}, "the registry at http://127.0.0.1:1 does not answer"),
)


@pytest.mark.parametrize(("step", "change", "sentence"), BROKEN, ids=[f"{each[0]}-{each[2][:24]}" for each in BROKEN])
def test_each_step_that_breaks_ends_with_its_sentence_and_is_resumed_there(
    line: Line, step: str, change: dict[str, str], sentence: str
) -> None:
    right, line.changes = line.changes, {**line.changes, **change}
    source, line.source = line.source, Path(change.get("source", line.source))
    code, said = line.run()
    assert code == 1
    assert sentence in said
    assert "Traceback" not in said
    assert f"pipeline: {step} exited with 1" in said
    assert steps.read(line.work / step) is None
    line.changes, line.source = right, source
    code, said = line.run()
    assert code == 0, said
    assert already(said) == list(pipeline.STEPS[: pipeline.STEPS.index(step)])


def test_cleaning_that_breaks_removes_nothing_and_goes_on_where_all_else_is_done(line: Line, tmp_path: Path) -> None:
    """The copy of the documents was moved to another disk meanwhile, and a link is not a step's own directory."""
    right, line.changes = line.changes, {**line.changes, "evaluate": "false"}
    assert line.run()[0] == 1
    line.changes = right
    copy, moved = line.work / "snapshot", tmp_path / "another-disk"
    copy.rename(moved)
    copy.symlink_to(moved)
    code, said = line.run()
    assert code == 1
    assert f"error: {copy} is not an output of snapshot, pack, shard; nothing was removed" in said
    assert "pipeline: cleaning exited with 1; run again to continue there" in said
    assert "Traceback" not in said
    assert [steps.read(line.work / each) is None for each in pipeline.STEPS] == [False] * 6 + [True]
    version = champion(line)["version"]
    copy.unlink()
    moved.rename(copy)
    code, said = line.run()
    assert code == 0, said
    assert already(said) == list(pipeline.STEPS[:-1])
    assert champion(line)["version"] == version
    assert not copy.exists()


def test_a_file_that_was_changed_is_made_again_and_what_follows_too(line: Line) -> None:
    line.changes |= {"train": "false"}
    assert line.run()[0] == 1
    shard = line.work / "shard" / "train" / "shard-00001.bin"
    shard.write_bytes(b"\0" * shard.stat().st_size)
    _, said = line.run()
    assert "shard: train/shard-00001.bin is missing or changed; running again" in said
    assert "pack: already done" in said


def test_held_out_documents_are_the_same_in_any_order_and_none_is_in_both(tmp_path: Path) -> None:
    texts = [f"document {number} of made-up text" for number in range(300)]
    found = []
    for name, order in (("one", texts), ("other", texts[::-1])):
        place = tmp_path / name
        place.mkdir()
        (place / "d.jsonl").write_text("".join(json.dumps({"text": each}) + "\n" for each in order))
        snapshot.main([f"--source={place}", f"--into={tmp_path / name / 's'}"])
        told = [f"--snapshot={place / 's'}", f"--into={place / 'p'}", "--sequence-length=8", "--vocab=257"]
        facts = pack.main([*told, "--hold-out=10"]).facts
        found.append((facts["trainDocuments"], facts["evalDocuments"]))
    assert found[0] == found[1]
    assert sum(found[0]) == 300


@pytest.mark.parametrize(("line_said", "sentence"), [("no json", "a.jsonl:3 is no"), ('{"text": 3}', ":3 has")])
def test_a_line_that_is_no_document_is_named(line_said: str, sentence: str, tmp_path: Path) -> None:
    source = documents(tmp_path / "source")
    lines = (source / "a.jsonl").read_text().splitlines()
    lines[2] = line_said
    (source / "a.jsonl").write_text("\n".join(lines))
    snapshot.main([f"--source={source}", f"--into={tmp_path / 's'}"])
    with pytest.raises(steps.StepError, match=sentence):
        pack.main([f"--snapshot={tmp_path / 's'}", f"--into={tmp_path / 'p'}", "--sequence-length=8", "--vocab=257"])
    assert not (tmp_path / "p").exists()


def test_nothing_but_a_steps_directory_is_removed(line: Line, tmp_path: Path) -> None:
    line.changes |= {"evaluate": "echo loss=1"}
    assert line.run()[0] == 0
    mine = tmp_path / "thesis"
    mine.mkdir()
    (mine / "chapter").touch()
    with pytest.raises(steps.StepError, match="nothing was removed"):
        cleaning.main([f"--registered={line.work / 'registration'}", f"--into={tmp_path / 'c'}", str(mine)])
    assert (mine / "chapter").exists()
    with pytest.raises(steps.StepError, match="has no finished step register"):
        cleaning.main([f"--registered={tmp_path}", f"--into={tmp_path / 'c'}", str(mine)])
