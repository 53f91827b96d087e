"""What must hold before anything is started; each failure is one sentence with the remedy."""

import importlib.util
import shutil
import sys
import tempfile
from pathlib import Path

from rehearsal import particulars, places
from rehearsal.command.errors import CommandError
from rehearsal.engine.stackfile import StackFileError, declared_secrets, find_secrets, runtime_options, stack_file
from rehearsal.metal.lacking import missing

STATE_GIB = 1.0
"""What one rehearsal writes: etcd with its log ahead, state, logs (measured: 0.4 GiB for the largest stack)."""
BLOCK = 65_536
"""Bytes written to see whether a directory takes them: a quota that is used up shows only then."""
NEEDED_MODULES = ("pulumi", "pulumi_aws", "pulumi_kubernetes", "boto3", "moto", "urllib3", "rich")


def check(root: Path, stack: str) -> None:
    """All of it, for a command that applies `stack` of the program at `root`; raises CommandError."""
    machine()
    stack_file_readable(root, stack)
    writable(places.cache(), "XDG_CACHE_HOME")
    writable(places.state(), "GPUCLUSTER_HOME")
    room(places.state(), STATE_GIB)


def machine() -> None:
    """The operating system and the Python packages."""
    if not sys.platform.startswith("linux"):
        raise CommandError(f"a rehearsal needs Linux, this is {sys.platform}: run it in a Linux VM or container.")
    missing = [name for name in NEEDED_MODULES if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(f"{sys.executable} lacks {', '.join(missing)}: install what it requires.")


def stack_file_readable(root: Path, stack: str) -> None:
    """Pulumi.yaml and the stack's file are there and are YAML of the right shape, and the program is in Python."""
    try:
        runtime_options(root)
        find_secrets(stack_file(root, stack).read_text(), declared_secrets(root))
    except StackFileError as error:
        raise CommandError(str(error)) from error


def hosts(root: Path, stack: str) -> None:
    """What a stack with racked hosts takes of this machine beside the rest; raises CommandError with what it lacks."""
    try:
        text = stack_file(root, stack).read_text()
    except StackFileError as error:
        raise CommandError(str(error)) from error
    if particulars.load(root).account(text).machines and (lack := missing()):
        raise CommandError(lack)


def writable(directory: Path, variable: str) -> None:
    """A file can be written below `directory`, which is made if missing; `variable` moves it elsewhere."""
    try:
        places.private_directory(directory)
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(BLOCK))
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommandError(
            f"{directory} cannot be written ({reason}): make it yours, or set {variable} to a directory that is."
        ) from error


def room(directory: Path, needed: float) -> None:
    """At least `needed` GiB are free on the disk of `directory`."""
    free = shutil.disk_usage(directory).free / 2**30
    if free < needed:
        raise CommandError(
            f"a rehearsal writes up to {needed:.1f} GiB below {directory}, but {free:.1f} GiB are free: free some"
            f" space, or set GPUCLUSTER_HOME to a directory on another disk."
        )
