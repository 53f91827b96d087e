"""What is asked, a model to train or to serve and what it may take; and the hardware on offer for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from math import isfinite, isnan
from typing import Literal

from catalogue.echo import echo
from catalogue.model_types import Model
from catalogue.offerings import offered
from catalogue.prices import LISTED_REGIONS
from catalogue.regions import REGIONS
from catalogue.types import Gpu, UsageClass
from catalogue.whole import Catalogue
from planner.communication.group import Cluster
from planner.interconnect import cluster_of
from planner.pool_types import AwsPoolPlan, PoolPlan
from planner.pools import plan_aws_pools, plan_metal_pools
from settings.errors import meant

SERVING_DAYS = 30.0
"""Days that a budget for a service is for, where nobody says."""

LONGEST_SEQUENCE = 8192
STEP_SEQUENCES = 512
"""Sequences of a step of the optimizer: about 4 million tokens of 8,192, as Llama 3 and its like were trained."""


class QuestionError(Exception):
    """A question that cannot be answered; the message says what to type."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What an answer may take: days, US dollars for all of them, the region that nodes are rented in. With `spot`
    gangs of several nodes may be of spot capacity, whose interruptions nobody can forecast; single nodes always may.
    """

    days: float
    usd: float | None
    region: str
    spot: bool = False


@dataclass(frozen=True, kw_only=True)
class Training:
    """So many tokens through a model, within `limits`."""

    model: Model
    tokens: float
    limits: Limits

    @property
    def sequence(self) -> int:
        """Tokens of a sequence: the model's context, 8,192 at most."""
        return min(self.model.context, LONGEST_SEQUENCE)


@dataclass(frozen=True, kw_only=True)
class Serving:
    """So many requests a second of a model, the first word of each within `ttft_s`; a request has `prompt` tokens and
    gets `answer` tokens.
    """

    model: Model
    rps: float
    ttft_s: float
    prompt: int
    answer: int
    limits: Limits


def asked(words: Mapping[str, str], models: Mapping[str, Model]) -> Training | Serving:
    """The question as it was typed, by the names that make has; an empty word was not typed. Raises QuestionError."""
    words = {name: word for name, word in words.items() if word}
    train, serve = words.get("MODEL", ""), words.get("SERVE", "")
    if bool(train) == bool(serve):
        raise QuestionError(
            "say what to train, MODEL=llama-3-70b TOKENS=2e12 DAYS=30 BUDGET=5e6, "
            "or what to serve, SERVE=llama-3-70b RPS=10 TTFT=1"
        )
    name = train or serve
    if name not in models:
        raise QuestionError(f"the catalogue has no model {echo(name)}; {meant(name, sorted(models))}")
    region = words.get("REGION") or "us-east-2"
    if region not in REGIONS:
        raise QuestionError(f"there is no region {echo(region)}; {meant(region, REGIONS)}")
    usd = _number(words, "BUDGET", most=1e12) if words.get("BUDGET") else None
    days = _number(words, "DAYS", most=3650) if train or words.get("DAYS") else SERVING_DAYS
    limits = Limits(days=days, usd=usd, region=region, spot=bool(words.get("SPOT")))
    if train:
        return Training(model=models[name], tokens=_number(words, "TOKENS", most=1e15), limits=limits)
    found = Serving(
        model=models[name],
        rps=_number(words, "RPS", most=1e5),
        ttft_s=_number(words, "TTFT", most=600),
        prompt=round(_number({"PROMPT": "1000", **words}, "PROMPT", least=1, most=1e7)),
        answer=round(_number({"ANSWER": "200", **words}, "ANSWER", least=1, most=1e6)),
        limits=limits,
    )
    if found.prompt + found.answer > found.model.context:
        raise QuestionError(
            f"{found.prompt} tokens of prompt and {found.answer} of answer exceed the context of {name}, "
            f"{found.model.context} tokens; lower PROMPT or ANSWER"
        )
    return found


def _number(words: Mapping[str, str], name: str, *, most: float, least: float = 0.0) -> float:
    word = words.get(name, "")
    try:
        value = float(word.replace(",", "").replace("_", ""))
    except ValueError:
        value = float("nan")
    if isnan(value) or not isfinite(value) or not max(least, 1e-9) <= value <= most:
        said = f"is {echo(word)}" if word else "is missing"
        raise QuestionError(f"{name} {said}: type a number above 0 and at most {most:g}, such as {name}=30")
    return value


Capacity = Literal["on-demand", "spot", "capacity-block", "purchase"]

COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Nodes that are tried."""

MOST_OF_A_BLOCK, LONGEST_BLOCK_DAYS = 64, 182
"""EC2 user guide, Capacity Blocks for ML: up to 64 instances and 182 days."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Nodes of one kind, bought in one way, `most` of them: one where nothing fast joins several. `usd` is an hour of a
    node, or with `purchase` the node itself.
    """

    hardware: str
    gpu: Gpu
    gpus: int
    cluster: Cluster
    capacity: Capacity
    usd: float
    region: str = ""
    zone: str = ""
    most: int = COUNTS[-1]

    @property
    def owned(self) -> bool:
        """Whether it is bought for good."""
        return self.capacity == "purchase"


def offers(catalogue: Catalogue, region: str, today: date, *, gangs: bool, spot: bool = False) -> Iterator[Offer]:
    """Every offer with a price whose GPUs compute in bf16. `gangs`: nodes work together, over a fabric where several
    do, and on spot capacity only with `spot`; otherwise each works alone, and capacity that ends or is taken back is
    left out.
    """
    for instance in catalogue.instances.values():
        where = _place(instance.type, region)
        if instance.gpu is None or instance.gpu.bf16_tflops is None or where is None:
            continue
        for usage in UsageClass:
            price = instance.price(usage)
            if (
                price is None
                or usage not in instance.usage_classes
                or (usage is not UsageClass.ON_DEMAND and not gangs)
            ):
                continue
            pool = _aws_pool(catalogue, instance.type, today)
            yield _offer(pool, usage.value, price.usd_per_hour, gangs=gangs, spot=spot, where=where)
    for server in catalogue.servers.values():
        if server.gpu and server.gpu.bf16_tflops and server.price:
            yield _offer(_metal_pool(catalogue, server.name), "purchase", server.price.usd, gangs=gangs, spot=spot)


def _offer(
    pool: PoolPlan, capacity: Capacity, usd: float, *, gangs: bool, spot: bool, where: tuple[str, str] = ("", "")
) -> Offer:
    cluster = cluster_of(pool)
    if cluster is None or pool.gpu is None:
        raise ValueError(f"{pool.hardware} has no GPUs")
    joined = pool.efa > 0 if isinstance(pool, AwsPoolPlan) else cluster.network is not None
    alone = gangs and (not joined or (capacity == "spot" and not spot))
    return Offer(
        hardware=pool.hardware,
        gpu=pool.gpu,
        gpus=pool.gpus_per_node,
        cluster=cluster,
        capacity=capacity,
        usd=usd,
        region=where[0],
        zone=where[1],
        most=1 if alone else MOST_OF_A_BLOCK if capacity == "capacity-block" else COUNTS[-1],
    )


def _place(type_: str, region: str) -> tuple[str, str] | None:
    """The region and a zone where the type can be had: the one that is asked for, else one with US list prices."""
    there = offered(type_) or {}
    for each in (region, *sorted(LISTED_REGIONS)):
        if zones := [zone for zone in there.get(each, ()) if zone.count("-") == 1]:
            return each, zones[0]
    return None


def _aws_pool(catalogue: Catalogue, type_: str, today: date) -> PoolPlan:
    from settings.aws_pools import AwsPool

    pool = AwsPool.model_validate({"name": "training", "role": "training", "instanceType": type_, "count": 1})
    return plan_aws_pools([pool], catalogue.instances, 2, today)["training"]


def _metal_pool(catalogue: Catalogue, server: str) -> PoolPlan:
    from settings.metal import MetalPool

    pool = MetalPool.model_validate({"name": "training", "role": "training", "server": server, "count": 1})
    return plan_metal_pools([pool], catalogue.servers)["training"]
