"""The AWS CLI image: `aws s3 sync|cp` between S3 and a mounted volume, and `aws s3 ls`, if the pod's identity may.

Error texts are those the AWS CLI prints. An empty prefix is no error to `sync`; `ls` prints nothing and exits with 1
(AWS CLI command reference, `s3 ls`, and its source: `ListCommand` returns 1 where a key prefix matches nothing).
"""

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rehearsal.images import awscli, identity, objects
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Program

REPOSITORY = r"(.*/)?(aws-cli|awscli)(/.*)?"
START_SECONDS = 5.0
Uploads = Callable[[Launch], list[str]]
"""Does what a command line uploads; a line of the log for each. May raise CommandError and CredentialsError."""


@dataclass(frozen=True)
class Copy:
    """One download: bucket, prefix (without a leading slash) and the directory it goes to.

    A listing of a directory asks with the slash behind it, whether it was typed or not (awscli,
    customizations/s3/fileformat.py, s3_format).
    """

    bucket: str
    prefix: str
    target: str


def run(launch: Launch, uploads: Uploads = lambda _: []) -> Program:
    """Does what the container's command says, at once; the process ends a moment later.

    What it uploads depends on what a program's containers have written, so it is a program's own to say.
    """
    try:
        for address in listings(launch.argv):
            _look(launch, address)
        lines = [_download(launch, copy) for copy in downloads(launch.argv)]
        lines += uploads(launch)
        result = Exit(0, "")
    except (awscli.CommandError, identity.CredentialsError) as error:
        lines, result = [str(error)], Exit(1, str(error))
    launch.log("\n".join(lines))
    return Ends(launch.now + START_SECONDS / TIME_SCALE, result)


@dataclass(frozen=True)
class Listing:
    """One `ls`, and what the script says itself where nothing is found (`|| { echo '...'; exit 1; }`)."""

    bucket: str
    prefix: str
    otherwise: str


def listings(argv: Sequence[str]) -> list[Listing]:
    """The `aws s3 ls s3://...` in a command line. Pure."""
    said = re.search(r"\|\|\s*\{?\s*echo\s+(.+?)\s*>&2", awscli.script(argv))
    otherwise = " ".join(awscli.split(said[1])) if said else ""
    found = []
    for words in awscli.commands(argv):
        target = next((word for word in words if word.startswith("s3://")), None)
        if target is not None and ["s3", "ls"] in (words[at : at + 2] for at in range(len(words))):
            bucket, _, prefix = target.removeprefix("s3://").partition("/")
            found.append(Listing(bucket, prefix, otherwise))
    return found


def _look(launch: Launch, listing: Listing) -> None:
    if not objects.reached(launch).listed(listing.bucket, listing.prefix):
        raise awscli.CommandError(listing.otherwise)


def downloads(argv: Sequence[str]) -> list[Copy]:
    """The downloads in a command line, which may be a shell script of several commands. Pure."""
    found = []
    for words in awscli.commands(argv):
        for index in range(len(words) - 1):
            if words[index : index + 2] in (["s3", "sync"], ["s3", "cp"]):
                places = awscli.positional(words[index + 2 :])
                if len(places) >= 2 and places[0].startswith("s3://"):
                    bucket, _, path = places[0].removeprefix("s3://").partition("/")
                    whole = words[index + 1] == "sync" or "--recursive" in words
                    prefix = f"{path.rstrip('/')}/" if path and whole else path
                    found.append(Copy(bucket, prefix, places[1]))
    return found


def _download(launch: Launch, copy: Copy) -> str:
    reached = objects.reached(launch)
    names = reached.listed(copy.bucket, copy.prefix)
    if not names:
        return f"nothing lies under s3://{copy.bucket}/{copy.prefix}: nothing is copied, which is no error"
    sizes = reached.read(copy.bucket, names, copy.target)
    mount = launch.mount_of(copy.target)
    if mount is None:
        return f"copied into {copy.target}, which is on no volume: it is gone with the container"
    if mount.read_only:
        raise awscli.CommandError(f"[Errno 30] Read-only file system: '{copy.target}'")
    root = copy.prefix.rstrip("/")
    files = {
        posixpath.join(mount.inside(copy.target) or "", name[len(root) :].lstrip("/")): size
        for name, size in sizes.items()
    }
    launch.world.contents.add(mount.volume, files)
    return f"download: s3://{copy.bucket}/{copy.prefix} to {copy.target}: {len(files)} objects"
