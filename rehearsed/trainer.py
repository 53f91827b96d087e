"""The container `pytorch` of a PyTorchJob: a training process that reads, saves and runs on, or fails as torchrun does.

Source: torchrun's documentation ("rendezvous": the job starts once `--nnodes` nodes have joined), training-operator
v1's environment (PET_NNODES counts pods), CPython's main.c (what it says of a file that is not there) and
PyTorch's ProcessGroupNCCL (an error of NCCL ends the rank).
"""

import posixpath
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rehearsal.devices import cuda
from rehearsal.devices.gpus import GPU
from rehearsal.images import nccl
from rehearsal.kubelet import volumes
from rehearsal.kubelet.allotted import Holder, Work
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Mount, Program
from rehearsed import ganged, registry, run_metrics, saves, tracking, trials

RENDEZVOUS_SECONDS = 900.0
COMPUTE, MEMORY = 0.95, 0.9
"""Share of the time in which kernels of a training step run, and of memory that it holds. Assumed."""

DATASET, DATA = "DATASET_DIR", "/data"


def run(launch: Launch) -> Program:
    """Trains until it is stopped; ends at once without a command; times out where nodes can never meet."""
    if not launch.argv:
        return Ends(launch.now, Exit(0))
    shell = trials.parse(launch.argv)
    if shell is not None:
        launch = trials.inner(launch, shell)
    if problem := rendezvous_problem(launch.argv, launch.env):
        launch.log(problem)
        return Ends(launch.now + RENDEZVOUS_SECONDS / TIME_SCALE, Exit(1, problem))
    broken = cuda.unusable(launch)
    if problem := broken or _missing(launch) or _network(launch) or data_problem(launch) or saves.begin(launch):
        launch.log(problem)
        return Ends(launch.now, Exit(1, problem))
    launch.log(f"training: {' '.join(launch.argv)}")
    return trials.Trial(launch, shell) if shell else Trainer(launch)


class Trainer(Answering):
    """Computes all the time, with nearly all of the GPUs' memory, and tells of itself where it is told to; a failure of
    its machine ends it in its own words, and that of another one of its gang in those of the watchdog.

    Source of the words: PyTorch, ProcessGroupNCCL.cpp (a collective that takes longer than the group's timeout ends the
    process).
    """

    def __init__(self, launch: Launch) -> None:
        super().__init__(launch, run_metrics.ports(launch))
        self._saver, self._reporter = saves.Saver(launch), tracking.reporter(launch)
        self._gang = ganged.join(launch)
        if launch.limit(GPU):
            holder = Holder(launch.namespace, launch.pod_name, str(launch.spec["name"]))
            launch.world.allotted.work(holder, lambda: Work(COMPUTE, MEMORY))

    def listens(self, port: int, now: float) -> bool:  # noqa: ARG002 - the interface
        """On any port: those of the rendezvous and of NCCL are nobody's to know."""
        return True

    def exited(self, now: float) -> Exit | None:
        """It runs on; what it saves meanwhile is written when the kubelet looks. While it waits for a rank that is gone
        it makes no step, and saves nothing.
        """
        if self._gang is None or self._gang.due is None:
            self._saver.look(now)
        elif now >= self._gang.due:
            return self._gave_up(self._gang)
        return None

    def _gave_up(self, gang: ganged.Member) -> Exit | None:
        """Where torchrun starts the ranks anew they begin at the newest save, as those of a new pod do."""
        said = gang.gave_up()
        self._launch.log(said)
        if (again := gang.begins_again()) is None:
            gang.ends(lost=False)
            self.stop()
            return Exit(1, said)
        self._launch.log(again)
        if problem := saves.begin(self._launch):
            self._launch.log(problem)
            self.stop()
            return Exit(1, problem)
        self._saver = saves.Saver(replace(self._launch, now=time.monotonic()))
        return None

    def next_change(self, now: float) -> float | None:
        waits = self._gang.due if self._gang else None
        own = waits if waits is not None else self._saver.due
        return min((each for each in (super().next_change(now), own) if each is not None), default=None)

    def leaves(self) -> bool:
        self._saver.last(time.monotonic())
        return self._reporter is None or self._reporter.leaves()

    def stop(self) -> None:
        super().stop()
        if self._gang is not None:
            self._gang.ends(lost=True)
        if self._reporter is not None:
            self._reporter.stop()

    def close(self) -> None:
        """The rehearsal ends, and nobody is lost."""
        if self._gang is not None:
            self._gang.ends(lost=False)
        super().close()

    def struck(self, kind: str) -> Exit | None:
        words = (
            ganged.WATCHDOG.format(rank=self._launch.env.get("RANK", "0"))
            if kind == "nccl-timeout"
            else cuda.error(kind)
        )
        if words is None:
            return None
        self._launch.log(words)
        return Exit(1, words)


def data_problem(launch: Launch) -> str | None:
    """Why the process finds no sample, in Python's words; None where it does, or reads none.

    Where it is told of a directory it opens the files below it; data that nobody brought to the file system is a
    directory that is empty, which data loaders say as torch.utils.data.RandomSampler does (its source: `num_samples
    should be a positive integer value, but got num_samples=0`).
    """
    directory = launch.env.get(DATASET)
    if directory is None and launch.mount_of(DATA) is None:
        return None
    directory = directory or DATA
    mount = launch.mount_of(directory)
    if mount is None:
        return f"FileNotFoundError: [Errno 2] No such file or directory: '{directory}'"
    if launch.world.contents.under(mount.volume, mount.inside(directory) or ""):
        return None
    return f"ValueError: num_samples should be a positive integer value, but got num_samples=0 ({directory} is empty)"


def _missing(launch: Launch) -> str | None:
    """Why Python cannot open the script: it lies neither on a volume nor in the image."""
    script = script_of(launch.argv)
    if script is None:
        return None
    mount, image = launch.mount_of(script), registry.inside(str(launch.spec["image"]))
    there = _on(launch, mount, script) if mount else image is None or not image.lacks(script)
    return None if there else f"python: can't open file '{script}': [Errno 2] No such file or directory"


def _on(launch: Launch, mount: Mount, file: str) -> bool:
    """Whether a file lies on a volume: one of a ConfigMap or Secret, or what somebody wrote there."""
    inside = mount.inside(file) or ""
    volume = next(each for each in launch.pod["spec"]["volumes"] if each["name"] == mount.name)
    given = volumes.files(volume, launch.namespace, launch.world.find)
    if given is not None:
        return inside in given
    if launch.world.contents.under(mount.volume, inside):
        return True
    if mount.path == DATA and launch.world.contents.under(mount.volume, mount.inside(DATA) or ""):
        launch.log(f"what is in the dataset is not known here: {file} is taken to be there")
        return True
    return False


def script_of(argv: Sequence[str]) -> str | None:
    """The file that torchrun starts; None for a module, a path from where the image begins, another program. Pure."""
    words = list(argv)
    if not words or posixpath.basename(words[0]) != "torchrun":
        return None
    first = next((word for word in words[1:] if word in ("-m", "--module") or not word.startswith("-")), "")
    return posixpath.normpath(first) if first.startswith("/") else None


def _network(launch: Launch) -> str | None:
    """Writes what NCCL says of its network; how it ends where it has none."""
    if not launch.limit(GPU):
        return None
    image = str(launch.spec["image"])
    inside = registry.inside(image)
    if inside is None:
        launch.log(
            f"what is in {image} is not known here: NCCL finds the plugin and Python the script that it is told to; "
            "a row of catalogue.images in the stack file says what is there"
        )
    limits = (launch.spec.get("resources") or {}).get("limits") or {}
    attached = len(launch.world.attached.of(str(launch.pod["metadata"].get("uid"))))
    found = nccl.choose(inside, launch.env, launch.limit(nccl.EFA), nccl.cards(limits, attached))
    for line in nccl.spoken(found, launch.env):
        launch.log(line)
    if found.provider is None:
        return f"torch.distributed.DistBackendError: NCCL error: invalid usage, {found.why}"
    return _unreachable(launch) if found.provider == "efa" else None


def _unreachable(launch: Launch) -> str | None:
    """How a rank of several nodes ends whose security groups keep EFA from the others; None where they do not.

    Source: EC2 user guide, "Get started with EFA" (a group with all traffic from and to itself); libfabric,
    prov/efa/src/efa_errno.h (status 15).
    """
    host = launch.world.hosts.get(launch.node)
    nodes = launch.env.get("PET_NNODES", "1").rpartition(":")[2]
    if host is None or not nodes.isdigit() or int(nodes) < 2 or launch.world.aws.groups().carries_efa(host.primary):
        return None
    return (
        "torch.distributed.DistBackendError: NCCL error: unhandled system error, NET/OFI Request completed with error. "
        "Error: 15 (Unreachable remote (never received a response))"
    )


def complaint(pod: Mapping[str, Any], container: Mapping[str, Any]) -> str | None:
    """What is wrong with a gang that trains all the same: it has EFA or InfiniBand, and NCCL takes another network.
    Pure.
    """
    env = {each["name"]: str(each.get("value") or "") for each in container.get("env") or []}
    limits = (container.get("resources") or {}).get("limits") or {}
    devices, most = int(limits.get(nccl.EFA, 0)), env.get("PET_NNODES", "1").rpartition(":")[2]
    cards = nccl.cards(limits)
    if not (devices or cards) or not most.isdigit() or int(most) < 2:
        return None
    found = nccl.choose(registry.inside(str(container["image"])), env, devices, cards)
    if found.provider in (None, "efa", nccl.IB):
        return None
    fast = f"the {devices} EFA devices" if devices else "the InfiniBand cards"
    labels = pod["metadata"].get("labels") or {}
    run = labels.get("training.kubeflow.org/job-name", pod["metadata"]["name"])
    return (
        f"run {pod['metadata']['namespace']}/{run} trains over {found.provider}, not over {fast} of each pod: "
        f"{found.why}"
    )


def rendezvous_problem(argv: Sequence[str], env: Mapping[str, str]) -> str | None:
    """Why `--nnodes` can never be met: it counts nodes, and the operator says how many there are. Pure."""
    text = " ".join(argv)
    if "torchrun" not in text and "torch.distributed.run" not in text:
        return None
    found = re.search(r"--nnodes[= ](\$\{?(\w+)\}?|[\d:]+)", text)
    there = env.get("PET_NNODES")
    if found is None or there is None:
        return None
    asked = env.get(found[2], "") if found[2] else found[1]
    least = asked.partition(":")[0]
    most_there = there.rpartition(":")[2]
    if not least.isdigit() or not most_there.isdigit() or int(least) <= int(most_there):
        return None
    return (
        f"torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError: --nnodes={asked} asks for {least} nodes, "
        f"but the job has {most_there} pods"
    )
