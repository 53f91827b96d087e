"""The page of first guesses: GPUs by model and use, cost tiers, and what a lab costs."""

from collections.abc import Iterable

from catalogue.gpus import GPUS
from catalogue.instances import INSTANCES
from catalogue.models import MODELS
from catalogue.prices import RATES, SERVICES
from catalogue.tiers import TIERS
from catalogue.types import Instance, UsageClass
from planner.cost.amounts import Amount
from planner.cost.labs import Lab, labs
from planner.cost.stack import Around, Purchase, fsx_service
from planner.cost.tiers import tier_costs
from planner.pool_types import Role
from planner.training.minimum import FILL, needs

_HEAD = f"""# First guesses

Written by `make reference`. For a stack of your own `make plan` says more: it knows layout, activations and prices.

## GPUs at least

By memory alone, {FILL:.0%} of it filled with weights, gradients and optimizer states; FSDP; activations come on top.

"""
_SHOWN = ("H100", "H200", "B200")
_MODELS = ("llama-3.1-8b", "llama-2-13b", "llama-3.1-70b", "llama-3.1-405b", "mixtral-8x7b", "deepseek-v3")
_HOURS = 40
_LAB_GIB = 1200
_ROOT_GIB = 100


def page() -> str:
    """The page."""
    return _HEAD + "\n".join((*_gpus(), *_tiers(), *_labs())) + "\n"


def _gpus() -> Iterable[str]:
    yield "| model | parameters | GPU | serve | QLoRA | LoRA | train in full |"
    yield "|---|---|---|---|---|---|---|"
    for model in (MODELS[name] for name in _MODELS if name in MODELS):
        for gpu in (GPUS[name] for name in _SHOWN):
            need = needs(model.parameters, gpu.memory_gb)
            counts = " | ".join(str(each or "-") for each in (need.inference, need.qlora, need.lora, need.full))
            yield f"| {model.name} | {model.parameters / 1e9:.1f} B | {gpu.name} | {counts} |"


def _tiers() -> Iterable[str]:
    yield ""
    yield "## Cost tiers of racks"
    yield ""
    yield "What consultancies quote for clusters of H100, approximate; for your own racks the plan adds up the parts."
    yield ""
    yield "| tier | what | GPUs | USD | USD a GPU | against the cheapest |"
    yield "|---|---|---|---|---|---|"
    for name, cost in tier_costs(TIERS.values()).items():
        money = f"{cost.usd:,.0f} | {cost.usd_per_gpu:,.0f} | x {cost.times_cheapest:.2f}"
        yield f"| {name} | {TIERS[name].about} | {cost.gpus} | {money} |"


def _labs() -> Iterable[str]:
    gpu, system = INSTANCES["g5.xlarge"], INSTANCES["m7i.large"]
    around = Around(nat_gateways=1, fsx=fsx_service("SCRATCH_2", None), fsx_gib=_LAB_GIB)
    ways = labs(
        _rented("gpu", "training", gpu, 1),
        _rented("system", "system", system, 2),
        around,
        SERVICES,
        RATES,
        hours_per_month=_HOURS,
    )
    yield ""
    yield f"## A lab for {_HOURS} hours a month"
    yield ""
    yield f"The cloud's with one {gpu.type}, two {system.type} and {_LAB_GIB} GiB of FSx for Lustre."
    yield ""
    yield "| lab | what | GPUs | bought, USD | an hour, USD | a month, USD |"
    yield "|---|---|---|---|---|---|"
    yield from map(_lab, ways)


def _rented(pool: str, role: Role, instance: Instance, count: int) -> Purchase:
    return Purchase(
        pool=pool, role=role, instance=instance, count=count, usage=UsageClass.ON_DEMAND, root_volume_gib=_ROOT_GIB
    )


def _lab(lab: Lab) -> str:
    amounts = (_range(each) for each in (lab.purchase, lab.hourly, lab.monthly))
    return f"| {lab.name} | {lab.about} | {lab.gpus} | {' | '.join(amounts)} |"


def _range(amount: Amount) -> str:
    if amount.high == 0:
        return "0"
    digits = 0 if amount.low >= 100 else 2
    low, high = f"{amount.low:,.{digits}f}", f"{amount.high:,.{digits}f}"
    return low if low == high else f"{low} to {high}"
