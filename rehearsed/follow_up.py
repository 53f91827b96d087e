"""The containers `ask` of a follow-up and `expire` of a gate: their own scripts run and ask the real API server.

Checkpoints are names and sizes here, so it looks at directories of the same names with next to nothing in them, which
hash to what their SHA256SUMS say.
"""

import hashlib
import posixpath
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from rehearsal import places
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Ends, Exit, Launch, Program
from rehearsed.saves import MANIFEST

_CHECKPOINTS = "--checkpoints="


def run(launch: Launch) -> Program:
    """The real script on this machine; ends as a shell does where the container starts something else."""
    if len(launch.argv) < 2 or launch.argv[0] != "python3":
        return Ends(launch.now, Exit(127, f"{' '.join(launch.argv[:1])}: not found"))
    root = places.private_directory(launch.directory.absolute() / "checkpoints")
    words = []
    for word in launch.argv[1:]:
        directory = word.removeprefix(_CHECKPOINTS)
        mount = launch.mount_of(directory) if word != directory else None
        if mount is None:
            words.append(word)
            continue
        below = mount.inside(directory) or ""
        found = launch.world.contents.under(mount.volume, below)
        written(root, {posixpath.relpath(name, below): size for name, size in found.items()})
        words.append(f"{_CHECKPOINTS}{root}")
    api = urlsplit(launch.world.endpoint)
    env = {"KUBERNETES_SERVICE_HOST": api.hostname or "", "KUBERNETES_SERVICE_PORT": str(api.port)}
    return RealProcess(launch, Path(sys.executable), words, {}, env, own_words=True)


def written(root: Path, files: Mapping[str, int]) -> None:
    """The checkpoints below `root`: each file holds its name, and a manifest hashes the others beside it."""
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    for name in files:
        if posixpath.basename(name) == MANIFEST:
            place = posixpath.dirname(name)
            beside = sorted(each for each in files if each != name and each.startswith(f"{place}/"))
            lines = (
                f"{hashlib.sha256(each.encode()).hexdigest()}  {posixpath.relpath(each, place)}\n" for each in beside
            )
            (root / name).write_text("".join(lines))
