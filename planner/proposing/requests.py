"""What a replica of a model answers: requests a second at which the first word still comes in time.

From the rates of its GPUs, as vLLM works: a step reads the weights and the cache of its batch, prompts are read beside
it. No run of such a server stands behind the parts of the peaks, so that the answer is known within half of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner.proposing.question import Offer, Serving
from planner.serving.memory import (
    Quantization,
    kv_bytes_per_token,
    kv_copies,
    serving_memory,
    weights_bytes,
)
from planner.throughput import peak_tflops
from planner.training.job import tensor_degrees

OFF = 0.5
"""How far a replica's rate may lie from what is forecast, relative to it (assumed)."""

UTILIZATION = 0.9
_PROMPT_PART, _READ_PART = 0.5, 0.6
_STEP_S, _FIRST_S = 0.003, 0.03
"""Assumed: the parts of the peaks that prompts and reads reach, what a step and the first word take beside them."""

_FULL = 0.8
"""Part of what it can answer that a replica is asked for, so that requests need not wait for each other long."""

_BATCHES = tuple(2**power for power in range(10))


@dataclass(frozen=True, kw_only=True)
class Replica:
    """A server on `tensor` GPUs with weights in that type: the requests a second that it is asked for, the first word
    of each after `ttft_s`, a further one each `token_s`, `batch` of them at a time. `bound` is what ends it.
    """

    tensor: int
    quantization: Quantization
    rps: float
    ttft_s: float
    token_s: float
    batch: int
    bound: str


def replicas(question: Serving, offer: Offer) -> Iterator[Replica]:
    """Each degree of tensor parallelism that divides a node, in 16 bits, and in fp8 where the GPU computes in it."""
    kinds: tuple[Quantization, ...] = ("none", "fp8") if offer.gpu.fp8_tflops else ("none",)
    for tensor in tensor_degrees(question.model, offer.gpus):
        if offer.gpus % tensor == 0:
            found = (replica(question, offer, tensor, kind) for kind in kinds)
            yield from (each for each in found if each is not None)


def replica(question: Serving, offer: Offer, tensor: int, quantization: Quantization) -> Replica | None:
    """The most that it answers in time; None where its memory or its speed is not enough for one request."""
    model, gpu = question.model, offer.gpu
    length = question.prompt + question.answer
    memory = serving_memory(model, gpu, tensor, UTILIZATION, quantization)
    room = memory.sequences(length)
    narrow = "fp8" if quantization == "fp8" else "bf16"
    peak = tensor * peak_tflops(gpu, narrow) * 1e12
    read_s = 2 * model.active_parameters * question.prompt / (peak * _PROMPT_PART)
    bandwidth = tensor * gpu.memory_tb_per_s * 1e12 * _READ_PART
    weights = weights_bytes(model, quantization)
    token = kv_bytes_per_token(model) * kv_copies(model, tensor)
    best: Replica | None = None
    bound = "memory for the requests' cache"
    for batch in _BATCHES:
        if batch > room:
            break
        touched = _touched(question, batch)
        moved = weights * touched + batch * (question.prompt + question.answer / 2) * token
        step_s = moved / bandwidth + 2 * model.active_parameters * batch / (peak * _PROMPT_PART) + _STEP_S
        rps = batch / (question.answer * step_s + batch * read_s)
        busy = _FULL * rps * read_s
        ttft_s = read_s + busy * read_s / (2 * (1 - busy)) + step_s + _FIRST_S
        if ttft_s > question.ttft_s:
            bound = "time to the first token"
            break
        best = Replica(
            tensor=tensor,
            quantization=quantization,
            rps=_FULL * rps,
            ttft_s=ttft_s,
            token_s=step_s,
            batch=batch,
            bound="the batch" if batch == _BATCHES[-1] else "",
        )
    return best and (best if best.bound else replace(best, bound=bound))


def _touched(question: Serving, batch: int) -> float:
    """Part of the weights that a step reads: all of a dense model, of a mixture the experts that somebody takes."""
    model = question.model
    if model.experts is None:
        return 1.0
    idle = (1 - model.experts.active / model.experts.count) ** batch
    return 1 - idle * model.expert_parameters / model.parameters
