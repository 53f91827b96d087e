"""The sizing page: GPUs by model and use, cost tiers, and the price of a lab."""

from collections.abc import Iterable

from catalogue.gpus import GPUS
from catalogue.models import MODELS
from catalogue.prices import RATES, SERVICES
from catalogue.tiers import TIERS
from planner.cost.amounts import Amount
from planner.cost.comparison import Lab, labs, tier_costs
from planner.cost.stack import Around, fsx_service
from planner.plan import plan
from planner.pool_types import AwsPoolPlan
from planner.training.advice import FILL, needs
from settings.load import from_sections
from settings.model import AwsSettings

_HEAD = f"""# Sizing

Written by `make reference`. For a stack of your own `make plan` says more: it knows layout, activations and prices.

## GPUs at least

By memory alone, {FILL:.0%} of it filled with weights, gradients and optimizer states; FSDP; activations come on top.

"""
_SHOWN = ("H100", "H200", "B200")
_MODELS = ("llama-3.1-8b", "llama-2-13b", "llama-3.1-70b", "llama-3.1-405b", "mixtral-8x7b", "deepseek-v3")
_HOURS = 40
LAB = "lab-cloud"
"""The preset whose lab in the cloud is priced."""
_OWNER = {"example": True, "lifecycle": {"owner": "nobody", "costCentre": "none"}}


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
    settings = from_sections({"preset": LAB, **_OWNER})
    if not isinstance(settings, AwsSettings):
        raise TypeError(f"preset {LAB} is a stack on AWS")
    pools, lustre = plan(settings).pools, settings.storage.lustre
    rented = {pool.role: pool for pool in pools.values()}
    gpu, system = rented["training"], rented["system"]
    around = Around(
        nat_gateways=1,
        fsx=fsx_service(lustre.deployment_type, lustre.throughput_mbps_per_tib),
        fsx_gib=lustre.capacity_gib,
    )
    ways = labs(gpu, system, around, SERVICES, RATES, hours_per_month=_HOURS)
    yield ""
    yield f"## A lab for {_HOURS} hours a month"
    yield ""
    yield (
        f"The cloud's is the preset `{LAB}`: {_nodes(gpu)}, {_nodes(system)} and {lustre.capacity_gib} GiB of FSx for "
        "Lustre."
    )
    yield ""
    yield "| lab | what | GPUs | bought, USD | an hour, USD | a month, USD |"
    yield "|---|---|---|---|---|---|"
    yield from map(_lab, ways)


def _nodes(bought: AwsPoolPlan) -> str:
    return f"{bought.count} {bought.instance.type} ({bought.usage})"


def _lab(lab: Lab) -> str:
    amounts = (_range(each) for each in (lab.purchase, lab.hourly, lab.monthly))
    return f"| {lab.name} | {lab.about} | {lab.gpus} | {' | '.join(amounts)} |"


def _range(amount: Amount) -> str:
    if amount.high == 0:
        return "0"
    digits = 0 if amount.low >= 100 else 2
    low, high = f"{amount.low:,.{digits}f}", f"{amount.high:,.{digits}f}"
    return low if low == high else f"{low} to {high}"
