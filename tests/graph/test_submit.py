"""`make submit`: the job that is sent by hand is the stack's own, apart from its name and Pulumi's marks."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.graph.stackfiles import graph_of
from tests.graph.submit import NoSuchRunError, UnknownAccountError, job, main
from tests.typed import handed

RUN = "llama-3-8b-sft"
QUEUES = {"training", "experiments"}
"""Names of a queue and of a priority, which are their ids too."""


def test_the_job_is_the_one_that_the_stack_registers() -> None:
    graph = graph_of("dev")
    (registered,) = [each for each in graph.resources.values() if each.kind == "PyTorchJob"]
    sent = job(graph, RUN)
    assert sent["spec"] == registered.inputs["spec"]
    meta = dict(registered.inputs["metadata"])
    assert meta.pop("name") == RUN
    marks = meta.pop("annotations")
    kept = {mark: value for mark, value in marks.items() if not mark.startswith("pulumi.com/")}
    assert set(kept) == {f"gpucluster/{each}" for each in ("stack", "owner", "image", "dataset")}
    assert sent["metadata"] == {**meta, "generateName": f"{RUN}-", "annotations": kept}
    assert sent["apiVersion"] == "kubeflow.org/v1"
    assert sent["spec"]["runPolicy"]["schedulingPolicy"]["queue"]


def test_nothing_of_the_recording_is_in_it() -> None:
    """Ids that only the tests' provider makes would be wrong in a cluster."""
    graph = graph_of("dev")
    made = {each.id for each in graph.resources.values() if each.id}
    words = set(yaml.safe_dump(job(graph, RUN, "222233334444")).replace("/", " ").split())
    named = {each.inputs.get("metadata", {}).get("name") for each in graph.resources.values()}
    assert not {each for each in made if each in words} - named - QUEUES
    assert "gpucluster-dev-artefacts-222233334444" in words


def test_an_account_that_nobody_names_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The checkpoints' bucket ends with it: one of the tests would be nobody's."""
    with pytest.raises(UnknownAccountError):
        job(graph_of("dev"), RUN, None)
    assert main(["dev", RUN]) == 2
    assert "type ACCOUNT=…, or accountId in gpucluster:platform" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["dev", RUN, "--account", "1234"])


def test_it_is_written_and_says_what_to_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "build" / "job.yaml"
    assert main(["dev", RUN, "--out", str(file), "--account", "222233334444"]) == 0
    assert capsys.readouterr().out == f"{file}: type: kubectl create -f {file}\n"
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert written["metadata"]["generateName"] == f"{RUN}-"
    assert main(["dev", RUN, "--out", str(file / "below.yaml"), "--account", "222233334444"]) == 2
    assert "File exists" in capsys.readouterr().err


def test_a_run_that_is_not_there_is_told_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "nosuch"]) == 2
    assert f"no run 'nosuch'; it has {RUN}" in capsys.readouterr().err
    with pytest.raises(NoSuchRunError):
        job(graph_of("dev"), "nosuch")
    assert main(["nowhere", RUN]) == 2
    assert "Pulumi.nowhere.yaml" in capsys.readouterr().err


def test_make_hands_the_name_on_as_it_was_typed() -> None:
    """RUN is also what the Makefile calls its interpreter."""
    (seen,) = handed("make submit STACK=dev RUN='a b$1' OUT=x.yaml ACCOUNT=222233334444")
    assert seen[-6:] == ["dev", "a b$1", "--out", "x.yaml", "--account", "222233334444"]
    (plan,) = handed("RUN=other make plan STACK=dev")
    assert plan == ["-m", "planner", "--stack", "dev"]
