"""How long a gang of every node takes to run by `up`, beside the same PyTorchJob by kubectl alone, in one rehearsal.

python -m tests.bench.gang
"""

import json
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from rehearsal.command import apply
from rehearsal.command.session import Session, kubeconfigs
from rehearsal.kube.client import Kube
from rehearsal.toolchain import ensure
from tests.presets.rehearsing import Rehearsed, rehearsed
from tests.presets.stacks import LARGE

JOB, WHERE = ("kubeflow.org/v1", "PyTorchJob"), "training"
SECONDS = 600.0


def thousands() -> tuple[Rehearsed, float, float]:
    """The rehearsal of 256 nodes; seconds that its gang took by `up`, of the run alone, and by kubectl."""
    took: list[float] = []

    def beside(session: Session, text: str) -> None:
        (config,) = kubeconfigs(session.directory).values()
        with closing(Kube.from_kubeconfig(str(config))) as kube:
            took.extend(both(session, text, kube, config))

    came = rehearsed("two-thousand", Console(quiet=True), 3600, LARGE.read_text(), beside)
    by_up, by_kubectl = took
    return came, by_up, by_kubectl


def both(session: Session, text: str, kube: Kube, config: Path) -> tuple[float, float]:
    """The job goes and comes again, first by `up` and then by kubectl."""
    (job,) = kube.list(*JOB, WHERE)
    size = sum(each["replicas"] for each in job["spec"]["pytorchReplicaSpecs"].values())
    _leave(kube)
    session.engine.refresh().require()
    by_up = _timed(kube, size, lambda: apply.up(session, text))
    _leave(kube)
    meta = {key: job["metadata"].get(key, {}) for key in ("name", "namespace", "labels", "annotations")}
    told = json.dumps({"apiVersion": JOB[0], "kind": JOB[1], "metadata": meta, "spec": job["spec"]})
    words = [str(ensure(["kubernetes"])["kubectl"]), f"--kubeconfig={config}", "create", "-f", "-"]
    quiet = partial(subprocess.run, words, input=told, text=True, check=True, timeout=60, stdout=subprocess.DEVNULL)
    by_kubectl = _timed(kube, size, quiet)
    return by_up, by_kubectl


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
    came, by_up, by_kubectl = thousands()
    print(f"{came.ran}: by up {by_up:.1f} s, by kubectl {by_kubectl:.1f} s, ratio {by_up / by_kubectl:.2f}")
