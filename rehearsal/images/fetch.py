"""A shell that downloads a file with wget and checks its hash with sha256sum, as in images with BusyBox.

Source: BusyBox, networking/wget.c (`-O FILE URL`; a status other than 200 ends it with 1) and coreutils/md5_sha1_sum.c
(`-c`, its words about a file that does not match, exit status 1).
"""

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from rehearsal.images.published import NotFoundError, behind
from rehearsal.kubelet.images import unknown
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Program

SECONDS = 2.0
_SHELLS = ("sh", "/bin/sh", "ash", "/bin/ash")


@dataclass(frozen=True)
class Download:
    """What a script fetches, where to, and the hash that it wants, None if it takes anything."""

    url: str
    target: str
    sha256: str | None


def run(launch: Launch) -> Program:
    """Fetches and checks; any other command is one that nobody knows."""
    wanted = parse(launch.argv)
    if wanted is None:
        return unknown(launch)
    problem = _fetch(launch, wanted)
    if problem:
        launch.log(problem)
    return Ends(launch.now + SECONDS / TIME_SCALE, Exit(1 if problem else 0, problem or ""))


def parse(argv: Sequence[str]) -> Download | None:
    """The download in `sh -c SCRIPT [NAME ARGUMENT...]`; None if there is none. Pure."""
    words = list(argv)
    if not words or words[0] not in _SHELLS or len(words) < 3 or not words[1].startswith("-") or "c" not in words[1]:
        return None
    parts = shlex.split(words[2], comments=True)
    for index, word in enumerate(words[4:], start=1):
        parts = [part.replace(f"${index}", word) for part in parts]
    if "wget" not in parts or "-O" not in parts:
        return None
    url = next((part for part in parts if part.startswith(("https://", "http://"))), None)
    if url is None:
        return None
    target = parts[parts.index("-O") + 1]
    listed = [part.split() for part in parts if part.endswith(f"  {target}")] if "sha256sum" in parts else []
    return Download(url, target, listed[0][0] if listed else None)


def _fetch(launch: Launch, wanted: Download) -> str | None:
    """Puts the file where it is to lie; why not, in BusyBox' words."""
    try:
        file = behind(wanted.url)
    except NotFoundError as error:
        return f"wget: server returned error: {error}: {wanted.url}"
    mount = launch.mount_of(wanted.target)
    if mount is None or mount.read_only:
        return f"wget: can't open '{wanted.target}': Read-only file system"
    if wanted.sha256 is not None and hashlib.sha256(file.read_bytes()).hexdigest() != wanted.sha256:
        return f"{wanted.target}: FAILED\nsha256sum: WARNING: 1 of 1 computed checksums did NOT match"
    launch.world.contents.bring(mount.volume, mount.inside(wanted.target) or "", file)
    return None
