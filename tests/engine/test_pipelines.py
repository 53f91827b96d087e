"""Kubeflow Pipelines of a rehearsed stack: their objects before the real API server and its rules about pods, and the
job that a step starts, under the real training operator and Volcano (R01). Their own programs do nothing here.
"""

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from .rehearsed import Rehearsed, rehearsed, until
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

RUN, PROGRAMS = "llama-3-8b-sft", 7
JOBS = "kubeflow.org/v1"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """The dev stack without services, whose run is started by pipelines."""
    directory = tmp_path_factory.mktemp("pipelines")
    tree = Tree.copy(directory / "tree")
    stack = tree.stack("dev")
    for path, value in {
        "training.runs[0].nodes": 1,
        "training.tracking": {"kind": "mlflow"},
        "training.pipelines": {"runs": [RUN]},
        "budget.maxHourlyUsd": 900,
    }.items():
        stack.set(f"gpucluster:{path}", value)
    with rehearsed("pipelines", tree, directory / "state") as found:
        found.up().require()
        yield found


def secret(site: Rehearsed, name: str) -> dict[str, bytes]:
    """What Kubernetes put into a Secret, once it did."""

    def data() -> dict[str, str]:
        return dict((site.kube.get("v1", "Secret", name, "pipelines") or {}).get("data") or {})

    found: dict[str, str] = until(lambda: data() if "token" in data() else {}, f"Kubernetes to fill {name}")
    return {key: base64.b64decode(value) for key, value in found.items()}


def identity(site: Rehearsed, into: Path) -> Path:
    """The files that a step mounts of the Secret of who starts, and the authority of the API server's address."""
    into.mkdir()
    for key, value in secret(site, "pipeline-starter-token").items():
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


def test_a_step_starts_the_run_with_its_own_data_and_saves_r01(site: Rehearsed, tmp_path: Path) -> None:
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
        site.kube.delete({"apiVersion": JOBS, "kind": "PyTorchJob", "metadata": made["metadata"]})
        said, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "was removed by somebody; run again to make it anew" in said


def test_up_again_changes_nothing(site: Rehearsed) -> None:
    site.assert_quiet()
