"""One whole rehearsal: up, as asked, trials with a winner where there are some, quiet, down, nothing left."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from rich.console import Console

from rehearsal import places, sites
from rehearsal.command import apply, removal
from rehearsal.command.contents import kubeconfigs
from rehearsal.command.errors import CommandError
from rehearsal.command.meter import Meter
from rehearsal.command.session import Session, open_session
from rehearsal.engine.run import EngineError
from rehearsal.engine.view import ClusterView
from rehearsal.kube.client import Kube
from tests.engine.trees import Tree
from tests.presets import stacks

TRIALS_SECONDS = 900.0
KATIB = "kubeflow.org/v1beta1"
GPU = "nvidia.com/gpu"


class OverTimeError(EngineError):
    """The time of one rehearsal is over; its engine is ended at once."""


@dataclass(frozen=True)
class Rehearsed:
    """What one rehearsal came to; seconds of `up` (with all that it waits for), the second preview, and `down`: None of
    what it did not come to.
    """

    name: str
    nodes: int
    gpus: int
    hosts: int
    resources: int
    ran: str
    up: float
    peak_gib: float
    preview: float | None = None
    down: float | None = None


class RehearsalError(Exception):
    """What is not as it should be, in sentences, and how far the rehearsal had come: None if not through `up`."""

    def __init__(self, text: str, came: Rehearsed | None = None) -> None:
        super().__init__(text)
        self.came = came


def rehearsed(
    name: str, screen: Console, within: float, own: str = "", beside: Callable[[Session, str], None] | None = None
) -> Rehearsed:
    """Rehearse a shipped stack or preset, or the stack file `own`, in a tree of its own, in so many seconds; `beside`
    is done with the session and the stack file while it is up. Raises RehearsalError.
    """
    with TemporaryDirectory(prefix=f"gpucluster-{name}-") as scratch, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUCLUSTER_HOME", f"{scratch}/state")
        tree, text = Tree.copy(Path(scratch) / "tree"), own or stacks.text(name)
        (tree.root / f"Pulumi.{name}.yaml").write_text(text, encoding="utf-8")
        directory, meter = places.site(name, tree.root), Meter()
        try:
            with _ended_after(within):
                return _whole(open_session(name, tree.root, name, screen, meter), name, text, beside)
        except (CommandError, EngineError) as error:
            raise RehearsalError(str(error)) from error
        finally:
            sites.stop(directory.path)


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """Raises OverTimeError in what runs inside, once the time is over; in the main thread, where signals come."""

    def over(*_: object) -> None:
        raise OverTimeError(f"not to its end within {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _whole(session: Session, name: str, text: str, beside: Callable[[Session, str], None] | None) -> Rehearsed:
    came = _up(session, name, text)
    try:
        if beside is not None:
            beside(session, text)
        came = replace(came, ran=", ".join(filter(None, (came.ran, *_trials(session)))))
        came = replace(came, preview=_previewed(session, name))
        came = replace(came, down=_down(session))
    except (RehearsalError, CommandError, EngineError) as error:
        raise RehearsalError(str(error), _peaked(came, session)) from error
    return _peaked(came, session)


def _peaked(came: Rehearsed, session: Session) -> Rehearsed:
    return replace(came, peak_gib=max(phase.peak for phase in session.meter.phases) / 2**30)


def _up(session: Session, name: str, text: str) -> Rehearsed:
    began = time.monotonic()
    outcome = apply.up(session, text)
    views, missing = apply.wait_until_running(session)
    up = time.monotonic() - began
    if missing:
        raise RehearsalError(f"{name} does not run: {'; '.join(missing)}")
    (view,) = views
    return Rehearsed(
        name=name,
        nodes=len(view.nodes),
        gpus=_gpus(session),
        hosts=len(session.program.account(text).machines),
        resources=sum(outcome.record.changes.values()),
        ran=", ".join(_running(view)),
        up=up,
        peak_gib=0,
    )


def _previewed(session: Session, name: str) -> float:
    """Seconds of a preview that has nothing to do."""
    again = session.engine.preview("--expect-no-changes")
    changed = again.record.operations()
    if again.status or changed:
        raise RehearsalError(f"{name}: the second preview shows changes: {changed or again.explain()}")
    return again.seconds


def _down(session: Session) -> float:
    """Seconds until nothing is left."""
    began = time.monotonic()
    removal.destroy(session)
    removal.prove_empty(session)
    session.stop()
    return time.monotonic() - began


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
