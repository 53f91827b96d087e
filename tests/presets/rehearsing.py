"""One whole rehearsal: up, as asked, trials with a winner where there are some, quiet, down, nothing left."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from rich.console import Console

from rehearsal import places, supervisor
from rehearsal.command import apply, removal
from rehearsal.command.meter import Meter
from rehearsal.command.session import Session, kubeconfigs, open_session
from rehearsal.engine.view import ClusterView
from rehearsal.kube.client import Kube
from tests.engine.trees import Tree
from tests.presets import stacks

TRIALS_SECONDS = 900.0
KATIB = "kubeflow.org/v1beta1"
GPU = "nvidia.com/gpu"


class RehearsalError(Exception):
    """What is not as it should be, in sentences."""


@dataclass(frozen=True)
class Rehearsed:
    """What one rehearsal came to; seconds of `up` (with all that it waits for), the second preview, and `down`."""

    name: str
    nodes: int
    gpus: int
    hosts: int
    resources: int
    ran: str
    up: float
    preview: float
    down: float
    peak_gib: float


def rehearsed(name: str, screen: Console) -> Rehearsed:
    """Rehearse a shipped stack or preset in a tree of its own. Raises RehearsalError, CommandError or EngineError."""
    with TemporaryDirectory(prefix=f"gpucluster-{name}-") as scratch, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUCLUSTER_HOME", f"{scratch}/state")
        tree, text = Tree.copy(Path(scratch) / "tree"), stacks.text(name)
        (tree.root / f"Pulumi.{name}.yaml").write_text(text, encoding="utf-8")
        directory, meter = places.site(name, tree.root), Meter()
        try:
            return _whole(open_session(name, tree.root, name, screen, meter), name, text)
        finally:
            supervisor.stop(directory.path)


def _whole(session: Session, name: str, text: str) -> Rehearsed:
    began = time.monotonic()
    outcome = apply.up(session, text)
    views, missing = apply.wait_until_running(session)
    up = time.monotonic() - began
    if missing:
        raise RehearsalError(f"{name} does not run: {'; '.join(missing)}")
    (view,) = views
    gpus, ran = _gpus(session), ", ".join([*_running(view), *_trials(session)])
    again = session.engine.preview("--expect-no-changes")
    changed = again.record.operations()
    if again.status or changed:
        raise RehearsalError(f"{name}: the second preview shows changes: {changed or again.explain()}")
    began = time.monotonic()
    removal.destroy(session)
    removal.prove_empty(session)
    session.stop()
    return Rehearsed(
        name=name,
        nodes=len(view.nodes),
        gpus=gpus,
        hosts=len(session.program.account(text).machines),
        resources=sum(outcome.record.changes.values()),
        ran=ran,
        up=up,
        preview=again.seconds,
        down=time.monotonic() - began,
        peak_gib=max(phase.peak for phase in session.meter.phases) / 2**30,
    )


def _running(view: ClusterView) -> list[str]:
    """Gangs and services of models as they run, in words."""
    gangs = [f"gang {each.name} {each.running}/{each.members}" for each in view.gangs]
    return gangs + [
        f"service {each.name} {each.ready}/{each.desired}" for each in view.services if each.namespace == "inference"
    ]


def _kube(session: Session) -> Kube:
    (path,) = kubeconfigs(session.directory).values()
    return Kube.from_kubeconfig(str(path))


def _gpus(session: Session) -> int:
    with closing(_kube(session)) as kube:
        return sum(int(each["status"]["allocatable"].get(GPU, 0)) for each in kube.list("v1", "Node"))


def _trials(session: Session) -> list[str]:
    """Each experiment with its best value, once it has ended."""
    with closing(_kube(session)) as kube:
        if f"{KATIB}/Experiment" not in kube.capabilities()[1]:
            return []
        return [_won(kube, each["metadata"]) for each in kube.list(KATIB, "Experiment")]


def _won(kube: Kube, meta: Mapping[str, Any]) -> str:
    deadline = time.monotonic() + TRIALS_SECONDS
    while True:
        status = (kube.get(KATIB, "Experiment", meta["name"], meta["namespace"]) or {}).get("status") or {}
        true = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
        if "Failed" in true or time.monotonic() > deadline:
            raise RehearsalError(f"experiment {meta['name']} has no winner: {status}")
        if "Succeeded" in true:
            best = status["currentOptimalTrial"]
            (value,) = best["parameterAssignments"]
            return f"{status['trials']} trials of {meta['name']}, best {value['name']} {float(value['value']):.1e}"
        time.sleep(1)
