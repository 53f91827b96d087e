"""exportfs(8) of an NFS server, and mount.nfs(8) of a client.

Words and statuses: nfs-utils, utils/exportfs/exportfs.c ("exportfs: Failed to stat %s: No such file or directory", 1),
support/nfs/exports.c (a line without a client; an option that there is not). The server's unit exports when it starts.
"""

import json
import os
import pathlib
import re

from rehearsal.metal.tools.machine import absent, ask, called, complain, version

FILES = pathlib.Path("/etc/exports.d")
KNOWN = {"rw", "ro", "sync", "async", "no_subtree_check", "root_squash", "no_root_squash", "all_squash"}
VALUED = {"anonuid", "anongid", "fsid", "mp"}


def main(name: str, words: list[str]) -> int:
    """`exportfs -ra`."""
    if not version("nfs-kernel-server"):
        return absent(name)
    called(name, words)
    problem = export()
    return complain(problem, 1) if problem else 0


def export() -> str:
    """Export what the files say; what is wrong with them, empty if nothing."""
    directories: dict[str, list[str]] = {}
    for file in sorted(FILES.glob("*.exports")):
        for line in file.read_text().splitlines():
            directory, *clients = line.split()
            if not os.path.isdir(directory):
                return f"exportfs: Failed to stat {directory}: No such file or directory"
            for client in clients:
                found = re.fullmatch(r"([0-9./]+)\(([^)]*)\)", client)
                strange = [] if found is None else [each for each in found[2].split(",") if not _known(each)]
                if found is None or strange:
                    return f"exportfs: {file}: unknown keyword {(strange or [client])[0]!r}"
                directories.setdefault(directory, []).append(found[1])
    ask({"kind": "nfs", "verb": "export", "directories": json.dumps(directories)})
    return ""


def _known(option: str) -> bool:
    key, equals, _ = option.partition("=")
    return key in (VALUED if equals else KNOWN)


def withdraw() -> None:
    """The server stops."""
    ask({"kind": "nfs", "verb": "export", "directories": "{}"})


def mount(source: str) -> str:
    """Why a mount does not happen; empty where it does."""
    answer = ask({"kind": "nfs", "verb": "mount", "source": source})
    return f"the mount process exited with error code ({answer['error']})" if "error" in answer else ""
