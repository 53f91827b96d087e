"""The plan of a pool's gate: its pod, the rates that it demands, and the time that it takes."""

from dataclasses import dataclass

from catalogue.units import BYTES_PER_GB, MIB_PER_GIB
from planner.communication.group import Collective, bus_factor
from planner.communication.thresholds import GIB
from planner.interconnect import Gate
from planner.workload_types import PodResources, RunPlan

START_SECONDS, LOAD_SECONDS, REPEATS, STEPS = 60, 6, 26, 25
"""Of a node: PyTorch, CUDA and NCCL come up on all GPUs, once alone and once with the others (assumed); GPUs at work,
times that an operation is done (node/gates/measure.py), and steps of training (components/training/gate_pods.py)."""


COPY_SECONDS = 60
"""Of all copies of a node's GPUs, one at a time: PyTorch starts, and pins memory for each (assumed)."""


_SLOW_GB_PER_S = 0.5
"""Where nobody knows a rate. Assumed."""


@dataclass(frozen=True, kw_only=True)
class PairPlan:
    """Cards measured with those of another node, each rail with the same rail, by `program`.

    In each of `rounds` a node has one partner; `all_rounds` bring all of them together once. Cards pass from `warn` on
    and fail below `fail`, Gb/s one way; a latency above `latency_us` warns. What is None is not demanded. `seconds` is
    the time of all rounds, and `source` says whose lines they are.
    """

    program: str
    warn: float | None
    fail: float | None
    latency_us: float | None
    rounds: int
    all_rounds: int
    seconds: int
    source: str


@dataclass(frozen=True, kw_only=True)
class CopyPlan:
    """Least GB/s one way of a GPU's copies with its `host` and each `peer` of its node, and whose lines they are."""

    host: float
    peer: float
    source: str


@dataclass(frozen=True, kw_only=True)
class GatePlan:
    """A pool's gate: a pod on each of its `nodes`, like those of `run`, whose image it measures.

    A GPU has `links` of NVLink, 0 where these do not join all GPUs of a node, and reaches the rates of `copies`, None
    where nobody published any. All ranks are to use `provider`, by `devices` of each node, None where that cannot be
    known; without a fabric to another node there is no `provider`, no `pairs`, and each node is measured alone. `tests`
    are those of the pool that it does, of the sizes of the plan. A node writes `storage_mib` to the shared file system,
    at a rate of `write_gb_per_s` and reads them at `read_gb_per_s` (its share of the file system's, None where nobody
    knows it). It trains as `benchmark` says, a run of one node, whose forecast is what to expect.
    """

    pool: str
    nodes: int
    run: str
    image: str
    pod: PodResources
    net_plugin: str | None
    links: int
    copies: CopyPlan | None
    provider: str | None
    devices: int | None
    tests: tuple[Gate, ...]
    pairs: PairPlan | None
    storage_mib: int
    write_gb_per_s: float | None
    read_gb_per_s: float | None
    seconds: int
    weekly: bool
    expiry_days: int | None
    history: bool
    benchmark: RunPlan | None = None

    @property
    def planned_s(self) -> float:
        """Seconds from the first pod to the verdict, at the least rates that pass: images are there, nothing hangs."""
        gb = self.storage_mib / MIB_PER_GIB * GIB / BYTES_PER_GB
        files = sum(gb / (rate or _SLOW_GB_PER_S) for rate in (self.write_gb_per_s, self.read_gb_per_s))
        step = self.benchmark.forecast.step if self.benchmark and self.benchmark.forecast else None
        trains = START_SECONDS + STEPS * step.seconds if step else 0
        operations = REPEATS * sum(map(_seconds, self.tests))
        copies = COPY_SECONDS if self.copies else 0
        starts = START_SECONDS * (2 if any(each.nodes > 1 for each in self.tests) else 1)
        pairs = self.pairs.seconds if self.pairs else 0
        return starts + LOAD_SECONDS + copies + files + trains + operations + pairs


def _seconds(gate: Gate) -> float:
    """Of one operation."""
    least = gate.threshold
    rate = next(filter(None, (least.fail, least.warn, least.expected)), _SLOW_GB_PER_S)
    factor = bus_factor(Collective(gate.test), gate.gpus)
    return (gate.size_gib or 0) * GIB / BYTES_PER_GB * factor / rate
