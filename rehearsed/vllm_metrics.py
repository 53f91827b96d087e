"""The page `/metrics` of vLLM's server, from the state of its engine. Pure but for what it counts.

Source: vLLM, vllm/v1/metrics/loggers.py (names, labels, buckets), docs/design/metrics.md; the names are those of 0.29.
`http_*`: prometheus-fastapi-instrumentator, metrics.py, default(). `*_created`: prometheus_client, exposition.py, which
tells of every counter and histogram since when it counts. Absent are adapters, samples of an engine step, what a switch
turns on (corrupted requests, residence of cache blocks), and what the client library tells of its process.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rehearsal.kubelet.exposition import Family, Histogram, Sample, family
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
OTHERS = [(whose, what) for whose in ("external_prefix", "mm") for what in ("queries", "hits")]
AWAKE, SLEEPS = "awake", ("weights_offloaded", "discard_all")
REASONS = ("stop", "length", "abort", "error")
ANSWER = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 7.5, 10.0, 30.0),
    60.0,
)
BY_PATH = (0.1, 0.5, 1.0)
PATH, METHOD = {"handler": "/v1/completions"}, {"method": "POST"}
"""What a load asks for."""
BYTES_PER_TOKEN = 4
"""Of a prompt. ASSUMED."""
HISTOGRAMS: Mapping[str, tuple[str, Sequence[float] | None]] = {
    "time_to_first_token_seconds": ("time to first token", FIRST_TOKEN),
    "inter_token_latency_seconds": ("inter-token latency", BETWEEN_TOKENS),
    "request_time_per_output_token_seconds": ("time per output token of a request", BETWEEN_TOKENS),
    "e2e_request_latency_seconds": ("end to end request latency", REQUEST),
    "request_queue_time_seconds": ("time in the phase WAITING", REQUEST),
    "request_prefill_time_seconds": ("time in the phase PREFILL", REQUEST),
    "request_decode_time_seconds": ("time in the phase DECODE", REQUEST),
    "request_inference_time_seconds": ("time in the phase RUNNING", REQUEST),
    "request_prompt_tokens": ("tokens of prompts", None),
    "request_prefill_kv_computed_tokens": ("tokens that were not cached", None),
    "request_generation_tokens": ("tokens of answers", None),
    "request_max_num_generation_tokens": ("tokens of the longest answer", None),
    "request_params_max_tokens": ("tokens that were asked for", None),
    "request_params_n": ("answers that were asked for", (1.0, 2.0, 5.0, 10.0, 20.0)),
}
"""What of, and their bounds: of tokens they go up to the longest request."""


def decades(most: int) -> list[float]:
    """Bounds of token counts: 1, 2 and 5 of each power of ten up to a number."""
    every = (digit * 10**power for power in range(len(str(most))) for digit in (1, 2, 5))
    return [float(each) for each in every if each <= most]


@dataclass
class Counted:
    """What the server has counted since it began, at a Unix time. `longest` is its `--max-model-len`."""

    longest: int
    began: float = 0.0
    answered: int = 0
    answers: Histogram = field(default_factory=lambda: Histogram(ANSWER))
    by_path: Histogram = field(default_factory=lambda: Histogram(BY_PATH))
    histograms: dict[str, Histogram] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.histograms = {name: Histogram(b or decades(self.longest)) for name, (_, b) in HISTOGRAMS.items()}

    def count(self, done: Iterable[Done], engine: Engine) -> None:
        """Requests that were answered, each as the server observes it."""
        shape = engine.shape
        for each in done:
            between = each.decode / (shape.output - 1)
            self.answered += 1
            self.answers.observe(each.whole)
            self.by_path.observe(each.whole)
            self.histograms["inter_token_latency_seconds"].observe(between, shape.output - 1)
            for name, value in {
                "time_to_first_token_seconds": each.first_token,
                "request_time_per_output_token_seconds": between,
                "e2e_request_latency_seconds": each.whole,
                "request_queue_time_seconds": each.queued,
                "request_prefill_time_seconds": each.prefill,
                "request_decode_time_seconds": each.decode,
                "request_inference_time_seconds": each.prefill + each.decode,
                "request_prompt_tokens": shape.prompt,
                "request_prefill_kv_computed_tokens": shape.prompt,
                "request_generation_tokens": shape.output,
                "request_max_num_generation_tokens": shape.output,
                "request_params_max_tokens": shape.output,
                "request_params_n": 1,
            }.items():
                self.histograms[name].observe(value)


def page(engine: Engine, counted: Counted, labels: Mapping[str, str], cache: Mapping[str, str]) -> list[Family]:
    """All of it. `labels` are model_name and engine; `cache` is what vLLM tells of the configuration of its cache."""
    told = [*families(engine, counted, labels), *web(counted)]
    config = family("vllm:cache_config_info", "gauge", "Information of the cache's configuration.", (cache, 1.0))
    return [*told, config, *created(told, counted.began)]


def created(told: Iterable[Family], began: float) -> Iterator[Family]:
    """Since when each of these counts."""
    for each in told:
        name = each.name.removesuffix("_total") if each.kind == "counter" else each.name
        own = [(one.labels, began) for one in each.samples if one.suffix in ("", "_count")]
        if each.kind != "gauge":
            yield family(f"{name}_created", "gauge", each.help, *own)


def web(counted: Counted) -> Iterator[Family]:
    """Requests as the web server sees them. Answers that stream have no length."""
    many = float(counted.answered)
    yield family("http_requests_total", "counter", "Requests.", ({**PATH, "status": "2xx", **METHOD}, many))
    sent = counted.histograms["request_prompt_tokens"].sum * BYTES_PER_TOKEN
    for name, total in (("request", sent), ("response", 0.0)):
        both = [Sample(PATH, many, "_count"), Sample(PATH, total, "_sum")]
        yield Family(f"http_{name}_size_bytes", "summary", f"Bytes of each {name}.", both)
    yield counted.answers.family("http_request_duration_highr_seconds", "Seconds of a request.", {})
    yield counted.by_path.family("http_request_duration_seconds", "Seconds of a request by path.", {**PATH, **METHOD})


def families(engine: Engine, counted: Counted, labels: Mapping[str, str]) -> list[Family]:
    """vLLM's own."""
    waiting, read = float(len(engine.waiting)), float(engine.prefills * engine.shape.prompt)

    def one(name: str, help: str, value: float, kind: str = "gauge", **more: str) -> Family:
        return family(f"vllm:{name}", "counter" if kind == "counter" else "gauge", help, ({**labels, **more}, value))

    reasons = [
        ({**labels, "reason": each}, waiting if each == "capacity" else 0.0) for each in ("capacity", "deferred")
    ]
    ends = [({**labels, "finished_reason": each}, float(counted.answered * (each == "length"))) for each in REASONS]
    asleep = [({**labels, "sleep_state": each}, float(each == AWAKE)) for each in (AWAKE, *SLEEPS)]
    sources = ("local_compute", "local_cache_hit", "external_kv_transfer")
    read_from = [({**labels, "source": each}, read if each == "local_compute" else 0.0) for each in sources]
    return [
        one("num_requests_running", "Requests in the batches of the model.", float(engine.running)),
        one("num_requests_waiting", "Requests that wait.", waiting),
        family("vllm:num_requests_waiting_by_reason", "gauge", "Requests that wait, by reason.", *reasons),
        one("kv_cache_usage_perc", "Use of the KV cache, 1 is all of it.", round(engine.kv_used, 6)),
        one("prefix_cache_queries_total", "Tokens looked up in the prefix cache.", read, "counter"),
        one("prefix_cache_hits_total", "Tokens found in the prefix cache.", 0.0, "counter"),
        *(one(f"{whose}_cache_{what}_total", f"{what} of another cache.", 0.0, "counter") for whose, what in OTHERS),
        family("vllm:engine_sleep_state", "gauge", "Which one it is in has 1.", *asleep),
        one("num_preemptions_total", "Preemptions.", 0.0, "counter"),
        one("prompt_tokens_total", "Tokens of prompts.", read, "counter"),
        family("vllm:prompt_tokens_by_source_total", "counter", "Tokens of prompts by source.", *read_from),
        one("prompt_tokens_cached_total", "Tokens of prompts that were cached.", 0.0, "counter"),
        one("generation_tokens_total", "Tokens that were generated.", float(int(engine.generated)), "counter"),
        family("vllm:request_success_total", "counter", "Requests that were answered.", *ends),
        *(
            histogram.family(f"vllm:{name}", f"Histogram of {HISTOGRAMS[name][0]}.", labels)
            for name, histogram in counted.histograms.items()
        ),
    ]
