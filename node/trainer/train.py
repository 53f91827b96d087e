"""Trains a decoder-only transformer as torchrun starts it: fully sharded or data parallel, and goes on after a failure.

Every number is the plan's (arguments.py). It saves every so many seconds, and when it is told to stop; it begins at the
newest whole save, on as many ranks as there are now. Steps, tokens and loss are on the metrics port of rank 0, and go
to MLflow where the environment names it.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import arguments
import copying
import saves
import state
import torch
import torch.distributed as dist
from metrics import Metrics, serve
from model import Decoder, Sizes
from state import Ranks
from tokens import Files, MadeUp
from torch import Tensor, nn
from tracking import Tracker

STOPPED = 143
"""Status after SIGTERM, as a shell has it: a run that was stopped has not succeeded."""
_NONE, _SAVE, _STOP = 0, 1, 2


@contextlib.contextmanager
def copier(asked: argparse.Namespace, ranks: Ranks) -> Iterator[None]:
    """Beside the training of each node: a process that brings its saves on, the last one at the end too."""
    local, shared = asked.local_checkpoint_dir, asked.checkpoint_dir
    if local is None or shared is None or not ranks.leads_node:
        yield
        return
    told = {
        "--local": local,
        "--shared": shared,
        "--every-seconds": asked.shared_checkpoint_every_seconds,
        "--keep": asked.checkpoint_keep,
        "--part": ranks.rank // ranks.local_world,
        "--parts": ranks.world // ranks.local_world,
    }
    words = [str(word) for pair in told.items() for word in pair]
    process = subprocess.Popen([sys.executable, copying.__file__, *words])
    try:
        yield
    finally:
        process.terminate()
        process.wait()


class Run:
    """One process of the run."""

    def __init__(self, asked: argparse.Namespace, ranks: Ranks, device: torch.device) -> None:
        self.asked, self.ranks, self.device = asked, ranks, device
        self.passes = arguments.accumulation(asked, ranks.world)
        self.metrics = Metrics()
        self.tracker = Tracker(os.environ if ranks.rank == 0 else {}, asked.checkpoint_dir, self.say)
        self.stopping = False
        self.step = self.batches = 0
        self.saved_at = time.monotonic()
        self._profiler: Any = None
        self.model = built(asked, device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=asked.learning_rate, betas=(0.9, 0.95))
        self.data = Files(asked.data_dir, asked.vocab) if asked.data_dir else MadeUp(asked.vocab, asked.seed)

    def say(self, line: str) -> None:
        """One rank speaks for all."""
        if self.ranks.rank == 0:
            print(line, flush=True)

    def train(self) -> int:
        """Trains to the last step, or until it is told to stop; the exit status."""
        signal.signal(signal.SIGTERM, self._told_to_stop)
        if self.asked.metrics_port and self.ranks.leads_node:
            # Every node of an elastic run is asked, as any may have rank 0; the others answer with nothing.
            serve(self.metrics if self.ranks.rank == 0 else Metrics(), self.asked.metrics_port)
        self.resume()
        self.tracker.begin(vars(self.asked), resumed=self.step > 0)
        if self.step == 0:
            self.save()
        with self._profile():
            while self.step < self.asked.steps:
                self._step()
                what = self._agreed()
                if what != _NONE:
                    self.save()
                if what == _STOP:
                    self.say(f"stopped at step {self.step}; its checkpoint is written")
                    return STOPPED
        self.save()
        self.say(f"done after {self.step} steps")
        return 0

    def resume(self) -> None:
        """Goes on from the newest whole save, if there is one."""
        if self.asked.resume == "never" or self.asked.checkpoint_dir is None:
            return
        path = state.resumable(self.asked.local_checkpoint_dir, self.asked.checkpoint_dir, self.say)
        if path is None:
            self.say(f"no complete checkpoint in {self.asked.checkpoint_dir}: starting at step 0")
            return
        meta = state.load(path, self.model, self.optimizer)
        self.step, self.batches = int(meta["step"]), int(meta["batches"])
        self.say(f"resumed from {path}: step {self.step}, saved by {meta['ranks']} ranks")

    def save(self) -> None:
        """Saves where saves go first; training stands for it."""
        local, shared = self.asked.local_checkpoint_dir, self.asked.checkpoint_dir
        root = local or shared
        if root is None:
            return
        begun = time.monotonic()
        meta = {"step": self.step, "batches": self.batches, "ranks": self.ranks.world, "model": self.asked.model}
        done = state.save(root, self.step, self.ranks, self.model, self.optimizer, meta, own_disk=local is not None)
        self.saved_at = time.monotonic()
        if done is not None and self.ranks.rank == 0 and local is None:
            saves.prune(root, self.asked.checkpoint_keep)
        pause = self.saved_at - begun
        self.metrics.set(checkpoint_timestamp_seconds=time.time(), checkpoint_pause_seconds=pause)
        self.say(f"saved step {self.step} to {root} in {pause:.1f} s")

    def _step(self) -> None:
        begun, asked = time.monotonic(), self.asked
        for group in self.optimizer.param_groups:
            group["lr"] = asked.learning_rate * min(1.0, (self.step + 1) / max(1, asked.warmup_steps))
        total = torch.zeros((), device=self.device)
        for each in range(self.passes):
            index = self.batches + each * self.ranks.world + self.ranks.rank
            tokens = self.data.batch(index, asked.micro_batch_size, asked.sequence_length).to(self.device)
            with self._together(last=each == self.passes - 1), self._precision():
                loss: Tensor = self.model(tokens) / self.passes
                loss.backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        dist.all_reduce(total)
        value = total.item() / self.ranks.world
        if not math.isfinite(value):
            raise FloatingPointError(
                f"the loss of step {self.step + 1} is {value}; the last checkpoint is from an earlier step"
            )
        self.batches += self.passes * self.ranks.world
        self.step += 1
        self._tell(value, time.monotonic() - begun)
        if self._profiler is not None:
            self._profiler.step()

    def _tell(self, loss: float, seconds: float) -> None:
        tokens = self.passes * self.ranks.world * self.asked.micro_batch_size * self.asked.sequence_length
        self.metrics.set(step=self.step, step_seconds=seconds, loss=loss)
        self.metrics.add("tokens_total", tokens)
        self.tracker.tell(self.step, loss=loss, step_seconds=seconds, tokens_per_second=tokens / seconds)
        self.say(f"step {self.step} loss {loss:.4f} {tokens / seconds:.0f} tokens/s")

    def _agreed(self) -> int:
        """What all ranks do now: SIGTERM reaches them at different moments, and clocks differ."""
        due = time.monotonic() - self.saved_at >= self.asked.checkpoint_every_seconds and self.ranks.rank == 0
        mine = _STOP if self.stopping else _SAVE if due else _NONE
        told = torch.tensor(mine, device=self.device)
        dist.all_reduce(told, op=dist.ReduceOp.MAX)
        return int(told.item())

    def _told_to_stop(self, *_: object) -> None:
        self.stopping = True

    def _together(self, *, last: bool) -> AbstractContextManager[None]:
        """Gradients are exchanged after the last pass of a step only."""
        if hasattr(self.model, "set_requires_gradient_sync"):
            self.model.set_requires_gradient_sync(last)
            return contextlib.nullcontext()
        no_sync = getattr(self.model, "no_sync", contextlib.nullcontext)
        found: AbstractContextManager[None] = contextlib.nullcontext() if last else no_sync()
        return found

    def _precision(self) -> AbstractContextManager[Any]:
        """Sharded weights are cast as they are gathered; whole ones as they are used."""
        if self.asked.sharding != "none":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def _profile(self) -> AbstractContextManager[Any]:
        first, last, root = self.asked.profile_from, self.asked.profile_to, self.asked.checkpoint_dir
        if first is None or root is None or self.ranks.rank:
            return contextlib.nullcontext()
        schedule = torch.profiler.schedule(wait=first - 1, warmup=0, active=(last or first) - first + 1, repeat=1)
        profiler = torch.profiler.profile(
            schedule=schedule, on_trace_ready=torch.profiler.tensorboard_trace_handler(str(root / "profile"))
        )
        self._profiler = profiler
        return profiler


def built(asked: argparse.Namespace, device: torch.device) -> nn.Module:
    """The model with its weights, spread over the ranks as asked."""
    sizes = Sizes(
        layers=asked.layers,
        hidden=asked.hidden,
        ffn=asked.ffn,
        heads=asked.heads,
        kv_heads=asked.kv_heads,
        head_dim=asked.head_dim,
        vocab=asked.vocab,
        recompute=asked.recompute == "full",
    )
    torch.manual_seed(asked.seed)
    if asked.sharding == "none":
        whole = Decoder(sizes)
        whole.initialise()
        whole.to(device)
        ids = [device.index] if device.index is not None else None
        return nn.parallel.DistributedDataParallel(whole, device_ids=ids)
    return _sharded(sizes, asked, device)


def _sharded(sizes: Sizes, asked: argparse.Namespace, device: torch.device) -> nn.Module:
    """Each rank has its part of every layer; nobody ever has the whole model (FSDP2, PyTorch 2.6 and later)."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    with torch.device("meta"):
        model = Decoder(sizes)
    reduced = torch.float32 if asked.gradients == "fp32" else torch.bfloat16
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=reduced)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    model.to_empty(device=device)
    model.initialise()
    return model


def main(words: Sequence[str]) -> int:
    """Joins the group that torchrun made, and trains."""
    asked = arguments.parse(words)
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    ranks = Ranks(*(int(os.environ[name]) for name in names))
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", ranks.local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo", timeout=timedelta(minutes=10))
    for root in (asked.checkpoint_dir, asked.local_checkpoint_dir):
        if root is not None:
            Path(root).mkdir(parents=True, exist_ok=True)
    try:
        with copier(asked, ranks):
            return _told(Run(asked, ranks, device))
    finally:
        dist.destroy_process_group()


def _told(run: Run) -> int:
    """Trains, and says to the tracker how that ended."""
    status = "FAILED"
    try:
        code = run.train()
        status = {0: "FINISHED", STOPPED: "KILLED"}.get(code, status)
        return code
    finally:
        run.tracker.end(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
