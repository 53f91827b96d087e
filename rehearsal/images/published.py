"""Files at addresses of the Internet: what a container that downloads gets, of the few that rehearsal can give."""

from __future__ import annotations

import re
from pathlib import Path

from rehearsal.toolchain import versions
from rehearsal.toolchain.manifests import manifest

# Where the training operator's manifests are published: tag and path.
_TRAINING = re.compile(
    r"https://raw\.githubusercontent\.com/kubeflow/(?:training-operator|trainer)/(?P<tag>[^/]+)/(?P<path>manifests/.+)"
)


class NotFoundError(Exception):
    """The server behind a URL has no such file (of those that rehearsal can give); the text says which it has."""


def behind(url: str) -> Path:
    """The file at an address, byte by byte the vendor's. Raises NotFoundError."""
    found = _TRAINING.fullmatch(url)
    if found is None:
        raise NotFoundError("rehearsal has nothing behind it")
    if found["tag"] == f"v{versions.TRAINING_OPERATOR}":
        try:
            return manifest("training", found["path"])
        except FileNotFoundError:
            raise NotFoundError("404 Not Found") from None
    raise NotFoundError(f"404 Not Found (rehearsal has the files of v{versions.TRAINING_OPERATOR})")
