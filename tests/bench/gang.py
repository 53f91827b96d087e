"""How long a gang of every node takes to run by `up`, beside the same PyTorchJob by kubectl alone, in one rehearsal.

kubectl shows nothing before it makes the job, so `up` is told not to either (--skip-preview, which `make up` passes
after the preview that it printed); the preview has seconds of its own.

python -m tests.bench.gang
"""

import json
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from rehearsal.command.contents import kubeconfigs
from rehearsal.command.session import Session
from rehearsal.kube.client import Kube
from rehearsal.toolchain import ensure
from tests.presets.rehearsing import Rehearsed, rehearsed
from tests.presets.stacks import LARGE

JOB, WHERE = ("kubeflow.org/v1", "PyTorchJob"), "training"
SECONDS = 600.0


@dataclass(frozen=True)
class Took:
    """Seconds until the gang ran, by `up` of nothing but its run and by kubectl, and those of a preview of the same."""

    up: float
    kubectl: float
    preview: float


def thousands() -> tuple[Rehearsed, Took]:
    """The rehearsal of 256 nodes, and what its gang took there."""
    took: list[Took] = []

    def beside(session: Session, _: str) -> None:
        (config,) = kubeconfigs(session.directory).values()
        with closing(Kube.from_kubeconfig(str(config))) as kube:
            took.append(both(session, kube, config))

    came = rehearsed("two-thousand", Console(quiet=True), 3600, LARGE.read_text(), beside)
    return came, took[0]


def both(session: Session, kube: Kube, config: Path) -> Took:
    """The job goes and comes again, first by `up` and then by kubectl."""
    (job,) = kube.list(*JOB, WHERE)
    size = sum(each["replicas"] for each in job["spec"]["pytorchReplicaSpecs"].values())
    _leave(kube)
    session.engine.refresh().require()
    previewed = session.engine.preview().require()
    by_up = _timed(kube, size, lambda: session.engine.up().require())
    _leave(kube)
    meta = {key: job["metadata"].get(key, {}) for key in ("name", "namespace", "labels", "annotations")}
    told = json.dumps({"apiVersion": JOB[0], "kind": JOB[1], "metadata": meta, "spec": job["spec"]})
    words = [str(ensure(["kubernetes"])["kubectl"]), f"--kubeconfig={config}", "create", "-f", "-"]
    quiet = partial(subprocess.run, words, input=told, text=True, check=True, timeout=60, stdout=subprocess.DEVNULL)
    by_kubectl = _timed(kube, size, quiet)
    return Took(by_up, by_kubectl, previewed.seconds)


def _timed(kube: Kube, size: int, make: Callable[[], object]) -> float:
    """Seconds until so many pods run."""
    began = time.monotonic()
    make()
    _until(lambda: sum(each["status"].get("phase") == "Running" for each in _pods(kube)) == size)
    return time.monotonic() - began


def _leave(kube: Kube) -> None:
    """The job and its pods go."""
    for each in kube.list(*JOB, WHERE):
        kube.delete(each)
    _until(lambda: not kube.list(*JOB, WHERE) and not _pods(kube))


def _pods(kube: Kube) -> list[dict[str, Any]]:
    return kube.list("v1", "Pod", WHERE, label_selector="training.kubeflow.org/job-name")


def _until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise SystemExit(f"the gang does not come or go within {SECONDS:.0f} s")
        time.sleep(0.5)


if __name__ == "__main__":
    came, took = thousands()
    print(f"{came.ran}: {took}, ratio {took.up / took.kubectl:.2f}")
