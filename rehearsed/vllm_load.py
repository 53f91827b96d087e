"""One replica of vLLM under the load that is offered to its Service: how fast it is, and what its `/metrics` say.

Seconds of the load are those of the clock, not of the kubelet's faster time: autoscalers and Prometheus run by it too.
How fast a replica is follows from its GPUs (`rehearsal.devices.boards`) and from the bytes of its weights; the shares
that a server reaches of a board's memory rate and operations are assumed.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rehearsal.cluster.pages import Handler
from rehearsal.devices import cuda, gpus
from rehearsal.devices.boards import BOARDS
from rehearsal.kubelet import orders
from rehearsal.kubelet.allotted import Holder, Work
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.exposition import text
from rehearsal.kubelet.program import Exit, Launch
from rehearsed import vllm_metrics
from rehearsed.queueing import Engine, Shape, Speed
from rehearsed.streams import Streams
from rehearsed.vllm_metrics import Counted

TICK_SECONDS = 1.0
BYTES_PER_PARAMETER = 2.0
SMALLEST_MODEL, UNKNOWN_MODEL = 1e8, 16e9
"""Bytes below which the files only stand for a model, and what one has of which nothing is known: eight billions."""

_BILLIONS = r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)[bB](?![A-Za-z0-9])"
MEMORY_SHARE, COMPUTE_SHARE = 0.8, 0.5
"""Of a board's memory rate in decoding, and of its operations in a prefill, what a server reaches. Assumed."""

STEP_OVERHEAD_S = 0.002
ACTIVATIONS_GIB = 2.0
BLOCK_TOKENS = 16
MANY_SEQS, FEW_SEQS, LARGE_MIB = 1024, 256, 70 * 1024
"""`--max-num-seqs` where nobody says it: vLLM, engine/arg_utils.py, by the memory of the GPU (few on an A100)."""

KV_BYTES = ((8e9, 131072.0), (70e9, 327680.0), (405e9, 516096.0))
"""Bytes of the KV cache per token in 16 bits, by parameters: the three sizes of Llama 3 (their config.json)."""


@dataclass(frozen=True)
class Asked:
    """What of the command line decides how fast a replica is."""

    name: str
    gpus: int
    memory_share: float = 0.9
    max_seqs: int | None = None
    longest: int = 8192
    kv_bytes_each: float = 2.0


def asked(argv: Sequence[str], model: str, gpus: int) -> Asked:
    """From a command line of `vllm serve`, whose options are written with = or a blank. Pure."""
    words = " ".join(argv).split()
    pairs = zip(words, [*words[1:], ""], strict=True)
    options = {name: value or after for word, after in pairs for name, _, value in [word.partition("=")]}
    seqs = options.get("--max-num-seqs")
    return Asked(
        name=(options.get("--served-model-name") or model).split(" ")[0],
        gpus=gpus,
        memory_share=float(options.get("--gpu-memory-utilization") or 0.9),
        max_seqs=int(seqs) if seqs else None,
        longest=int(options.get("--max-model-len") or 8192),
        kv_bytes_each=1.0 if "fp8" in options.get("--kv-cache-dtype", "") else 2.0,
    )


def published(model: str) -> float:
    """The bytes of a model's weights by the name under which it is published; 0 for a path or a name without a size."""
    named = [] if model.startswith("/") else re.findall(_BILLIONS, model)
    return max((float(each) for each in named), default=0.0) * 1e9 * BYTES_PER_PARAMETER


def weights(stored: int, model: str) -> float:
    """The bytes of weights that the GPUs hold: as stored, where that is a whole model; else as it is named. Pure."""
    known = max(published(model), float(stored))
    return known if known > SMALLEST_MODEL else UNKNOWN_MODEL


def kv_bytes(parameters: float) -> float:
    """Bytes per token in 16 bits for a model of so many parameters, between the known sizes by powers. Pure."""
    (low, small), (mid, middle), (high, large) = KV_BYTES
    first, second = ((low, small), (mid, middle)) if parameters < mid else ((mid, middle), (high, large))
    slope = math.log(second[1] / first[1]) / math.log(second[0] / first[0])
    return first[1] * math.pow(parameters / first[0], slope)


def speed(asked: Asked, weights: float, product: str, memory_mib: int, shape: Shape) -> Speed:
    """A replica with these bytes of weights on GPUs of a product. Pure."""
    board, parameters = BOARDS[product], weights / 2
    rate = board.memory_gbps * 1e9 * MEMORY_SHARE * asked.gpus
    each = kv_bytes(parameters) * asked.kv_bytes_each / 2
    room = (memory_mib * asked.memory_share / 1024 - ACTIVATIONS_GIB) * 2**30 * asked.gpus - weights
    many = MANY_SEQS if memory_mib >= LARGE_MIB and "A100" not in product else FEW_SEQS
    return Speed(
        prefill_s=2 * parameters * shape.prompt / (board.tflops * 1e12 * COMPUTE_SHARE * asked.gpus),
        step_s=weights / rate + STEP_OVERHEAD_S,
        token_s=each / rate,
        max_seqs=asked.max_seqs or many,
        kv_tokens=max(shape.total, int(room / each)),
    )


def begin(launch: Launch, model: str, gpus: int, stored: int, loaded_at: float) -> Replica:
    """The replica of a server that begins; `stored` are the bytes of its model's files."""
    return Replica(launch, asked(launch.argv, model, gpus), weights(stored, model), loaded_at)


class Server(Answering):
    """A server's answers, together with its replica: both end together, and a GPU that fails ends them. Told to end it
    goes on with its streams for a while.
    """

    def __init__(
        self,
        launch: Launch,
        ports: Mapping[int, Handler],
        loaded_at: float,
        replica: Replica,
        streams: Streams,
        *,
        local: bool = False,
    ) -> None:
        super().__init__(launch, ports, loaded_at, local=local)
        self._replica, self._streams = replica, streams

    def leaves(self) -> bool:
        return self._streams.leaves()

    def struck(self, kind: str) -> Exit | None:
        words = cuda.error(kind)
        return Exit(1, f"EngineDeadError: EngineCore encountered an issue. {words}") if words else None

    def stop(self) -> None:
        self._streams.cut()
        self._replica.close()
        super().stop()


class Replica:
    """A server that works off its part of the load from when its weights are loaded (monotonic) until it is closed."""

    def __init__(self, launch: Launch, asked: Asked, weights: float, loaded_at: float) -> None:
        self._launch, self._asked = launch, asked
        host = launch.world.hosts.get(launch.node)
        gpu = gpus.find(host.machine) if host else None
        self._engine: Engine | None = None
        if gpu is not None:
            shape = Shape()
            self._engine = Engine(speed(asked, weights, gpu.product, gpu.memory, shape), shape)
        self._counted = Counted(asked.longest, time.time())
        self._lock = threading.Lock()
        self._loaded_at, self._compute = loaded_at, 0.0
        self._task = f"load of {launch.namespace}/{launch.pod_name}"
        holder = Holder(launch.namespace, launch.pod_name, str(launch.spec["name"]))
        launch.world.allotted.work(holder, self._work)
        launch.world.tasks.run(self._task, self._tick)

    def close(self) -> None:
        """No more work."""
        self._launch.world.tasks.cancel(self._task)

    def page(self) -> str:
        """What `/metrics` answers now."""
        if self._engine is None:
            return ""
        self._go_on()
        labels = {"engine": "0", "model_name": self._asked.name}
        cache = {
            "block_size": str(BLOCK_TOKENS),
            "cache_dtype": "fp8" if self._asked.kv_bytes_each == 1.0 else "auto",
            "engine": "0",
            "gpu_memory_utilization": str(self._asked.memory_share),
            "num_gpu_blocks": str(self._engine.speed.kv_tokens // BLOCK_TOKENS),
        }
        with self._lock:
            return text(vllm_metrics.page(self._engine, self._counted, labels, cache))

    def _tick(self) -> float:
        self._go_on()
        return TICK_SECONDS

    def _go_on(self) -> None:
        """Brings the engine to now under the present load; before the weights are there it does nothing."""
        monotonic = time.monotonic()
        if self._engine is None or monotonic < self._loaded_at:
            return
        world, launch = self._launch.world, self._launch
        loads = world.orders.now().loads
        pod = world.find("pods", launch.pod_name, launch.namespace) or launch.pod
        rps = orders.share(loads, pod, world.stores["pods"].all(), time.time()) if loads else 0.0
        with self._lock:
            engine, until = self._engine, monotonic - self._loaded_at
            if until > engine.now:
                worked, passed = engine.busy, until - engine.now
                self._counted.count(engine.advance(until, rps), engine)
                self._compute = (engine.busy - worked) / passed

    def _work(self) -> Work:
        """What the server makes its GPUs do; their memory is taken from the beginning."""
        return Work(min(1.0, self._compute), self._asked.memory_share)
