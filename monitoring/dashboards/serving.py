"""Model services: how long people wait, how full the servers are, what a dollar buys (vLLM's own metrics)."""

from monitoring.dashboards.alerts import bounds
from monitoring.dashboards.model import Bounds, Dashboard, Panel, Query, Section, Unit, Variable
from monitoring.dashboards.queries import planned, told
from monitoring.dashboards.references import References

_SERVICE = '{service=~"$service"}'
_SECONDS_PER_HOUR = 3600
_SLOW_TOKEN_S = 0.2
"""MLPerf Inference, Llama 2 70B, server scenario: 200 ms for a token after the first."""


def serving(plan: References) -> Dashboard:
    """All services, or one."""
    return Dashboard(
        uid="gpucluster-serving",
        title="Serving",
        description="Latency, queue, KV cache, replicas and price of the model services.",
        variables=(Variable(name="service", label="service", metric="gpucluster:serving:requests_running"),),
        sections=(
            Section(title="What people wait for", panels=_latency()),
            Section(title="How full the servers are", panels=_load(plan)),
            Section(title="What comes out", panels=_output(plan)),
        ),
    )


def _serving(name: str) -> str:
    return f"gpucluster:serving:{name}{_SERVICE}"


def _latency() -> tuple[Panel, ...]:
    both = "{{service}} q{{quantile}}"
    return (
        Panel(
            title="Time to the first token",
            description="Rises with the queue: replicas are too few, or prompts are long.",
            unit=Unit.SECONDS,
            queries=[Query(_serving("time_to_first_token_seconds"), both)],
            bounds=bounds("service-slow", "seconds"),
        ),
        Panel(
            title="Time between tokens",
            description="Above a fifth of a second a reader waits: batches are too large, or the GPUs slow down.",
            unit=Unit.SECONDS,
            queries=[Query(_serving("inter_token_seconds"), both)],
            bounds=Bounds(warn=_SLOW_TOKEN_S),
        ),
        Panel(
            title="Time in the queue",
            description="Anything but zero for long is load that the replicas cannot take.",
            unit=Unit.SECONDS,
            queries=[Query(_serving("queue_seconds"), both)],
        ),
    )


def _load(plan: References) -> tuple[Panel, ...]:
    services = plan.services.items()
    waiting = _serving("requests_waiting")
    ready = f"sum by (service) ({_serving('replicas_ready')})"
    return (
        Panel(
            title="Requests that wait, by replica",
            description="Above the dashed line the autoscaler adds a replica; without one the wait grows and grows.",
            unit=Unit.COUNT,
            queries=[
                Query(f"sum by (service) ({waiting}) / {ready}", "{{service}}"),
                *planned(
                    "service",
                    {name: each.waiting_per_replica for name, each in services},
                    f"sum by (service) ({waiting})",
                    "target",
                ),
            ],
        ),
        Panel(
            title="Requests that run",
            description="Flat at the top while others wait: the batch is as large as memory lets it be.",
            unit=Unit.COUNT,
            queries=[Query(f"sum by (service) ({_serving('requests_running')})", "{{service}}")],
        ),
        Panel(
            title="KV cache in use, fullest replica",
            description="At 100 % vLLM puts running requests back into the queue and computes them again.",
            unit=Unit.PART,
            queries=[Query(f"max by (service) ({_serving('kv_cache_usage_ratio')})", "{{service}}")],
            most=1,
        ),
        Panel(
            title="Replicas",
            description="At the upper line the pool or maxReplicas is the limit, and the queue grows.",
            unit=Unit.COUNT,
            queries=[
                Query(ready, "{{service}} ready"),
                *planned("service", {name: each.max_replicas for name, each in services}, ready, "most"),
                *planned("service", {name: each.min_replicas for name, each in services}, ready, "least"),
            ],
            decimals=0,
        ),
        Panel(
            title="Requests put back, a second",
            description="Preemption for want of KV cache: shorten maxModelLen, add replicas, or use an fp8 cache.",
            unit=Unit.PER_SECOND,
            queries=[
                Query(f"sum by (service) (rate(vllm:num_preemptions_total{_SERVICE}[$__rate_interval]))", "{{service}}")
            ],
        ),
        Panel(
            title="Prompts found in the cache",
            description="A part that falls makes each first token dearer: prompts changed, or replicas are too many.",
            unit=Unit.PART,
            queries=[
                Query(
                    f"sum by (service) (rate(vllm:prefix_cache_hits_total{_SERVICE}[$__rate_interval]))"
                    f" / sum by (service) (rate(vllm:prefix_cache_queries_total{_SERVICE}[$__rate_interval]))",
                    "{{service}}",
                )
            ],
            most=1,
        ),
    )


def _output(plan: References) -> tuple[Panel, ...]:
    return (
        Panel(
            title="Generated tokens per second",
            description="Falls while requests wait: a replica is gone, or its GPUs are slow.",
            unit=Unit.TOKENS_PER_SECOND,
            queries=[Query(f"sum by (service) ({_serving('tokens_per_second')})", "{{service}}")],
        ),
        Panel(
            title="Requests per second",
            description="Zero while people ask: the way in is closed, so look at the gateway.",
            unit=Unit.REQUESTS_PER_SECOND,
            queries=[Query(f"sum by (service) ({_serving('requests_per_second')})", "{{service}}")],
        ),
        Panel(
            title="Requests that failed",
            description="More than one in a hundred: read a server's log; after an update, take it back.",
            unit=Unit.PART,
            queries=[Query('gpucluster:serving:error_ratio{service=~"$service", window="5m"}', "{{service}}")],
            bounds=bounds("service-errors", "ratio"),
        ),
        *_money(plan),
        Panel(
            title="Length of prompts and answers",
            description="Longer prompts fill the cache and delay the first token for everybody.",
            unit=Unit.COUNT,
            queries=[
                Query(
                    f"sum by (service) (rate(vllm:request_{name}_tokens_sum{_SERVICE}[$__rate_interval]))"
                    f" / sum by (service) (rate(vllm:request_{name}_tokens_count{_SERVICE}[$__rate_interval]))",
                    f"{{{{service}}}} {said}",
                )
                for name, said in (("prompt", "prompt"), ("generation", "answer"))
            ],
            width=12,
        ),
    )


def usd_per_hour(plan: References, selector: str = _SERVICE) -> str | None:
    """What the ready replicas of each service cost an hour; None where no pool of theirs has a price."""
    prices = {
        name: each.gpus_per_replica * usd
        for name, each in plan.services.items()
        if each.pool in plan.pools and (usd := plan.pools[each.pool].usd_per_gpu_hour) is not None
    }
    if not prices:
        return None
    return f"sum by (service) (gpucluster:serving:replicas_ready{selector}) * on (service) {told('service', prices)}"


def _money(plan: References) -> tuple[Panel, ...]:
    spent = usd_per_hour(plan)
    if spent is None:
        return ()
    return (
        Panel(
            title="Tokens per dollar",
            description="Low at night is idle replicas: lower minReplicas.",
            unit=Unit.TOKENS_PER_USD,
            queries=[
                Query(
                    f"sum by (service) ({_serving('tokens_per_second')})"
                    f" * {_SECONDS_PER_HOUR} / on (service) ({spent})",
                    "{{service}}",
                )
            ],
            width=12,
        ),
    )
