"""Requests of model services: how many a step takes, how long they last; and adapters beside a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from catalogue.echo import echo
from catalogue.image_types import numbers, repository, tag
from catalogue.site import meant
from planner.draft import Draft, rule, warning
from planner.findings import Observation
from planner.rules.known import services
from planner.serving.memory import RANKS
from settings.serving import Adapter, Service

_MOST_VOCABULARY = 258_048


def _adapters(draft: Draft) -> Iterator[tuple[str, Adapter, Service]]:
    """Every adapter with its settings path, and its service."""
    for path, service in services(draft):
        for index, adapter in enumerate(service.adapters):
            yield f"{path}.adapters[{index}]", adapter, service


@rule(
    "Q02",
    each=_adapters,
    formula="base = model of the service",
    source="LoRA, Hu et al. 2021, section 4.1: an adapter is a difference to the weights it was trained on",
)
def adapter_base(draft: Draft, adapter: Adapter, service: Service) -> Iterable[Observation]:
    """An adapter belongs to the model beside which it is offered: to another one's weights it adds noise, or nothing.

    vLLM compares shapes, not models: between models of one architecture it answers, wrongly.
    """
    known = draft.catalogue.models
    if adapter.base not in known:
        yield Observation(
            path="base",
            sentence=f"the catalogue has no model {echo(adapter.base)}, so nobody can tell whether {adapter.name} fits",
            remedy=meant(adapter.base, known),
        )
    elif adapter.base != service.model:
        yield Observation(
            path="base",
            sentence=f"{adapter.name} was trained on {adapter.base}, and {service.name} serves {service.model}",
            remedy=f"offer it beside a service whose model is {adapter.base}, or correct base",
        )


@rule("Q02", each=_adapters, formula=f"rank <= {RANKS[-1]}", source="vLLM 0.29.0, vllm/config/lora.py, MaxLoRARanks")
def adapter_rank(_: Draft, adapter: Adapter, _service: Service) -> Iterable[Observation]:
    """vLLM takes adapters up to a rank that it knows, and refuses larger ones when it starts."""
    if adapter.rank > RANKS[-1]:
        yield Observation(
            path="rank",
            sentence=f"{adapter.rank} is above {RANKS[-1]}, the largest rank that vLLM takes",
            remedy=f"merge {adapter.name} into its model and serve that, or train it again with a lower rank",
            inputs={"rank": str(adapter.rank)},
        )


@rule(
    "Q02",
    each=services,
    formula=f"vocabulary <= {_MOST_VOCABULARY}",
    source="vLLM 0.29.0, vllm/lora/layers/logits_processor.py",
)
def adapter_vocabulary(draft: Draft, service: Service) -> Iterable[Observation]:
    """vLLM has adapters for output layers up to a size only."""
    model = draft.catalogue.models.get(service.model)
    if service.adapters and model and model.vocab > _MOST_VOCABULARY:
        yield Observation(
            path="adapters",
            sentence=f"{model.name} has {model.vocab} tokens in its vocabulary, and vLLM takes adapters up to "
            f"{_MOST_VOCABULARY}",
            remedy="merge the adapters into the model and serve that",
            inputs={"vocabulary": str(model.vocab)},
        )


_DRAINS_SINCE = (0, 18)


_LONGEST_DRAIN_S = 7200
"""What the settings take for drainSeconds."""


@rule(
    "Q02",
    each=services,
    formula="maxNumBatchedTokens >= maxNumSeqs; without chunkedPrefill >= maxModelLen",
    source="vLLM 0.29.0, vllm/config/scheduler.py, verify_max_model_len",
)
def batch_tokens(_: Draft, service: Service) -> Iterable[Observation]:
    """A step has a token for each request of a batch, and a whole prompt where prompts are not cut."""
    tokens = service.max_num_batched_tokens
    if tokens is None:
        return
    least = service.max_num_seqs or 0
    what = f"a batch of {least} requests takes a token of each"
    if not service.chunked_prefill and service.max_model_len > least:
        least = service.max_model_len
        what = f"without chunkedPrefill a prompt of {least} tokens is one step"
    if tokens < least:
        yield Observation(
            path="maxNumBatchedTokens",
            sentence=f"is {tokens}, and {what}: vLLM refuses to start",
            remedy=f"raise it to {least} or more, or leave it out",
            inputs={"maxNumBatchedTokens": f"{tokens} tokens", "at least": f"{least} tokens"},
        )


@warning(
    "Q02",
    each=services,
    formula="chunkedPrefill",
    source="vLLM 0.29.0, vllm/engine/arg_utils.py, _set_default_chunked_prefill_and_prefix_caching_args",
)
def prefill_whole(_: Draft, service: Service) -> Iterable[Observation]:
    """vLLM reads long prompts in parts; it warns that without it may crash or answer wrongly."""
    if not service.chunked_prefill:
        yield Observation(
            path="chunkedPrefill",
            sentence="is off, which vLLM does not support officially for models that generate: it may crash or "
            "answer wrongly, and each long prompt stops all streams of its replica",
            remedy="remove it; a smaller maxNumBatchedTokens keeps the pauses of streams short",
        )


@warning(
    "J11 V12",
    each=services,
    formula="maxModelLen / tokens per second of a request <= drainSeconds",
    source="Kubernetes, Termination of Pods; vLLM pull request 36666 (--shutdown-timeout)",
)
def stream_outlives_drain(draft: Draft, service: Service) -> Iterable[Observation]:
    """A replica that stops ends the streams it has begun before it is killed."""
    plan = draft.services.get(service.name)
    if plan is None or plan.longest_stream_seconds <= plan.drain_seconds:
        return
    yield Observation(
        path="drainSeconds",
        sentence=f"a stream of {plan.max_model_len} tokens takes {plan.longest_stream_seconds} s at "
        f"{plan.request_tokens_per_s} tokens/s, and a replica that stops cuts it after {plan.drain_seconds} s",
        remedy=f"{_longer_drain(plan.longest_stream_seconds)}lower maxModelLen; where callers ask for far fewer "
        "tokens, waive this rule with that as the reason",
        inputs={
            "maxModelLen": f"{plan.max_model_len} tokens",
            "rate": f"{plan.request_tokens_per_s} tokens/s",
            "drain": f"{plan.drain_seconds} s",
        },
    )


def _longer_drain(seconds: int) -> str:
    if seconds > _LONGEST_DRAIN_S:
        return ""
    return f"set it to {seconds} or more, which an update of nodes then waits for, or "


@rule(
    "J11",
    each=services,
    formula="version of vllm/vllm-openai >= 0.18",
    source="vLLM pull requests 34730 and 36666 (--shutdown-timeout, v0.18.0)",
)
def server_cannot_drain(_: Draft, service: Service) -> Iterable[Observation]:
    """The server's image knows the option by which it ends its streams; an older one refuses its command line."""
    version = numbers(tag(service.image))
    published = f"/{repository(service.image)}".endswith("/vllm-openai")
    if published and version and version < _DRAINS_SINCE:
        yield Observation(
            path="image",
            sentence=f"{service.image} is older than vLLM 0.18.0 and does not know --shutdown-timeout, with which "
            "it is started: it ends at once",
            remedy="take an image of vLLM 0.18.0 or later, such as vllm/vllm-openai:v0.29.0",
            inputs={"version": ".".join(map(str, version))},
        )
