"""The kubectl image: the real kubectl with the pod's service account. Only what it would download comes from here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rehearsal import places, toolchain
from rehearsal.effects.behaviours.process import FILES, RealProcess
from rehearsal.effects.program import Ends, Exit, Launch, Program
from rehearsal.toolchain import versions

# Where the training operator's CRDs are published: owner, tag and file name of the manifest.
_TRAINING_CRD = re.compile(
    r"https://raw\.githubusercontent\.com/kubeflow/(?:training-operator|trainer)/(?P<tag>[^/]+)/manifests/base/crds/"
    r"kubeflow\.org_(?P<plural>[a-z]+)\.yaml"
)
_SHELLS = ("sh", "bash", "/bin/sh", "/bin/bash")


class NotFoundError(Exception):
    """The server behind a URL has no such file (of those that rehearsal can give)."""


def run(launch: Launch) -> Program:
    """Runs `kubectl` with the container's arguments; a URL becomes the file that lies behind it."""
    argv = arguments(launch.argv)
    if argv is None:
        text = f'exec: "{launch.argv[0]}": executable file not found in $PATH'
        return Ends(launch.now, Exit(127, text, "ContainerCannotRun"))
    try:
        given = [local(word) for word in argv]
    except NotFoundError as error:
        launch.log(str(error))
        return Ends(launch.now, Exit(1, str(error)))
    cache = places.private_directory(launch.directory / FILES) / "kubectl-cache"
    return RealProcess(launch, launch.world.tools["kubectl"], [*given, f"--cache-dir={cache}"], {}, {})


def arguments(argv: Sequence[str]) -> list[str] | None:
    """The words after `kubectl`; None if the container wants a program that its image does not have.

    The image holds kubectl alone, as its entry point (source: kubernetes, build/server-image/kubectl).
    """
    words = list(argv)
    if words and words[0] in _SHELLS:
        return None
    return words[1:] if words and Path(words[0]).name == "kubectl" else words


def local(word: str) -> str:
    """A URL as the path of a file with the same content; other words as they are. Raises NotFoundError."""
    found = _TRAINING_CRD.search(word)
    if found is None:
        if word.startswith(("https://", "http://")):
            raise NotFoundError(f"error: unable to read URL {word!r}: rehearsal has nothing behind it")
        return word
    tag, plural = found["tag"], found["plural"]
    if tag == f"v{versions.TRAINING_OPERATOR}":
        for path in toolchain.crds("training-operator", report=lambda _: None):
            if path.stem.endswith(f"_{plural}"):
                return word.replace(found[0], str(path))
    raise NotFoundError(
        f"error: unable to read URL {found[0]!r}, server reported 404 Not Found, status code=404 (rehearsal has the "
        f"CRDs of v{versions.TRAINING_OPERATOR})"
    )
