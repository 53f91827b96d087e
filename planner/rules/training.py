"""Training runs that name a model: context, precision, memory."""

from collections.abc import Iterable

from planner.benchmarks import MODELS
from planner.draft import Draft, rule, warning
from planner.findings import Observation
from planner.gating import measures
from planner.rules.frameworks import CAN
from planner.rules.known import Seen, known_runs
from planner.training.advice import Ways, smallest_change, smallest_world
from settings.workloads import TrainingRun


@warning("C01", each=known_runs, formula="sequenceLength <= context of the model", source="config.json of the model")
def run_context(_: Draft, seen: Seen) -> Iterable[Observation]:
    """Sequences longer than the model's context train positions that its configuration does not have."""
    if seen.run.sequence_length > seen.model.context:
        yield Observation(
            path="sequenceLength",
            sentence=f"{seen.run.sequence_length} tokens are more than the {seen.model.context} of {seen.model.name}",
            remedy=f"set it to at most {seen.model.context}, unless the run extends the context on purpose",
            inputs={
                "sequence": f"{seen.run.sequence_length} tokens",
                "context": f"{seen.model.context} tokens",
            },
        )


@rule(
    "B05 HW06 HW07",
    each=known_runs,
    formula="compute capability >= 8.0 for bf16, >= 8.9 for fp8",
    source="NVIDIA data sheets, tensor core types",
)
def run_precision(_: Draft, seen: Seen) -> Iterable[Observation]:
    """The GPU's tensor cores compute in the precision of the run."""
    rate = seen.gpu.fp8_tflops if seen.run.precision == "fp8" else seen.gpu.bf16_tflops
    if rate is None:
        other = "take bf16, or " if seen.run.precision == "fp8" and seen.gpu.bf16_tflops else ""
        yield Observation(
            path="precision",
            sentence=f"{seen.gpu.name} has no {seen.run.precision} tensor cores "
            f"(compute capability {seen.gpu.compute_capability})",
            remedy=f"{other}take GPUs that have them for pool {seen.pool.name}",
            inputs={"compute capability": str(seen.gpu.compute_capability)},
        )


@rule(
    "C01 C02 C07 O03 HW21 HW23 HW24",
    each=known_runs,
    formula="least of states / sharding + gathered layers + activations + buffers + reserve <= memory of a GPU",
    source="Rajbhandari et al. 2020 (ZeRO), section 3; Korthikanti et al. 2022, section 4; published runs",
)
def run_fits_gpus(_: Draft, seen: Seen) -> Iterable[Observation]:
    """Weights, gradients, optimizer states and activations fit the memory of each GPU."""
    memory = seen.training.memory
    if not memory.fits:
        yield _too_large(seen, "takes at least", memory.least_gb)


@warning(
    "C07 HW21",
    each=known_runs,
    formula="most of states / sharding + gathered layers + activations + buffers + reserve <= memory of a GPU",
    source="published peaks of memory; the range is what software keeps and computes again",
)
def run_may_not_fit(_: Draft, seen: Seen) -> Iterable[Observation]:
    """A run that the planner cannot refuse may still run out of memory: the most that it may take is not there."""
    memory = seen.training.memory
    if memory.fits and not memory.fits_surely:
        yield _too_large(seen, f"takes {memory.least_gb:.0f} to {memory.most_gb:.0f} GB, likely", memory.total_gb)


def _too_large(seen: Seen, takes: str, size_gb: float) -> Observation:
    memory = seen.training.memory
    parts = {
        "weights": memory.weights_gb,
        "gradients": memory.gradients_gb,
        "optimizer": memory.optimizer_gb,
        "gathered layers": memory.gathered_gb,
        "activations": memory.activations_gb,
        "buffers and reserve": memory.buffers_gb + memory.reserve_gb,
    }
    told = ", ".join(f"{name} {size:.1f}" for name, size in parts.items() if size)
    key, remedy = _what_fits(seen)
    return Observation(
        path=key,
        sentence=f"{seen.model.name} {takes} {size_gb:.1f} GB of each {seen.gpu.name}, whose driver reports "
        f"{memory.gpu_gb:.1f} GB (likely: {told})",
        remedy=remedy,
        inputs={**{name: f"{size:.1f} GB" for name, size in parts.items()}, "memory": f"{memory.gpu_gb:.1f} GB"},
    )


def _what_fits(seen: Seen) -> tuple[str, str]:
    """The key to edit and what to type: the smallest change of the run that fits, else its nodes, else other GPUs."""
    job, layout, per_node = seen.training.job, seen.training.layout, seen.pool.gpus_per_node
    ways = _ways(seen.run)
    surely = seen.training.memory.fits
    change = smallest_change(job, seen.model, layout, seen.gpu.driver_gb, per_node, ways, surely=surely)
    if change is not None:
        return change.words[0].partition(" ")[0], f"set {', '.join(change.words)}"
    least = smallest_world(job, seen.model, layout, seen.gpu.driver_gb, per_node, ways, surely=surely)
    if least is not None:
        return "nodes", f"it fits from {least[0]} nodes on, with {', '.join(least[1])}"
    if surely:
        return "model", "try a step before the whole run; raise parallelism.context, or take GPUs with more memory"
    return "model", "no number of nodes is enough; raise parallelism.context, or take GPUs with more memory"


def _ways(run: TrainingRun) -> Ways:
    """What the run's framework can be told; a script of its own is told nothing, and may do anything."""
    can = CAN.get(run.framework)
    if can is None:
        return Ways(derived=run.software is None)
    able = [each for each in can.sharding if each != "zero3" or "fsdp" not in can.sharding]
    return Ways(shardings=tuple(able), tensor="tensor" in can.degrees, derived=run.software is None)


@warning(
    "O08",
    formula="one of the models of the benchmark fits a node of each pool that is measured",
    source="planner/training/memory.py",
)
def benchmark_fits(draft: Draft) -> Iterable[Observation]:
    """Nodes that no model of the benchmark fits are measured without training."""
    gates = draft.settings.training.gates
    if gates is None or not gates.benchmark:
        return
    for name in dict.fromkeys(run.pool for run in draft.runs.values()):
        if name not in draft.benchmarks and measures(draft.pools[name]):
            yield Observation(
                path="training.gates.benchmark",
                sentence=f"a node of pool {name} holds none of {', '.join(MODELS)} while it trains, so its gate does "
                "not train",
                remedy="remove benchmark, or take GPUs with more memory",
                subject=name,
            )


@warning("D04 P16", formula="nodes that up asks for >= 1, of pools with runs", source="planner/gating.py")
def pools_are_measured(draft: Draft) -> Iterable[Observation]:
    """With gates, runs of a pool that cannot be measured start on nodes that nobody measured."""
    if draft.settings.training.gates is None:
        return
    for name in dict.fromkeys(run.pool for run in draft.runs.values()):
        pool = draft.pools[name]
        if pool.gpu is not None and not measures(pool):
            yield Observation(
                path="training.gates",
                sentence=f"pool {name} has no gate, and its runs start on nodes that nobody measured: they come after "
                "`up`",
                remedy="measure them by hand when they are there, before its runs, and waive pools-are-measured",
                subject=name,
            )
