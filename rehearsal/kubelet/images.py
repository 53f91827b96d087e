"""Which behaviour an image has: rows from image and container names to what the process does.

The kubelet knows no image itself: whoever makes its world brings the rows, and says which images no registry has. Any
other image that nobody knows runs and answers every probe; as the work of a Job or as an init container it ends well.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehearsal.kubelet.environment import words
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, LaunchError, Program
from rehearsal.kubelet.pulling import PullError
from rehearsal.toolchain import BuildError

Start = Callable[[Launch], Program]
Absent = Callable[[Mapping[str, Any], str], bool]
"""Whether no registry has an image that a pod names."""
_JOB_SECONDS = 10.0
# Source: distribution/reference (the grammar of image names), without the rarely used IPv6 registries.
_REFERENCE = re.compile(
    r"^(?:(?:[a-zA-Z0-9.-]+(?::\d+)?)/)?[a-z0-9]+(?:(?:[._]|__|-+|/)[a-z0-9]+)*"
    r"(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$"
)


class ImageError(Exception):
    """The image reference cannot be parsed."""


@dataclass(frozen=True)
class Row:
    """An image repository (a regular expression on all of it) and perhaps a container's name, or the program that its
    command starts, whatever the image is called.

    `port` tells the one port on which the process accepts from its command line; None: on any, nothing is known. One
    that is `configured` has its ports from a file: nobody but the process reads it, and its container declares them.
    `complaint` is what is wrong, by its pod and itself, with a container that runs all the same.
    """

    repository: str
    start: Start
    container: str = ".*"
    command: str | None = None
    port: Callable[[Sequence[str]], int] | None = None
    configured: bool = False
    complaint: Callable[[Mapping[str, Any], Mapping[str, Any]], str | None] | None = None


class Images:
    """The images whose behaviour is known. The first row that fits counts."""

    def __init__(self, rows: Iterable[Row] = (), absent: Absent | None = None) -> None:
        self._rows, self._absent = tuple(rows), absent

    def start(self, launch: Launch) -> Program:
        """The process of a container. Raises ImageError, LaunchError, PullError."""
        reference = str(launch.spec["image"])
        if not _REFERENCE.match(reference):
            raise ImageError(f'Failed to apply default image tag "{reference}": couldn\'t parse image name')
        if self._absent is not None and self._absent(launch.pod, reference):
            raise PullError(reference)
        row = self.find(reference, str(launch.spec["name"]), launch.command)
        try:
            return row.start(launch) if row else unknown(launch)
        except BuildError as error:
            raise LaunchError(str(error)) from error

    def find(self, reference: str, container: str, command: Sequence[str] = ()) -> Row | None:
        """The first row that knows the image, or the program in it that is started; None if none does."""
        name, program = repository(reference), posixpath.basename(command[0]) if command else None
        for row in self._rows:
            if row.command is not None and row.command != program:
                continue
            if re.fullmatch(row.repository, name) and re.fullmatch(row.container, container):
                return row
        return None

    def _of(self, container: Mapping[str, Any]) -> Row | None:
        return self.find(str(container["image"]), str(container["name"]), container.get("command") or ())

    def listens(self, pod: Mapping[str, Any] | None, port: int) -> bool:
        """Whether one of a pod's containers accepts on a port, as far as its image and command line tell."""
        return pod is not None and any(self._serves(each, port) for each in pod["spec"]["containers"])

    def unplayed(self, pods: Iterable[Mapping[str, Any]]) -> list[str]:
        """Repositories of running pods of which nothing is known: their containers run and answer, and do no more."""
        every = (each for _, each in _running(pods))
        return sorted({repository(each["image"]) for each in every if not self._of(each)})

    def complaints(self, pods: Iterable[Mapping[str, Any]]) -> list[str]:
        """What is wrong with running pods although nothing in them ends, each sentence once."""
        found = (row.complaint(pod, each) for pod, each in _running(pods) if (row := self._of(each)) and row.complaint)
        return list(dict.fromkeys(filter(None, found)))

    def _serves(self, container: Mapping[str, Any], port: int) -> bool:
        row = self._of(container)
        if row is not None and row.configured:
            return port in [each.get("containerPort") for each in container.get("ports") or []]
        if row is None or row.port is None:
            return True
        env = {each["name"]: str(each.get("value") or "") for each in container.get("env") or []}
        return row.port(words([*(container.get("command") or []), *(container.get("args") or [])], env)) == port


def _running(pods: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each container of the pods that run, with its pod."""
    for pod in pods:
        if (pod.get("status") or {}).get("phase") == "Running":
            yield from ((pod, each) for each in pod["spec"]["containers"])


def repository(reference: str) -> str:
    """An image reference without tag and digest."""
    name = reference.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return head + slash + last.partition(":")[0]


def unknown(launch: Launch) -> Program:
    """An image nobody knows: a service stays, an init container or a Job's work ends."""
    owners = launch.pod["metadata"].get("ownerReferences") or []
    inits = [each["name"] for each in launch.pod["spec"].get("initContainers") or [] if not each.get("restartPolicy")]
    if launch.spec["name"] in inits:
        return Ends(launch.now, Exit(0))
    if any(owner["kind"] == "Job" for owner in owners):
        return Ends(launch.now + _JOB_SECONDS / TIME_SCALE, Exit(0))
    return Program()
