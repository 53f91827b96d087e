"""Kubeflow Pipelines and the tracker of a rehearsed stack: objects before the real API server and its rules about pods,
the job that a step starts, under the real training operator and Volcano (R01), and what that job and the steps tell a
real MLflow on a real PostgreSQL. The programs of Pipelines do nothing here.
"""

import base64
import os
import subprocess
import sys
import urllib.error
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from components.tracking.mlflow import ADDRESS
from rehearsal.cluster.layout import PROXY
from rehearsal.places import LOOPBACK
from rehearsed.telling import loss
from tests.node.mlflow_servers import runs, steps
from tests.node.test_pipelines import Line, champion, documents, tags

from .databases import PIPELINES, TRACKER, copied, lose, restore, scaled, secret
from .rehearsed import Rehearsed, rehearsed, until
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

RUN, MODEL, PROGRAMS = "llama-3-8b-sft", "llama-chat", 7
JOBS = "kubeflow.org/v1"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """The dev stack without services, whose run is started by pipelines."""
    directory = tmp_path_factory.mktemp("pipelines")
    tree = Tree.copy(directory / "tree")
    stack = tree.stack("dev")
    for path, value in {
        "training.runs[0].nodes": 1,
        "training.runs[0].framework": "reference",
        "training.runs[0].sharding": "fsdp",
        "training.runs[0].script": [],
        "training.runs[0].method": "full",
        "training.runs[0].model": "llama-3.2-1b",
        "training.tracking": {"kind": "mlflow"},
        "training.pipelines": {"runs": [RUN]},
        "budget.maxHourlyUsd": 900,
    }.items():
        stack.set(f"gpucluster:{path}", value)
    with rehearsed("pipelines", tree, directory / "state") as found:
        found.up().require()
        yield found


@pytest.fixture
def tracker(site: Rehearsed, monkeypatch: pytest.MonkeyPatch) -> str:
    """The tracker's address, as its Service has it: programs of the test reach it by the cluster's network."""
    monkeypatch.setenv("http_proxy", site.kubeconfig.with_name(PROXY).read_text())
    monkeypatch.setenv("no_proxy", LOOPBACK)
    return ADDRESS


def identity(site: Rehearsed, into: Path) -> Path:
    """The files that a step mounts of the Secret of who starts, and the authority of the API server's address."""
    into.mkdir()
    for key, value in secret(site, "pipelines", "pipeline-starter-token", "token").items():
        (into / key).write_bytes(value)
    (cluster,) = yaml.safe_load(site.kubeconfig.read_text(encoding="utf-8"))["clusters"]
    (into / "ca.crt").write_bytes(base64.b64decode(cluster["cluster"]["certificate-authority-data"]))
    return into


def staged(site: Rehearsed) -> str:
    """A directory of the rehearsed file system that is there, in place of what the steps before would have made."""
    jobs = site.kube.list("batch/v1", "Job", "training")
    (job,) = [each for each in jobs if each["metadata"]["name"].startswith("dataset-instructions")]
    (copy,) = [each for each in job["spec"]["template"]["spec"]["containers"] if each["name"] == "copy"]
    (path,) = [each for each in copy["args"] if each.startswith("/datasets/")]
    return str(path).removeprefix("/")


def starting(site: Rehearsed, tmp_path: Path) -> subprocess.Popen[str]:
    """The step's own program, with the job that `up` wrote and the account's own token."""
    shared, data = tmp_path / "shared", tmp_path / "shared" / staged(site)
    data.mkdir(parents=True)
    (data / "SHA256SUMS").write_text("ab  shard-0.bin\n", encoding="utf-8")
    written = site.kube.get("v1", "ConfigMap", f"run-{RUN}", "pipelines")
    assert written
    (tmp_path / "job.json").write_text(written["data"]["job.json"], encoding="utf-8")
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    mounted = site.kube.get("v1", "ConfigMap", "pipeline-scripts", "pipelines")
    assert mounted
    for name, text in mounted["data"].items():
        (scripts / name).write_text(text, encoding="utf-8")
    where = urlsplit(site.kube.server)
    environment = {
        **os.environ,
        "KUBERNETES_SERVICE_HOST": str(where.hostname),
        "KUBERNETES_SERVICE_PORT": str(where.port),
    }
    words = [
        f"--data={data}",
        f"--saves={shared / 'monday/training/saves'}",
        f"--shared={shared}",
        f"--job={tmp_path / 'job.json'}",
        f"--identity={identity(site, tmp_path / 'identity')}",
    ]
    return subprocess.Popen(
        [sys.executable, str(scripts / "starting.py"), *words],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def test_every_program_is_ready_under_the_rules_about_pods(site: Rehearsed) -> None:
    found = site.kube.list("apps/v1", "Deployment", "pipelines")
    assert len(found) == PROGRAMS
    assert {each["status"].get("readyReplicas") for each in found} == {1}
    (namespace,) = [each for each in site.kube.list("v1", "Namespace") if each["metadata"]["name"] == "pipelines"]
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"


def test_up_started_no_run_of_pipelines(site: Rehearsed) -> None:
    assert site.kube.list(JOBS, "PyTorchJob", "training") == []


def told(tracker: str) -> dict[str, Any]:
    """The one run that the tracker knows of the stack's run, with its values; empty until it has some."""
    found: list[dict[str, Any]] = []
    with suppress(urllib.error.HTTPError):
        found = [each for each in runs(tracker, RUN) if each["data"].get("metrics")]
    assert len(found) <= 1
    return found[0] if found else {}


def test_a_step_starts_the_run_with_its_own_data_and_saves_and_the_tracker_knows_it_r01(
    site: Rehearsed, tracker: str, tmp_path: Path
) -> None:
    process = starting(site, tmp_path)

    def job() -> dict[str, Any]:
        if process.poll() is not None:
            pytest.fail(f"the step ended with {process.returncode}: {process.communicate()[0]}")
        found = site.kube.list(JOBS, "PyTorchJob", "training")
        conditions = (found[0].get("status") or {}).get("conditions") or [] if found else []
        return found[0] if "Running" in {each["type"] for each in conditions} else {}

    try:
        made: dict[str, Any] = until(job, "the job to run")
        assert made["metadata"]["name"].startswith(f"{RUN}-")
        pods = [
            each
            for each in site.kube.list("v1", "Pod", "training")
            if each["metadata"]["name"].startswith(made["metadata"]["name"])
        ]
        (pod,) = pods
        assert pod["spec"]["schedulerName"] == "volcano"
        places = {each["mountPath"]: each.get("subPath") for each in pod["spec"]["containers"][0]["volumeMounts"]}
        assert (places["/data"], places["/checkpoints"]) == (staged(site), "monday/training/saves")
        assert pod["spec"]["serviceAccountName"] == RUN
        known: dict[str, Any] = until(lambda: told(tracker), "the run's first values in MLflow")
        assert steps(tracker, known, "loss")[1] == pytest.approx(loss(1))
        assert tags(known["data"])["gpucluster.stack"] == "dev"
        site.kube.delete({"apiVersion": JOBS, "kind": "PyTorchJob", "metadata": made["metadata"]})
        said, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "was deleted meanwhile; run again to create it" in said


def test_a_pipelines_model_is_registered_in_the_tracker_of_the_stack_r06(tracker: str, tmp_path: Path) -> None:
    line = Line(tmp_path / "work", documents(tmp_path / "source"), tracker, {"model": MODEL})
    code, said = line.run()
    assert code == 0, said
    assert tags(champion(line))["gpucluster.experiment"] == "sft"


def test_a_lost_database_is_back_from_the_copy_that_its_schedule_made(
    site: Rehearsed, tracker: str, tmp_path: Path
) -> None:
    line = Line(tmp_path, tmp_path, tracker, {"model": MODEL})
    known, before = told(tracker), champion(line)
    (tmp_path / "mlflow.dump").write_bytes(copied(site, TRACKER))
    scaled(site, "tracking", "Deployment", "mlflow", 0)
    lose(site, TRACKER)
    restore(site, TRACKER, tmp_path)
    scaled(site, "tracking", "Deployment", "mlflow", 1)
    after: dict[str, Any] = until(lambda: told(tracker), "MLflow to know the run again")
    assert champion(line) == before
    assert steps(tracker, after, "loss") == steps(tracker, known, "loss") != {}


def test_the_schedule_of_pipelines_database_puts_its_copy_into_the_bucket_r07(site: Rehearsed) -> None:
    """MySQL's program is simulated: it writes the last line of a copy alone."""
    assert copied(site, PIPELINES) == b"-- Dump completed\n"


def test_up_again_changes_nothing(site: Rehearsed) -> None:
    site.assert_quiet()
