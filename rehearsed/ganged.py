"""Ranks of a gang end together: where one is gone the others wait for it, until PyTorch gives the collective up.

Sources: PyTorch, torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp (kProcessGroupNCCLDefaultTimeout is ten minutes; by
SkipCleanUp, the default, the watchdog then ends the process) and torch/distributed/elastic/agent/server/api.py
(_invoke_run: workers that failed are started anew while restarts are left, else the agent ends with them). Where NCCL
sees the other side's connection break, as over TCP, ranks end sooner; over EFA nothing says so.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from rehearsal.kubelet.allotted import Allotted
from rehearsal.kubelet.program import TIME_SCALE, Launch

JOB = "training.kubeflow.org/job-name"
WATCHDOG_SECONDS = 600.0
WATCHDOG = (
    "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=600000) "
    "ran for 600029 milliseconds before timing out."
)
AGAIN = "[default] Worker group FAILED. {left}/{most} attempts left; will restart worker group"


class Member:
    """The ranks of one pod. They wait in vain until the monotonic time `due`; None while all others are there."""

    def __init__(self, launch: Launch, others: "set[Member]", lock: threading.Lock) -> None:
        self._launch, self._others, self._lock = launch, others, lock
        self.due: float | None = None
        self._most = self._left = restarts(launch.argv, launch.env)
        with lock:
            others.add(self)

    def gave_up(self) -> str:
        """What the watchdog says."""
        return WATCHDOG.format(rank=self._launch.env.get("RANK", "0"))

    def begins_again(self) -> str | None:
        """What torchrun says that starts the pod's ranks anew; None where it ends with them."""
        if not self._left:
            return None
        said = AGAIN.format(left=self._left, most=self._most)
        self._left, self.due = self._left - 1, None
        return said

    def ends(self, *, lost: bool) -> None:
        """It is no part of the gang any more. Of one that is `lost` the others do not know: they wait for it."""
        with self._lock:
            if self not in self._others:
                return
            self._others.discard(self)
            waiting = [each for each in self._others if each.due is None] if lost and self.due is None else []
            for each in waiting:
                each.due = time.monotonic() + WATCHDOG_SECONDS / TIME_SCALE
        for each in waiting:
            each._launch.wake()


_LOCK = threading.Lock()
_GANGS: WeakKeyDictionary[Allotted, dict[tuple[str, str], set[Member]]] = WeakKeyDictionary()
"""Of each cluster, which has one table of what is allotted to whom."""


def join(launch: Launch) -> Member | None:
    """The pod's part in the gang of its job; None where ranks of one node have nobody to wait for."""
    job = (launch.pod["metadata"].get("labels") or {}).get(JOB)
    most = launch.env.get("PET_NNODES", "1").rpartition(":")[2]
    if job is None or not most.isdigit() or int(most) < 2:
        return None
    with _LOCK:
        gangs = _GANGS.setdefault(launch.world.allotted, {})
        others = gangs.setdefault((launch.namespace, job), set())
    return Member(launch, others, _LOCK)


def restarts(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """How often torchrun starts the ranks anew: its own word, the operator's variable, else never (distributed/run.py,
    --max-restarts; its default is 0). Pure.
    """
    said = [word.partition("=")[2] for word in argv if word.startswith(("--max-restarts=", "--max_restarts="))]
    found = [*said, env.get("PET_MAX_RESTARTS", "0")][0]
    return int(found) if found.isdigit() else 0
