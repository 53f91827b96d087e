"""Checkpoints: those that a training process writes and begins again at, and the newest one on its way to S3.

Files are names and sizes here, so that a save whose hashes differ does not come up: whole is a save with its manifest,
which is written last. The copier's script itself runs in tests/rehearsed/test_backup_script.py, the trainer's own saves
and resumption in tests/node.
"""

import posixpath
import re
import time
from pathlib import Path
from string import Template

from rehearsal.images import awscli, objects, s3sync
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.process import directory_of
from rehearsal.kubelet.program import TIME_SCALE, Launch, Mount, Program

DIRECTORY = "CHECKPOINT_DIR"
MANIFEST = "SHA256SUMS"
SHARD, SHARD_BYTES, MANIFEST_BYTES = "shard-0.pt", 1 << 30, 1 << 10
FIRST = {f"step-0/{SHARD}": SHARD_BYTES, f"step-0/{MANIFEST}": MANIFEST_BYTES}
"""What a run saves before its first step: it shows that it can."""

STEP_SECONDS = 10.0
"""What a step takes. Assumed."""

INDEX = "training.kubeflow.org/replica-index"

_DATE = re.compile(r"(\w+)=\$\(date -u \+([^)\s]+)\)")
"""A variable of a script that is the day or the hour of UTC."""


def first(launch: Launch) -> bool:
    """Whether this is rank 0. Workers without a Master have no RANK; torchrun ranks them by address, for which their
    index stands here.
    """
    labels = launch.pod["metadata"].get("labels") or {}
    return str(launch.env.get("RANK", labels.get(INDEX, "0"))) == "0"


def begin(launch: Launch) -> str | None:
    """Rank 0 looks for a save to go on from, and writes its first one where it finds none; why it cannot, in Python's
    words. Nothing where the process is not told to save.
    """
    directory = launch.env.get(DIRECTORY)
    if directory is None or not first(launch):
        return None
    mount = launch.mount_of(directory)
    if mount is None:
        return f"FileNotFoundError: [Errno 2] No such file or directory: '{directory}/step-0'"
    if mount.read_only:
        return f"OSError: [Errno 30] Read-only file system: '{directory}/step-0'"
    root = mount.inside(directory) or ""
    step, lines = resumed(launch, mount, directory)
    for line in lines:
        launch.log(line)
    if step is None:
        launch.world.contents.add(mount.volume, {posixpath.join(root, name): size for name, size in FIRST.items()})
    return None


def resumed(launch: Launch, mount: Mount, directory: str) -> tuple[int | None, list[str]]:
    """The step of the newest whole save, and what is said of it and of newer ones, as node/trainer says it."""
    root = mount.inside(directory) or ""
    found: dict[int, set[str]] = {}
    for name in launch.world.contents.under(mount.volume, root):
        step, _, file = posixpath.relpath(name, root).partition("/")
        if known := re.fullmatch(r"step-(\d+)", step):
            found.setdefault(int(known[1]), set()).add(file)
    lines: list[str] = []
    for number in sorted(found, reverse=True):
        if MANIFEST in found[number]:
            return number, [*lines, f"resumed from {directory}/step-{number}: step {number}"]
        lines.append(f"skipped {directory}/step-{number}: half, it has no {MANIFEST}: it was never finished")
    return None, [*lines, f"no complete checkpoint in {directory}: starting at step 0"]


class Saver:
    """Writes a save every so often, as long as its process runs: first the shard, at its end the manifest."""

    def __init__(self, launch: Launch) -> None:
        directory, env = launch.env.get(DIRECTORY), launch.env
        every, takes = env.get("CHECKPOINT_EVERY_SECONDS"), env.get("CHECKPOINT_WITHIN_SECONDS")
        mount = launch.mount_of(directory) if directory else None
        self._launch, self._mount, self._root = launch, mount, ""
        self.due: float | None = None
        """When it does something next; None where it saves nothing."""
        if directory is None or mount is None or every is None or takes is None or not first(launch):
            return
        self._root = mount.inside(directory) or ""
        self._every, self._takes = float(every), float(takes)
        self._step = resumed(launch, mount, directory)[0] or 0
        self._writes = False
        self.due = launch.now + self._every / TIME_SCALE

    def look(self, now: float) -> None:
        """Does what is due."""
        if self.due is None or now < self.due or self._mount is None:
            return
        if not self._writes:
            self._step += max(1, round(self._every / STEP_SECONDS))
        name, size = (MANIFEST, MANIFEST_BYTES) if self._writes else (SHARD, SHARD_BYTES)
        path = posixpath.join(self._root, f"step-{self._step}", name)
        self._launch.world.contents.add(self._mount.volume, {path: size})
        self.due = now + (self._every if self._writes else self._takes) / TIME_SCALE
        self._writes = not self._writes

    def last(self, now: float) -> None:
        """SIGTERM: the run saves the step that it is at, as node/trainer does, whole if its grace period is as long."""
        if self.due is None or self._mount is None:
            return
        if not self._writes:
            passed = self._every - (self.due - now) * TIME_SCALE
            self._step += max(1, round(passed / STEP_SECONDS))
        grace = float(self._launch.pod["spec"].get("terminationGracePeriodSeconds", 30))
        files = {SHARD: SHARD_BYTES, **({MANIFEST: MANIFEST_BYTES} if self._takes <= grace else {})}
        place = posixpath.join(self._root, f"step-{self._step}")
        self._launch.world.contents.add(self._mount.volume, {f"{place}/{name}": size for name, size in files.items()})
        self.due = None


def beside(launch: Launch) -> Program:
    """The container that seals a run's saves: here the run writes them whole, and what it does is tested on disks."""
    return Answering(launch, {})


def sync(launch: Launch) -> Program:
    """The AWS CLI image in this program: what it downloads is stock, what it uploads is the newest checkpoint."""
    return s3sync.run(launch, copied)


def copied(launch: Launch) -> list[str]:
    """Does the uploads of a command line; a line of the log for each. Raises CommandError, CredentialsError."""
    uploads = [
        (words[at + 1], places[0], places[1])
        for words in awscli.commands(launch.argv)
        for at in range(len(words) - 1)
        if words[at] == "s3" and words[at + 1] in ("sync", "cp")
        if len(places := awscli.positional(words[at + 2 :])) > 1 and not places[0].startswith("s3://")
    ]
    if not uploads:
        return []
    if any(_written(launch, source) for _, source, _ in uploads):
        return [_kept(launch, source, target) for _, source, target in uploads]
    directory = launch.env.get(DIRECTORY, "")
    mount = launch.mount_of(directory)
    newest = _newest(launch, mount, directory) if mount else None
    if mount is None or newest is None:
        return [f"no directory of {directory} holds {MANIFEST} yet, so there is nothing whole to copy"]
    save = f"{mount.inside(directory)}/{newest}"
    names = [posixpath.relpath(name, save) for name in launch.world.contents.under(mount.volume, save)]
    reached, lines = objects.reached(launch), []
    for verb, _, target in uploads:
        place = Template(target).safe_substitute(launch.env, newest=newest)
        bucket, _, key = place.removeprefix("s3://").partition("/")
        chosen = [name for name in names if (name == MANIFEST) == (verb == "cp")]
        whole = {key if verb == "cp" else f"{key}/{name}": f"{directory}/{newest}/{name}" for name in chosen}
        reached.put(bucket, whole)
        lines.append(f"upload: {directory}/{newest} to {place}: {len(chosen)} objects")
    return lines


def _written(launch: Launch, path: str) -> Path | None:
    """The file that a real process of the pod has left at a path of a volume."""
    mount = launch.mount_of(path)
    file = directory_of(launch, mount) / (mount.inside(path) or "") if mount else None
    return file if file and file.is_file() else None


def _kept(launch: Launch, path: str, target: str) -> str:
    """Such a file in the store as it is, under the day or hour that the script gives it."""
    dates = {name: time.strftime(form, time.gmtime()) for name, form in _DATE.findall(awscli.script(launch.argv))}
    place, file = Template(target).safe_substitute(launch.env, **dates), _written(launch, path)
    if file is None:
        raise awscli.CommandError(f"The user-provided path {path} does not exist.")
    bucket, _, key = place.removeprefix("s3://").partition("/")
    objects.reached(launch).put(bucket, {key: path}, file.read_bytes())
    return f"upload: {path} to {place}"


def _newest(launch: Launch, mount: Mount, directory: str) -> str | None:
    """The save of the highest step, of those that hold their hashes."""
    held = launch.world.contents.under(mount.volume, mount.inside(directory) or "")
    found = (re.search(rf"([^/]*?(\d+))/{MANIFEST}$", name) for name in held)
    return max(((int(each[2]), each[1]) for each in found if each), default=(0, None))[1]
