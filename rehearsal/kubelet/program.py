"""What a container's process does while it runs: the interface between the kubelet and the images' behaviours."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from rehearsal.kubelet.world import World

# Seconds of life per second of rehearsal, for everything a kubelet times with simulated programs: start-up, probes,
# restart back-off. One scale for all, so a start-up budget that is too short in life is too short here.
TIME_SCALE = 20.0
VOLUMES = "volumes"
"""Where in a pod's directory those volumes of real processes lie that go with the pod."""


@dataclass(frozen=True)
class Exit:
    """How a process ended. `message` is what `kubectl describe` shows (the last lines of its log)."""

    code: int
    message: str = ""
    reason: str = ""


class LaunchError(Exception):
    """The container runtime could not start the process (reason as kubelet reports it, "RunContainerError")."""


@dataclass(frozen=True)
class Mount:
    """One mount of a container. `volume` is the key of its contents; `files` are those of a ConfigMap or Secret."""

    path: str
    volume: str
    sub_path: str = ""
    source: str = ""
    name: str = ""
    read_only: bool = False

    def inside(self, path: str) -> str | None:
        """A container path as a path on the volume; None if it is not under this mount."""
        clean, root = posixpath.normpath(path), posixpath.normpath(self.path)
        if clean != root and not clean.startswith(root.rstrip("/") + "/"):
            return None
        return posixpath.join(self.sub_path, clean[len(root) :].lstrip("/"))


@dataclass(frozen=True)
class Launch:
    """A container about to run: everything its process can see.

    `argv` is command and args with `$(VAR)` replaced; `directory` is private to this container; `wake` makes the
    kubelet look again at once; `ip` is the pod's address.
    """

    world: World
    pod: Mapping[str, Any]
    spec: Mapping[str, Any]
    node: str
    command: Sequence[str]
    args: Sequence[str]
    env: Mapping[str, str]
    mounts: Sequence[Mount]
    directory: Path
    wake: Callable[[], None]
    now: float
    ip: str = ""

    @property
    def argv(self) -> list[str]:
        return [*self.command, *self.args]

    @property
    def namespace(self) -> str:
        return str(self.pod["metadata"]["namespace"])

    @property
    def pod_name(self) -> str:
        return str(self.pod["metadata"]["name"])

    @property
    def service_account(self) -> str:
        return str(self.pod["spec"].get("serviceAccountName") or "default")

    def mount_of(self, path: str) -> Mount | None:
        """The innermost mount that holds a container path."""
        holding = [mount for mount in self.mounts if mount.inside(path) is not None]
        return max(holding, key=lambda mount: len(mount.path), default=None)

    def limit(self, resource: str) -> int:
        """A device limit of the container, 0 without one."""
        return int((self.spec.get("resources") or {}).get("limits", {}).get(resource, 0))

    def log(self, text: str) -> None:
        """A line in the container's log."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / "log").open("a") as file:
            file.write(text.rstrip("\n") + "\n")


class Program:
    """A process that runs without end, listens everywhere and answers every probe: an image nobody knows.

    All times are `time.monotonic()` seconds.
    """

    time_scale = TIME_SCALE

    def exited(self, now: float) -> Exit | None:  # noqa: ARG002 - the interface
        """How it ended; None while it runs."""
        return None

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:  # noqa: ARG002
        """Why a probe (`httpGet`, `tcpSocket`, `exec`, `grpc`; `port` resolved) fails; None if it succeeds."""
        return None

    def listens(self, port: int, now: float) -> bool:  # noqa: ARG002
        """Whether something accepts connections on a container port."""
        return True

    def next_change(self, now: float) -> float | None:  # noqa: ARG002
        """When any of the answers above may change by itself; None if never (or if `wake` will tell)."""
        return None

    def struck(self, kind: str) -> Exit | None:  # noqa: ARG002
        """How a failure of its machine or of a GPU that it holds (`faults.KINDS`) ends it; None if it runs on."""
        return None

    def leaves(self) -> bool:
        """The pod is to go and the process is asked to end (SIGTERM), or was before: whether it has. What is simulated
        ends at once.
        """
        return True

    def stop(self) -> None:
        """The kubelet stops the container: what the process did on its node goes with it."""

    def close(self) -> None:
        """The rehearsal ends: give back what this process holds here, leave the cluster as it is."""


class Local(Program):
    """A process that leaves nothing in the cluster: whether it is stopped or the rehearsal ends is one to it."""

    def close(self) -> None:
        self.stop()


class Deaf(Program):
    """A process that serves nothing."""

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:  # noqa: ARG002
        return None if probe.get("exec") else f"dial tcp :{port}: connect: connection refused"

    def listens(self, port: int, now: float) -> bool:  # noqa: ARG002
        return False


class Ends(Deaf):
    """A process that ends by itself at a given time, and never comes to serve anything."""

    def __init__(self, at: float, result: Exit) -> None:
        self._at, self._result = at, result

    def exited(self, now: float) -> Exit | None:
        return self._result if now >= self._at else None

    def next_change(self, now: float) -> float | None:
        return self._at if now < self._at else None


def failed(launch: Launch, text: str, code: int = 1) -> Program:
    """A process that ends at once, with this in its log."""
    launch.log(text)
    return Ends(launch.now, Exit(code, text))


@runtime_checkable
class HasFiles(Protocol):
    """A program whose mounted ConfigMaps and Secrets are real files."""

    def refresh_files(self) -> None: ...
