"""What the catalogue has to offer: instance types by the way they are bought, and on-premises servers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

from catalogue.offerings import offered
from catalogue.prices import LISTED_REGIONS
from catalogue.types import Gpu, UsageClass
from catalogue.whole import Catalogue
from planner.communication.group import Cluster
from planner.interconnect import cluster_of
from planner.pool_types import AwsPoolPlan, PoolPlan
from planner.pools import plan_aws_pools, plan_metal_pools

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
