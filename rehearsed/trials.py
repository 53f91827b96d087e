"""A training script as a trial: what its shell starts, what it prints, and how it ends.

Katib starts a trial's first rank by a shell whose output goes to a file (pkg/webhook/v1beta1/pod/utils.go). Its lines
are those of the reference trainer (node/trainer/train.py), or NAME=VALUE of another script. How good a trial is follows
from its learning rate: the loss is least at BEST_RATE, and above HIGHEST_RATE it is no number after some steps. Both,
and how long a step takes, are assumed.
"""

import math
import posixpath
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rehearsal.images.katib.collector import COMPLETED, FAILED, MARK, STOPPED
from rehearsal.kubelet.program import TIME_SCALE, Exit, Launch, Program

REFERENCE = "/opt/gpucluster/trainer/train.py"
BEST_RATE, HIGHEST_RATE, RATE = 3e-4, 0.1, 3e-4
STEPS, MOST_STEPS, STEP_SECONDS = 12, 40, 10.0
"""Steps of a script that is not told any, the most that are played of one that is, and what each takes."""

_LINE = re.compile(r"^(?P<words>.*?) 1>(?P<file>\S+) 2>&1(?P<rest>.*)$", re.DOTALL)


@dataclass(frozen=True)
class Shell:
    """What a trial's shell runs: the words of its program, where they print to, and whether it may be ended early."""

    words: tuple[str, ...]
    file: str
    stops: bool


def parse(argv: Sequence[str]) -> Shell | None:
    """The program in `sh -c "PROGRAM 1>FILE 2>&1 ..."`; None for any other command line. Pure."""
    if len(argv) != 3 or posixpath.basename(argv[0]) not in ("sh", "bash") or argv[1] != "-c":
        return None
    found = _LINE.match(argv[2])
    if found is None:
        return None
    return Shell(tuple(shlex.split(found["words"])), found["file"], "early-stopped" in found["rest"])


def inner(launch: Launch, shell: Shell) -> Launch:
    """The container as its program sees it."""
    return replace(launch, command=shell.words[:1], args=shell.words[1:])


def flag(words: Sequence[str], name: str) -> str | None:
    """The value of `--name=value`; the last one counts. Pure."""
    return next((word.partition("=")[2] for word in reversed(words) if word.startswith(f"--{name}=")), None)


def losses(words: Sequence[str]) -> list[float]:
    """The loss of each step; the last is no number where the learning rate is too high. Pure."""
    rate, asked = float(flag(words, "learning-rate") or RATE), flag(words, "steps")
    steps = min(int(asked), MOST_STEPS) if asked else STEPS
    off = math.log10(rate / BEST_RATE) ** 2
    told = [2 + off + 6 * math.exp(-step / 4) for step in range(1, steps + 1)]
    return [*told[:3], math.nan] if rate > HIGHEST_RATE else told


def line(words: Sequence[str], step: int, loss: float) -> str:
    """What the script prints of a step. Pure."""
    return f"step {step} loss {loss:.4f} 8000 tokens/s" if REFERENCE in words else f"step={step} loss={loss:.4f}"


class Trial(Program):
    """Prints a line a step to its file, and ends after the last one, or when the collector ends it."""

    def __init__(self, launch: Launch, shell: Shell) -> None:
        self._launch, self._shell, self._losses = launch, shell, losses(shell.words)
        self._begun, self._told = launch.now, 0
        self._result: Exit | None = None
        launch.directory.mkdir(parents=True, exist_ok=True)
        self._log, self._mark = launch.directory / "metrics.log", launch.directory / MARK
        for file, path in ((self._log, shell.file), (self._mark, posixpath.join(posixpath.dirname(shell.file), MARK))):
            file.write_text("")
            mount = launch.mount_of(path)
            if mount is not None:
                launch.world.contents.bring(mount.volume, mount.inside(path) or "", file)

    def exited(self, now: float) -> Exit | None:
        if self._result is None:
            self._go_on(now)
        return self._result

    def _go_on(self, now: float) -> None:
        if self._mark.read_text() == STOPPED:
            said = "Training Container was Early Stopped"
            self._launch.log(said)
            self._result = Exit(0) if self._shell.stops else Exit(143, said)
            return
        due = int((now - self._begun) * TIME_SCALE / STEP_SECONDS)
        while self._told < min(due, len(self._losses)) and self._result is None:
            loss = self._losses[self._told]
            self._told += 1
            if math.isnan(loss):
                self._end(FAILED, Exit(1, f"FloatingPointError: the loss of step {self._told} is nan"))
            else:
                self._print(line(self._shell.words, self._told, loss))
        if self._told == len(self._losses) and self._result is None:
            self._end(COMPLETED, Exit(0))

    def _end(self, mark: str, result: Exit) -> None:
        if result.message:
            self._print(result.message)
        self._mark.write_text(mark)
        self._result = result

    def _print(self, text: str) -> None:
        with self._log.open("a") as file:
            file.write(text + "\n")

    def next_change(self, now: float) -> float | None:
        return None if self._result else now + STEP_SECONDS / TIME_SCALE

    def listens(self, port: int, now: float) -> bool:  # noqa: ARG002 - the interface
        """True for any port: the rendezvous and NCCL choose theirs as they run."""
        return True
