"""The run that a gate measures a node's training by: the reference trainer on made-up tokens (O08)."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from planner.workload_types import RunPlan

if TYPE_CHECKING:
    from settings.workloads import Training, TrainingRun

MODELS = ("llama-3-8b", "llama-3.2-1b")
"""Dense models of the catalogue, the first that one node of the pool trains: large matrices keep a GPU busy."""

_SEQUENCE = 4096


def plan_benchmarks(
    training: "Training", planned: "Callable[[Iterable[TrainingRun]], Mapping[str, RunPlan]]"
) -> dict[str, RunPlan]:
    """By pool, in the image and with the variables of its first run; none where no model fits a node."""
    found: dict[str, RunPlan] = {}
    if training.gates is None or not training.gates.benchmark:
        return found
    for pool, run in {each.pool: each for each in reversed(training.runs)}.items():
        for model in MODELS:
            made = planned([_of_node(run, model)]).get(run.name)
            if made is not None and _fits(made):
                found[pool] = made
                break
    return found


def _fits(run: RunPlan) -> bool:
    """Whether it likely does: a gate that runs out of memory says nothing of its node."""
    if run.forecast is None or run.training is None:
        return False
    return run.training.memory.total_gb <= run.training.memory.gpu_gb


def _of_node(run: "TrainingRun", model: str) -> "TrainingRun":
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
