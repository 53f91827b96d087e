"""One container of a pod as the kubelet runs it: started, probed, restarted with back-off, ended.

Probes are judged by time, not by counting ticks: a container fails its start-up probe when it has not succeeded within
`initialDelaySeconds + failureThreshold x periodSeconds`, and its liveness probe when it has failed for
`failureThreshold x periodSeconds` on end (source: Kubernetes' "Configure Liveness, Readiness and Startup Probes").
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rehearsal.kubelet.nodeobject import now as stamp
from rehearsal.kubelet.probes import Object, Probing, resolve_port
from rehearsal.kubelet.program import TIME_SCALE, Exit, Program

Phase = Literal["waiting", "running", "terminated"]

RUNTIME_REASONS = ("StartError", "ContainerCannotRun")
BACKOFF_FIRST, BACKOFF_MOST, BACKOFF_RESET = 10.0, 300.0, 600.0
LOOK_AGAIN = 0.25


@dataclass
class Note:
    """Something to tell: an Event of the pod."""

    kind: str
    reason: str
    message: str


@dataclass
class Container:
    """The state of one container. All times are monotonic seconds; `restarts` counts as kubectl shows it.

    `beside` gives the programs of the pod's running containers, this one's among them.
    """

    spec: Object
    role: Literal["init", "sidecar", "main"]
    phase: Phase = "waiting"
    reason: str = "ContainerCreating"
    message: str = ""
    restarts: int = 0
    program: Program | None = None
    begun: float = 0.0
    started_at: str = ""
    finished_at: str = ""
    exit: Exit | None = None
    last: dict[str, Any] | None = None
    ready: bool = False
    started: bool = False
    backoff: float = 0.0
    restart_at: float | None = None
    notes: list[Note] = field(default_factory=list)
    beside: Callable[[], Iterable[Program]] = tuple
    _probes: dict[str, Probing] = field(default_factory=dict)
    _runs: int = 0

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def number(self) -> int:
        """How many times it was started before: names the directory of a run."""
        return self._runs

    def wait(self, reason: str, message: str = "") -> None:
        """It cannot be started yet."""
        if (self.reason, self.message) != (reason, message) and reason != "ContainerCreating" and message:
            self.notes.append(Note("Warning", "Failed", f"Error: {message}"))
        self.phase, self.reason, self.message = "waiting", reason, message

    def begin(self, program: Program, now: float) -> None:
        """The process runs."""
        if self.last is not None or self.exit is not None:
            self.restarts += 1
        self.phase, self.program, self.begun, self.started_at = "running", program, now, stamp()
        self.exit, self.restart_at, self.reason, self.message = None, None, "", ""
        self._runs += 1
        names = ("startupProbe", "readinessProbe", "livenessProbe")
        self._probes = {name: Probing(self.spec[name]) for name in names if self.spec.get(name)}
        self.started = "startupProbe" not in self._probes
        self.ready = self.started and "readinessProbe" not in self._probes
        self.notes.append(Note("Normal", "Started", f"Container started: {self.name}"))

    def look(self, now: float) -> float | None:
        """Observes the running process; monotonic time of the next look, None if nothing changes by itself."""
        if self.phase != "running" or self.program is None:
            return self.restart_at
        ended = self.program.exited(now)
        if ended is not None:
            self.end(ended, now)
            return self.restart_at
        wakes = [self.program.next_change(now)]
        if self._probes:
            wakes.append(self._probe(self.program, now))
        return min((wake for wake in wakes if wake is not None), default=None)

    def _probe(self, program: Program, now: float) -> float | None:
        kind = "livenessProbe" if self.started else "startupProbe"
        doom = self._ask(program, self._probes[kind], kind, now) if kind in self._probes else None
        if kind == "startupProbe" and self._probes[kind].passed:
            self.started = True
            return now
        if doom is not None and now >= doom:
            name = kind.removesuffix("Probe")
            text = f"Container {self.name} failed {name} probe, will be restarted"
            self.notes.append(Note("Normal", "Killing", text))
            program.stop()
            self.end(Exit(137, reason="Error"), now)
            return self.restart_at
        if self.started and (readiness := self._probes.get("readinessProbe")):
            self._ask(program, readiness, "readinessProbe", now)
            self.ready = readiness.passed
        else:
            self.ready = self.started
        polls = None if program.time_scale > 1 else now + (LOOK_AGAIN if not self.ready else 20 * LOOK_AGAIN)
        return min((at for at in (doom, polls) if at is not None), default=None)

    def _ask(self, program: Program, probe: Probing, kind: str, now: float) -> float | None:
        """Asks once; when the probe's patience ends if the answer stays the same, None while it succeeds."""
        scale = program.time_scale
        port = resolve_port(probe.spec, self.spec)
        why = self._asked(program, port, now).refuses(probe.spec, port, now)
        probe.passed = why is None
        if why is None:
            probe.failing_since, probe.why = None, ""
            return None
        if probe.failing_since is None:
            probe.failing_since = now
        if why != probe.why:
            probe.why = why
            verb = kind.removesuffix("Probe").capitalize()
            self.notes.append(Note("Warning", "Unhealthy", f"{verb} probe failed: {why}"))
        if kind == "readinessProbe":
            return None
        since = self.begun if kind == "startupProbe" else max(probe.failing_since, self.begun + probe.delay / scale)
        return since + (probe.budget + (probe.delay if kind == "startupProbe" else 0.0)) / scale

    def _asked(self, program: Program, port: int | None, now: float) -> Program:
        """Whose answer a probe gets: a kubelet asks the pod's address, where another container may listen.

        Source: Kubernetes, "Configure Liveness, Readiness and Startup Probes": `host` is the pod's IP by default.
        """
        if port is None or program.listens(port, now):
            return program
        others = (each for each in self.beside() if type(each).listens is not Program.listens)
        return next((each for each in others if each.listens(port, now)), program)

    def end(self, ended: Exit, now: float) -> None:
        """The process is gone. A later restart waits 10 s of life, twice as long each time, at most five minutes."""
        if now - self.begun > BACKOFF_RESET / TIME_SCALE:
            self.backoff = 0.0
        self.phase, self.exit, self.finished_at = "terminated", ended, stamp()
        self.reason = ended.reason or ("Completed" if ended.code == 0 else "Error")
        self.message, self.ready, self.started, self.program = self._last_words(ended), False, False, None
        self.restart_at = now + self.backoff / TIME_SCALE
        self.backoff = min(BACKOFF_MOST, self.backoff * 2 or BACKOFF_FIRST)

    def lose_machine(self, now: float) -> None:
        """The machine started anew under it: containerd tells exit code 255 of a container that it finds no more."""
        if self.phase == "running":
            self.stop()
            self.end(Exit(255, reason="Unknown"), now)

    def _last_words(self, ended: Exit) -> str:
        """The end of the log only if the container asks for it, or nobody reads it in the pod's status.

        Source: Kubernetes, "Determine the reason for pod failure". What the runtime says itself is always there.
        """
        asked = self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError" and ended.code != 0
        return ended.message if asked or ended.reason in RUNTIME_REASONS else ""

    def crash_loop(self) -> None:
        """Waiting for its restart: what was its state becomes its last state."""
        if self.phase != "terminated":
            return
        self.last = self.state()
        self.phase = "waiting"
        self.reason = "CrashLoopBackOff"
        self.message = f"back-off restarting failed container {self.name}"
        self.notes.append(Note("Warning", "BackOff", f"Back-off restarting failed container {self.name}"))

    def restart(self) -> None:
        """Due again: what was its state becomes its last state."""
        if self.phase == "terminated":
            self.last = self.state()

    def succeeded(self) -> bool:
        return self.phase == "terminated" and self.exit is not None and self.exit.code == 0

    def stop(self) -> None:
        """The pod goes away."""
        if self.program is not None:
            self.program.stop()
            self.program = None

    def close(self) -> None:
        """The rehearsal ends."""
        if self.program is not None:
            self.program.close()
            self.program = None

    def state(self) -> dict[str, Any]:
        """`state` of a container status."""
        identity = f"containerd://{hashlib.sha256(f'{id(self)} {self._runs}'.encode()).hexdigest()}"
        if self.phase == "running":
            return {"running": {"startedAt": self.started_at}}
        if self.phase == "terminated":
            details = {
                "exitCode": self.exit.code if self.exit else 0,
                "reason": self.reason,
                "message": self.message,
                "startedAt": self.started_at,
                "finishedAt": self.finished_at,
                "containerID": identity,
            }
            return {"terminated": {key: value for key, value in details.items() if value != ""}}
        return {"waiting": {"reason": self.reason, **({"message": self.message} if self.message else {})}}

    def status(self) -> dict[str, Any]:
        """The container's status as the API shows it."""
        image = str(self.spec["image"])
        result = {
            "name": self.name,
            "image": image,
            "imageID": f"{image.partition('@')[0]}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"
            if self._runs
            else "",
            "ready": self.succeeded() if self.role == "init" else self.ready,
            "started": self.started if self.phase == "running" else False,
            "restartCount": self.restarts,
            "state": self.state(),
        }
        return {**result, "lastState": self.last or {}}


HEARD_SECONDS = 3.0
"""In which proxies hear that a pod leaves: they are real programs, and no faster (Traefik, providersThrottleDuration is
two seconds)."""


def slept(spec: Mapping[str, Any]) -> float:
    """Seconds of the clock that a container's hook sleeps before its process is asked to end; 0 for another hook. Pure.

    Source: Kubernetes, "Container Lifecycle Hooks" (`sleep`); the endpoints of the pod are gone meanwhile.
    """
    hook = (spec.get("lifecycle") or {}).get("preStop") or {}
    seconds = float((hook.get("sleep") or {}).get("seconds") or 0)
    return max(seconds / TIME_SCALE, min(seconds, HEARD_SECONDS))
