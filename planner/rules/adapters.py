"""LoRA adapters: whose they are, and whether vLLM has room for them."""

from collections.abc import Iterable, Iterator

from catalogue.echo import echo
from catalogue.site import meant
from planner.draft import Draft, rule
from planner.findings import Observation
from planner.rules.known import services
from planner.serving.adapters import RANKS
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
