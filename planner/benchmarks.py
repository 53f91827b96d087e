"""The run of one node by which a pool's gate measures training (O08)."""

from collections.abc import Callable, Iterable, Mapping

from planner.workload_types import RunPlan
from settings.workloads import Training, TrainingRun

MODELS = ("llama-3-8b", "llama-3.2-1b")
"""Dense models of the catalogue, the first that one node of the pool trains: large matrices keep a GPU busy."""


_SEQUENCE = 4096

_KEPT = frozenset(
    {"name", "pool", "queue", "priority", "image", "numa_binding", "loader_workers", "nccl", "topology", "shm_gib"}
    | {"gradients", "compiled", "restarts", "deadline_hours", "commit"}
)
"""Keys of the run that its benchmark shares; all others have their defaults there."""

_AS_DEFAULT = {
    name: field.get_default(call_default_factory=True)
    for name, field in TrainingRun.model_fields.items()
    if name not in _KEPT and not field.is_required()
}


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
    """One node trains `model` in the run's image, with its variables. It reads no data and saves nothing."""
    changes: dict[str, object] = {"nodes": 1, "framework": "reference", "model": model, "sequence_length": _SEQUENCE}
    return run.model_copy(update=_AS_DEFAULT | changes)
