"""The gate of a pool: its pod, its image, the results that it requires, and the run that measures training (O08)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from catalogue.units import BYTES_PER_GB, MIB_PER_GIB, SECONDS_PER_MINUTE
from planner.communication.group import Collective, bus_factor
from planner.communication.thresholds import CARD_LATENCY_US, GIB
from planner.interconnect import Gate, Reach
from planner.pool_types import AwsPoolPlan, MetalPoolPlan, PoolPlan
from planner.storage.types import StoragePlan
from planner.workload_types import PodResources, RunPlan
from settings.workloads import Training, TrainingRun

ROUND_SECONDS = {"ib_write_bw": 12, "fi_pingpong": 8}
"""Time of a pair of nodes: ib_write_bw both ways and ib_write_lat, or fi_pingpong, on all cards at once. Assumed: a
second of transfer each, and of perftest's own second of waiting, its start and the registration of its memory.
"""

START_SECONDS, LOAD_SECONDS, REPEATS, STEPS = 60, 6, 26, 25
"""Of a node: PyTorch, CUDA and NCCL come up on all GPUs, once alone and once with the others (assumed); GPUs at work,
times that an operation is done (node/gates/measure.py), and steps of training (components/training/gate_pods.py)."""

COPY_SECONDS = 60
"""Of all copies of a node's GPUs, one at a time: PyTorch starts, and pins memory for each (assumed)."""

_SLOW_GB_PER_S = 0.5
"""Where nobody knows a rate. Assumed."""

_LATENCY_GBIT_PER_S = 400
"""Cards that the published latency is of."""

_PAIRS_PART = 0.25
"""Of a gate's time that pairs may take; half of it is for all that is measured between nodes."""

OPERATIONS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-receive")
"""Collectives that the gate does; perftest's and nvbandwidth's measurements are lines of their own."""


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
    where nobody published any. All ranks are to use `provider`, by
    `devices` of each node, None where that cannot be known. `tests` are those of the pool that it does, of the sizes of
    the plan. A node writes `storage_mib` to the shared file system, at a rate of `write_gb_per_s` and reads them at
    `read_gb_per_s` (its share of the file system's, None where nobody knows it). It trains as `benchmark`
    says, a run of one node, whose forecast is what to expect.
    """

    pool: str
    nodes: int
    run: str
    image: str
    pod: PodResources
    net_plugin: str | None
    links: int
    copies: CopyPlan | None
    provider: str
    devices: int | None
    tests: tuple[Gate, ...]
    pairs: PairPlan
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
        return 2 * START_SECONDS + LOAD_SECONDS + copies + files + trains + operations + self.pairs.seconds


def _seconds(gate: Gate) -> float:
    """Of one operation."""
    least = gate.threshold
    rate = next(filter(None, (least.fail, least.warn, least.expected)), _SLOW_GB_PER_S)
    factor = bus_factor(Collective(gate.test), gate.gpus)
    return (gate.size_gib or 0) * GIB / BYTES_PER_GB * factor / rate


def plan_gating(
    training: Training,
    pools: Mapping[str, PoolPlan],
    gates: Mapping[str, tuple[Gate, ...]],
    runs: Iterable[RunPlan],
    storage: StoragePlan | None,
    benchmarks: Mapping[str, RunPlan],
) -> dict[str, GatePlan]:
    """The gates by pool: of pools with a fabric between several nodes on which something runs.

    The first of a pool's runs says in which image it is measured: libraries of the fabric come with the image.
    """
    found: dict[str, GatePlan] = {}
    if training.gates is None:
        return found
    for run in runs:
        pool = pools[run.pool]
        provider, devices = _fabric(pool)
        if run.pool in found or provider is None or not measures(pool):
            continue
        seconds = training.gates.minutes * SECONDS_PER_MINUTE
        tests = tuple(each for each in gates.get(run.pool, ()) if each.test in OPERATIONS and _fits(each))
        found[run.pool] = GatePlan(
            pool=run.pool,
            nodes=pool.nodes_now,
            run=run.name,
            image=run.image,
            pod=run.pod,
            net_plugin=run.net_plugin or ("ofi" if provider == "efa" else None),
            links=nvlinks(pool),
            copies=_copies(gates.get(run.pool, ())),
            provider=provider,
            devices=devices,
            tests=tests,
            pairs=_pairs(provider, gates.get(run.pool, ()), pool.nodes_now, seconds),
            **training.gates.model_dump(include={"storage_mib", "weekly", "expiry_days", "history"}),
            write_gb_per_s=storage.write_gb_per_s / pool.nodes_now if storage else None,
            read_gb_per_s=storage.read_gb_per_s / pool.nodes_now if storage else None,
            seconds=seconds,
            benchmark=benchmarks.get(run.pool),
        )
    return found


def measures(pool: PoolPlan) -> bool:
    """Whether a gate has something to measure there: a fabric between several nodes."""
    return _fabric(pool)[0] is not None and pool.nodes_now >= MEET


MEET = 2
"""Nodes that a measurement between them takes."""

_BRIDGE = 2
"""GPUs that a bridge joins. Bridges are bought apart: nobody can say that they are there."""


def nvlinks(pool: PoolPlan) -> int:
    """Links that each GPU of the pool must have: those of a board that joins all GPUs of a node."""
    gpu = pool.gpu
    return gpu.nvlink_links if gpu and gpu.nvlink_gpus > _BRIDGE and 1 < pool.gpus_per_node <= gpu.nvlink_gpus else 0


def _fabric(pool: PoolPlan) -> tuple[str | None, int | None]:
    """What NCCL calls the network, and how many devices of it a node has; no name without a fabric."""
    if isinstance(pool, AwsPoolPlan):
        return ("efa", pool.efa) if pool.efa else (None, None)
    if isinstance(pool, MetalPoolPlan) and pool.rails:
        return "IB", pool.rails
    return None, None


def _pairs(provider: str, tests: Iterable[Gate], nodes: int, seconds: int) -> PairPlan:
    """As many rounds as there is time for. Over EFA nobody published a figure of a single card."""
    cards = next((each.threshold for each in tests if each.reach == Reach.CARDS), None)
    program = "fi_pingpong" if provider == "efa" else "ib_write_bw"
    each, every = ROUND_SECONDS[program], round_robin(nodes)
    rounds = max(1, min(every, int(seconds * _PAIRS_PART) // each))
    known = cards is not None and cards.expected == _LATENCY_GBIT_PER_S
    return PairPlan(
        program=program,
        warn=cards.warn if cards else None,
        fail=cards.fail if cards else None,
        latency_us=CARD_LATENCY_US if known else None,
        rounds=rounds,
        all_rounds=every,
        seconds=rounds * each,
        source=cards.source if cards else "nobody published a figure of one card",
    )


def _copies(tests: Iterable[Gate]) -> CopyPlan | None:
    least = {each.test: each.threshold for each in tests}
    host, peer = (least.get(f"copy with a {other}") for other in ("host", "peer"))
    if host is None or peer is None or host.fail is None or peer.fail is None:
        return None
    return CopyPlan(host=host.fail, peer=peer.fail, source=host.source)


def round_robin(nodes: int) -> int:
    """Rounds in which each of so many nodes meets each other once: one rests in each where their number is odd."""
    return nodes - 1 if nodes % 2 == 0 else nodes


def _fits(gate: Gate) -> bool:
    return gate.size_gib is not None and gate.reach in (Reach.NODE, Reach.FABRIC)


MODELS = ("llama-3-8b", "llama-3.2-1b")
"""Dense models of the catalogue, the first that one node of the pool trains: large matrices keep a GPU busy."""

_SEQUENCE = 4096


def plan_benchmarks(
    training: Training, planned: Callable[[Iterable[TrainingRun]], Mapping[str, RunPlan]]
) -> dict[str, RunPlan]:
    """By pool, in the image and with the variables of its first run; none where no model fits a node."""
    found: dict[str, RunPlan] = {}
    if training.gates is None or not training.gates.benchmark:
        return found
    for pool, run in {each.pool: each for each in reversed(training.runs)}.items():
        for model in MODELS:
            made = planned([_of_node(run, model)]).get(run.name)
            if made is not None and _trains(made):
                found[pool] = made
                break
    return found


def _trains(run: RunPlan) -> bool:
    """Whether it likely does: a gate that runs out of memory says nothing of its node."""
    if run.forecast is None or run.training is None:
        return False
    return run.training.memory.total_gb <= run.training.memory.gpu_gb


def _of_node(run: TrainingRun, model: str) -> TrainingRun:
    """One node's, which neither reads, saves nor tells anything."""
    changes: dict[str, object] = {
        "nodes": 1,
        "framework": "reference",
        "script": (),
        "model": model,
        "parallelism": type(run.parallelism)(),
        "method": "full",
        "precision": "bf16",
        "software": None,
        "sharding": "fsdp",
        "recompute": "selective",
        "micro_batch": 1,
        "accumulation": 1,
        "sequence_length": _SEQUENCE,
        "elastic": None,
        "profile": None,
        "expected": None,
        "dataset": None,
        "checkpoint": None,
        "tokens_billion": None,
        "metrics_port": None,
        "follow_ups": (),
        "launcher": "torchrun",
        "within": None,
        "api": "v1",
    }
    return run.model_copy(update=changes)
