"""Options of the script that the plan sets by itself, in the words of all frameworks."""

from collections.abc import Mapping

from planner.workload_types import RunPlan
from settings.workloads import TrainingRun

_NO_PARTS = "model.virtual_pipeline_model_parallel_size=null"
_EXPERT_TENSOR = ("expert-tensor-parallel-size", "model.expert_tensor_parallel_size")


def left_open(run: TrainingRun, planned: RunPlan | None, name: str, word: str) -> bool:
    """Whether the plan tells nothing of what the word says, or the same: that a recipe's own virtual stages do not
    hold, or how experts are divided whose groups span no tensor ranks, which NeMo is told of all experts.
    """
    if name in _EXPERT_TENSOR:
        model = planned.launch.architecture if planned else None
        spans = bool(planned and planned.training and planned.training.layout.spans_tensor)
        return not (spans or (run.framework == "nemo" and model is not None and model.experts is not None))
    return word == _NO_PARTS and run.parallelism.virtual_stages == 1


KEYS: Mapping[str, str] = {
    **dict.fromkeys(("micro-batch-size", "train.micro_batch_size"), "microBatch"),
    **dict.fromkeys(("global-batch-size", "train.global_batch_size", "accumulation"), "accumulation"),
    **dict.fromkeys(("seq-length", "sequence-length", "model.seq_length", "dataset.seq_length"), "sequenceLength"),
    **dict.fromkeys(
        ("tensor-model-parallel-size", "tensor-parallel", "model.tensor_model_parallel_size"), "parallelism.tensor"
    ),
    **dict.fromkeys(("pipeline-model-parallel-size", "model.pipeline_model_parallel_size"), "parallelism.pipeline"),
    **dict.fromkeys(
        ("context-parallel-size", "context-parallel", "model.context_parallel_size"), "parallelism.context"
    ),
    **dict.fromkeys(("expert-model-parallel-size", "model.expert_model_parallel_size"), "parallelism.expert"),
    **dict.fromkeys(_EXPERT_TENSOR, "parallelism.expert"),
    **dict.fromkeys(
        (
            "num-virtual-stages-per-pipeline-rank",
            "num-layers-per-virtual-pipeline-stage",
            "model.virtual_pipeline_model_parallel_size",
        ),
        "parallelism.virtualStages",
    ),
    **dict.fromkeys(
        (
            *("account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split"),
            *("model.account_for_embedding_in_pipeline_split", "model.account_for_loss_in_pipeline_split"),
        ),
        "parallelism.pipeline",
    ),
    **dict.fromkeys(("bf16", "fp16", "fp8-format", "precision", "mixed_precision"), "precision"),
    **dict.fromkeys(("recompute-granularity", "recompute", "model.recompute_granularity"), "recompute"),
    **dict.fromkeys(("sharding", "use-distributed-optimizer", "use-megatron-fsdp"), "sharding"),
    **dict.fromkeys(
        ("save-interval", "checkpoint-every-seconds", "checkpoint.save_interval"), "checkpoint.everyMinutes"
    ),
    **dict.fromkeys(("deepspeed", "deepspeed-config"), "framework, whose ds.json follows from the plan"),
    **dict.fromkeys(("num-workers", "loader-workers", "dataset.num_workers"), "loaderWorkers"),
    **dict.fromkeys(("train-iters", "steps", "train.train_iters"), "tokensBillion"),
}
"""Options of all frameworks by what they mean, with the key of the run that says it."""
