"""The kubectl image: the real kubectl with the pod's service account. Only what it would download comes from here."""

from collections.abc import Sequence
from pathlib import Path

from rehearsal import places
from rehearsal.images import words
from rehearsal.images.published import NotFoundError, behind
from rehearsal.kubelet.process import FILES, RealProcess
from rehearsal.kubelet.program import Ends, Exit, Launch, Program, failed

_SHELLS = ("sh", "bash", "/bin/sh", "/bin/bash")


def run(launch: Launch) -> Program:
    """Runs `kubectl` with the container's arguments; a URL becomes the file that lies behind it."""
    argv = arguments(launch.argv)
    if argv is None:
        text = f'exec: "{launch.argv[0]}": executable file not found in $PATH'
        return Ends(launch.now, Exit(127, text, "ContainerCannotRun"))
    try:
        given = [local(launch, word) for word in words.kubectl(launch, argv)]
    except (NotFoundError, words.OutsideError) as error:
        return failed(launch, str(error))
    cache = places.private_directory(launch.directory / FILES) / "kubectl-cache"
    return RealProcess(launch, launch.world.tools["kubectl"], [*given, f"--cache-dir={cache}"], {}, {}, own_words=True)


def arguments(argv: Sequence[str]) -> list[str] | None:
    """The words after `kubectl`; None if the container wants a program that its image does not have.

    The image holds kubectl alone, as its entry point (source: kubernetes, build/server-image/kubectl).
    """
    given = list(argv)
    if given and given[0] in _SHELLS:
        return None
    return given[1:] if given and Path(given[0]).name == "kubectl" else given


def local(launch: Launch, word: str) -> str:
    """A URL, or a file that another container brought, as a path with the same content; other words as they are.

    Raises NotFoundError.
    """
    if word.startswith(("https://", "http://")):
        try:
            return str(behind(word))
        except NotFoundError as error:
            raise NotFoundError(f"error: unable to read URL {word!r}, {error}") from None
    mount = launch.mount_of(word) if word.startswith("/") else None
    file = launch.world.contents.real(mount.volume, mount.inside(word) or "") if mount else None
    return str(file) if file else word
