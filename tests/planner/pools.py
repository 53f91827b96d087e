"""Node pools of AWS as what prices and quotas count of them."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import Any

from catalogue.instances import INSTANCES
from catalogue.types import UsageClass
from planner.blocks import BlockPlan, BlockShare, block_times, together
from planner.pool_types import AwsPoolPlan
from tests.planner.stacks import planned


def bought(
    type_: str,
    count: int,
    usage: UsageClass = UsageClass.ON_DEMAND,
    *,
    interfaces: int = 2,
    blocks: Iterable[tuple[date, date, int]] = (),
    **changes: Any,
) -> AwsPoolPlan:
    """A pool of so many nodes, with `interfaces` each, in `blocks` of a first day, a last day and nodes."""
    instance = INSTANCES[type_]
    shares = tuple(
        BlockShare(
            group="training",
            reservation="cr-0",
            times=block_times(start, end),
            count=nodes,
            nodes=nodes,
            max_unhealthy=1,
        )
        for start, end, nodes in blocks
    )
    times = together([each.times for each in shares]) if shares else None
    known: dict[str, Any] = {
        "name": "training",
        "role": "training",
        "instance": instance,
        "count": count,
        "usage": usage,
        "gpus_per_node": instance.gpu_count,
        "interfaces": (),
        "addresses_per_node": interfaces * instance.addresses_per_interface,
        "root_volume_gib": 200,
        "surge": 0,
        "block": BlockPlan(shares=shares, zone_id="use2-az1", times=times) if times else None,
    }
    return replace(planned().pools["system"], **{**known, **changes})
