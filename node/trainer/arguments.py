"""What the trainer is told on its command line; each flag is a number of the run's plan."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The flags. Ends with status 2 and a sentence for one that is unknown, so that nothing planned goes unread."""
    parser = argparse.ArgumentParser(description="Trains a decoder-only transformer.", allow_abbrev=False)
    for name in ("layers", "hidden", "ffn", "heads", "kv-heads", "head-dim", "vocab"):
        parser.add_argument(f"--{name}", type=_positive, required=True)
    parser.add_argument("--model", required=True, help="name of the model, for the log")
    parser.add_argument("--sequence-length", type=_positive, required=True)
    parser.add_argument("--micro-batch-size", type=_positive, required=True)
    parser.add_argument("--global-batch-size", type=_positive, required=True)
    parser.add_argument(
        "--accumulation", type=_positive, help="steps of gradient accumulation; default: from the global batch"
    )
    parser.add_argument(
        "--data-parallel", type=_positive, help="expected number of data-parallel ranks; another number is an error"
    )
    parser.add_argument("--tensor-parallel", type=int, choices=[1], default=1)
    parser.add_argument("--context-parallel", type=int, choices=[1], default=1)
    parser.add_argument("--sharding", choices=["none", "fsdp", "zero3"], default="fsdp")
    parser.add_argument("--method", choices=["full"], default="full")
    parser.add_argument("--precision", choices=["bf16"], default="bf16")
    parser.add_argument("--gradients", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--recompute", choices=["none", "selective", "full"], default="selective")
    parser.add_argument("--steps", type=_positive, default=1_000_000_000)
    parser.add_argument(
        "--data-dir", type=Path, help="directory of token files (*.bin, 32 bits each); default: generated tokens"
    )
    parser.add_argument("--checkpoint-dir", type=Path)
    parser.add_argument("--local-checkpoint-dir", type=Path)
    parser.add_argument(
        "--shared-checkpoint-every-seconds",
        type=float,
        default=900.0,
        help="seconds between copies from the local checkpoint directory to the shared one",
    )
    parser.add_argument("--checkpoint-every-seconds", type=float, default=900.0)
    parser.add_argument("--checkpoint-keep", type=_positive, default=3)
    parser.add_argument("--resume", choices=["auto", "never"], default="auto")
    parser.add_argument("--metrics-port", type=int)
    parser.add_argument("--profile-from", type=_positive)
    parser.add_argument("--profile-to", type=_positive)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--warmup-steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(list(words))


def accumulation(asked: argparse.Namespace, ranks: int) -> int:
    """Passes before a step on so many data ranks. Raises ValueError where the plan counted on other ranks.

    An elastic run is told its global batch alone and keeps it at each size as well as whole passes can.
    """
    if asked.data_parallel is not None and asked.data_parallel != ranks:
        raise ValueError(f"{ranks} data-parallel ranks started, but the plan has {asked.data_parallel}")
    if asked.accumulation is not None:
        return int(asked.accumulation)
    passes: int = max(1, round(asked.global_batch_size / (asked.micro_batch_size * ranks)))
    return passes


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not above 0")
    return value
