"""The page `/metrics` of vLLM's server, from the state of its engine. Pure but for what it counts.

Source: vLLM, vllm/v1/metrics/loggers.py (names, labels, buckets), docs/design/metrics.md; the names are those of 0.29.
What the engine here does not have - images, adapters, speculation, samples of an engine step - is absent.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rehearsal.kubelet.exposition import Family, Histogram, family
from rehearsed.queueing import Done, Engine

FIRST_TOKEN = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
    *(160.0, 640.0, 2560.0),
)
BETWEEN_TOKENS = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
)
REQUEST = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0),
    *(1920.0, 7680.0),
)
REASONS = ("stop", "length", "abort", "error")
SECONDS = {
    "time_to_first_token": ("time to first token", FIRST_TOKEN),
    "inter_token_latency": ("inter-token latency", BETWEEN_TOKENS),
    "request_time_per_output_token": ("time per output token of a request", BETWEEN_TOKENS),
    "e2e_request_latency": ("end to end request latency", REQUEST),
    "request_queue_time": ("time in the phase WAITING", REQUEST),
    "request_prefill_time": ("time in the phase PREFILL", REQUEST),
    "request_decode_time": ("time in the phase DECODE", REQUEST),
    "request_inference_time": ("time in the phase RUNNING", REQUEST),
}
"""Histograms of seconds: what of, and their bounds."""


def decades(most: int) -> list[float]:
    """Bounds of token counts: 1, 2 and 5 of each power of ten up to a number."""
    every = (digit * 10**power for power in range(len(str(most))) for digit in (1, 2, 5))
    return [float(each) for each in every if each <= most]


@dataclass
class Counted:
    """What the server has counted since it began. `longest` is its `--max-model-len`."""

    longest: int
    answered: int = 0
    seconds: dict[str, Histogram] = field(default_factory=dict)
    tokens: dict[str, Histogram] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.seconds = {name: Histogram(bounds) for name, (_, bounds) in SECONDS.items()}
        self.tokens = {name: Histogram(decades(self.longest)) for name in ("prompt", "generation")}

    def count(self, done: Iterable[Done], engine: Engine) -> None:
        """Requests that were answered, each as the server observes it."""
        shape = engine.shape
        for each in done:
            between = each.decode / (shape.output - 1)
            self.answered += 1
            self.seconds["inter_token_latency"].observe(between, shape.output - 1)
            for name, value in {
                "time_to_first_token": each.first_token,
                "request_time_per_output_token": between,
                "e2e_request_latency": each.whole,
                "request_queue_time": each.queued,
                "request_prefill_time": each.prefill,
                "request_decode_time": each.decode,
                "request_inference_time": each.prefill + each.decode,
            }.items():
                self.seconds[name].observe(value)
            self.tokens["prompt"].observe(shape.prompt)
            self.tokens["generation"].observe(shape.output)


def families(engine: Engine, counted: Counted, labels: Mapping[str, str], cache: Mapping[str, str]) -> list[Family]:
    """The page. `labels` are model_name and engine; `cache` is what vLLM tells of the configuration of its cache."""
    waiting, read = float(len(engine.waiting)), float(engine.prefills * engine.shape.prompt)

    def one(name: str, help: str, value: float, kind: str = "gauge", **more: str) -> Family:
        return family(f"vllm:{name}", "counter" if kind == "counter" else "gauge", help, ({**labels, **more}, value))

    reasons = [
        ({**labels, "reason": each}, waiting if each == "capacity" else 0.0) for each in ("capacity", "deferred")
    ]
    ends = [({**labels, "finished_reason": each}, float(counted.answered * (each == "length"))) for each in REASONS]
    sources = ("local_compute", "local_cache_hit", "external_kv_transfer")
    read_from = [({**labels, "source": each}, read if each == "local_compute" else 0.0) for each in sources]
    return [
        one("num_requests_running", "Requests in the batches of the model.", float(engine.running)),
        one("num_requests_waiting", "Requests that wait.", waiting),
        family("vllm:num_requests_waiting_by_reason", "gauge", "Requests that wait, by reason.", *reasons),
        one("kv_cache_usage_perc", "Use of the KV cache, 1 is all of it.", round(engine.kv_used, 6)),
        one("prefix_cache_queries_total", "Tokens looked up in the prefix cache.", read, "counter"),
        one("prefix_cache_hits_total", "Tokens found in the prefix cache.", 0.0, "counter"),
        one("num_preemptions_total", "Preemptions.", 0.0, "counter"),
        one("prompt_tokens_total", "Tokens of prompts.", read, "counter"),
        family("vllm:prompt_tokens_by_source_total", "counter", "Tokens of prompts by source.", *read_from),
        one("prompt_tokens_cached_total", "Tokens of prompts that were cached.", 0.0, "counter"),
        one("generation_tokens_total", "Tokens that were generated.", float(int(engine.generated)), "counter"),
        family("vllm:request_success_total", "counter", "Requests that were answered.", *ends),
        *(
            histogram.family(f"vllm:{name}_seconds", f"Histogram of {SECONDS[name][0]} in seconds.", labels)
            for name, histogram in counted.seconds.items()
        ),
        *(
            histogram.family(f"vllm:request_{name}_tokens", f"Histogram of {name} tokens.", labels)
            for name, histogram in counted.tokens.items()
        ),
        family("vllm:cache_config_info", "gauge", "Information of the cache's configuration.", (cache, 1.0)),
    ]
