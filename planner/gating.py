"""Which pools have a gate, and what each gate measures."""

from collections.abc import Iterable, Mapping

from catalogue.units import SECONDS_PER_MINUTE
from planner.communication.thresholds import CARD_LATENCY_US
from planner.gate_types import CopyPlan, GatePlan, PairPlan
from planner.interconnect import Gate, Reach
from planner.pool_types import AwsPoolPlan, MetalPoolPlan, PoolPlan
from planner.storage.types import StoragePlan
from planner.workload_types import RunPlan
from settings.workloads import Training

ROUND_SECONDS = {"ib_write_bw": 12, "fi_pingpong": 8}
"""Time of a pair of nodes: ib_write_bw both ways and ib_write_lat, or fi_pingpong, on all cards at once. Assumed: a
second of transfer each, and of perftest's own second of waiting, its start and the registration of its memory.
"""


_LATENCY_GBIT_PER_S = 400
"""Cards that the published latency is of."""

_PAIRS_PART = 0.25
"""Of a gate's time that pairs may take; half of it is for all that is measured between nodes."""

OPERATIONS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-receive")
"""Collectives that the gate does; perftest's and nvbandwidth's measurements are lines of their own."""


def plan_gating(
    training: Training,
    pools: Mapping[str, PoolPlan],
    gates: Mapping[str, tuple[Gate, ...]],
    runs: Iterable[RunPlan],
    storage: StoragePlan | None,
    benchmarks: Mapping[str, RunPlan],
) -> dict[str, GatePlan]:
    """The gates by pool: of pools with GPUs on which something runs.

    The first of a pool's runs says in which image it is measured: libraries of the fabric come with the image. Nothing
    of a fabric is asked where no second node is there to meet: a run inside one node may have an image without its
    libraries.
    """
    found: dict[str, GatePlan] = {}
    if training.gates is None:
        return found
    for run in runs:
        pool = pools[run.pool]
        if run.pool in found or not measures(pool):
            continue
        provider, devices = _fabric(pool)
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
            pairs=_pairs(provider, gates.get(run.pool, ()), pool.nodes_now, seconds) if provider else None,
            **training.gates.model_dump(include={"storage_mib", "weekly", "expiry_days", "history"}),
            write_gb_per_s=storage.write_gb_per_s / pool.nodes_now if storage else None,
            read_gb_per_s=storage.read_gb_per_s / pool.nodes_now if storage else None,
            seconds=seconds,
            benchmark=benchmarks.get(run.pool),
        )
    return found


def measures(pool: PoolPlan) -> bool:
    """Whether a gate has something to measure there: GPUs on nodes that `up` asks for."""
    return pool.gpu is not None and pool.nodes_now > 0


MEET = 2
"""Nodes that a measurement between them takes."""

_BRIDGE = 2
"""GPUs that a bridge joins. Bridges are bought apart: nobody can say that they are there."""


def nvlinks(pool: PoolPlan) -> int:
    """Links that each GPU of the pool must have: those of a board that joins all GPUs of a node."""
    gpu = pool.gpu
    return gpu.nvlink_links if gpu and gpu.nvlink_gpus > _BRIDGE and 1 < pool.gpus_per_node <= gpu.nvlink_gpus else 0


def _fabric(pool: PoolPlan) -> tuple[str | None, int | None]:
    """What NCCL calls the network, and how many devices of it a node has; no name without a fabric to another node."""
    if pool.nodes_now < MEET:
        return None, None
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
