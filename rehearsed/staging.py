"""The container `stage` of a run's pod: what of the dataset comes to the node's own disks, by names and sizes.

The script itself runs on real disks in tests/node/test_staging.py; here it takes the time that the node's network and
disks need, and what it says is what that one says.
"""

import argparse
import posixpath

from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Program

BYTES_PER_SECOND = 2e9
"""From a file system that several nodes read at once. Assumed."""


def run(launch: Launch) -> Program:
    """Brings the files that are the pod's; ends as the script does where there are none, or no place for them."""
    if len(launch.argv) < 2 or launch.argv[0] != "python3" or posixpath.basename(launch.argv[1]) != "stage.py":
        return Ends(launch.now, Exit(127, f"{' '.join(launch.argv[:1])}: not found"))
    asked = _parse(launch.argv[2:])
    source, root = launch.mount_of(asked.source), launch.mount_of(asked.root)
    if source is None or root is None or root.read_only:
        return _fails(launch, f"{asked.name} could not be copied to this node: [Errno 30] Read-only file system")
    below = source.inside(asked.source) or ""
    files = launch.world.contents.under(source.volume, below)
    if not files:
        said = f"no files in {asked.source}: the dataset has not been copied to the shared file system"
        return _fails(launch, f"{asked.name} could not be copied to this node: {said}")
    if len(files) < asked.parts:
        said = f"{len(files)} files cannot be shared by {asked.parts} nodes"
        return _fails(launch, f"{asked.name} could not be copied to this node: {said}")
    mine = dict(sorted(files.items())[asked.first + asked.part :: asked.parts])
    target = posixpath.join(root.inside(asked.root) or "", asked.name)
    launch.world.contents.add(
        root.volume, {posixpath.join(target, posixpath.relpath(name, below)): size for name, size in mine.items()}
    )
    size = sum(mine.values())
    launch.log(f"{asked.name} is here: {len(mine)} files, {size / 1e9:.2f} GB, 0 of them from an earlier try")
    return Ends(launch.now + size / BYTES_PER_SECOND / TIME_SCALE, Exit(0))


def _fails(launch: Launch, said: str) -> Program:
    launch.log(said)
    return Ends(launch.now, Exit(1, said))


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("source", "root", "name", "pod"):
        parser.add_argument(f"--{name}", required=True)
    for name, value in (("part", 0), ("first", 0), ("parts", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args(words)
