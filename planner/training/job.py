"""A training job as memory and speed depend on it, and its layout over the GPUs."""

from dataclasses import dataclass
from typing import Literal

from catalogue.calibration import Software

Method = Literal["full", "lora", "qlora"]
Precision = Literal["bf16", "fp8"]
Gradients = Literal["bf16", "fp32"]
Sharding = Literal["none", "zero1", "zero2", "zero3", "fsdp"]
Recompute = Literal["none", "selective", "full"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """How a model is trained. `micro_batch` sequences of `sequence` tokens pass a replica at a time.

    `accumulation` such passes make a step of the optimizer. `lora_rank` is the adapters' (64 in the QLoRA paper).
    `software` is the family that trains: it decides what is hidden, kept and computed again.
    """

    method: Method = "full"
    precision: Precision = "bf16"
    gradients: Gradients = "bf16"
    sharding: Sharding = "fsdp"
    recompute: Recompute = "selective"
    micro_batch: int = 1
    accumulation: int = 1
    sequence: int = 8192
    lora_rank: int = 64
    software: Software = "megatron"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Degrees of parallelism. Expert parallelism takes its ranks from those of data and context parallelism, or, where
    they are too few, from tensor parallelism too: its groups then span tensor ranks, and experts stay whole.

    `virtual_stages` are the parts of a device's layers that interleaved 1F1B gives it (1: none).
    """

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    data: int = 1
    virtual_stages: int = 1

    @property
    def replica(self) -> int:
        """GPUs that hold one copy of the model and work on one micro-batch."""
        return self.tensor * self.pipeline * self.context

    @property
    def world(self) -> int:
        """GPUs of the whole job (Megatron Core: world = TP x PP x CP x DP)."""
        return self.replica * self.data

    @property
    def shards(self) -> int:
        """Ranks with the same dense weights, over which ZeRO and FSDP share them out: data and context ranks."""
        return self.data * self.context

    @property
    def expert_shards(self) -> int:
        """Ranks with the same experts. Not below one, so that a layout that does not divide has numbers too."""
        return max(1, self.shards * (self.tensor if self.spans_tensor else 1) // self.expert)

    @property
    def spans_tensor(self) -> bool:
        """Whether expert groups take tensor ranks in, each with whole experts (Megatron Core: expert tensor size 1)."""
        return self.shards % self.expert != 0 and self.shards * self.tensor % self.expert == 0

    @property
    def expert_parts(self) -> int:
        """GPUs of a pipeline stage among which one copy of the experts is divided."""
        return self.expert * (1 if self.spans_tensor else self.tensor)


def global_batch(job: Job, layout: Layout) -> int:
    """Sequences of one step: micro-batch x data parallel ranks x accumulation. Tensor ranks share a micro-batch."""
    return job.micro_batch * layout.data * job.accumulation


def tokens_per_step(job: Job, layout: Layout) -> int:
    """Tokens of one step of the optimizer."""
    return global_batch(job, layout) * job.sequence
