"""The hourly price and the life of the stack."""

from collections.abc import Iterable

from catalogue.prices import LISTED_REGIONS
from planner.draft import AwsDraft, Draft, aws_rule, rule
from planner.findings import Observation, Severity


@aws_rule(
    "budget", "Z15", "PW14", formula="sum over lines of price x quantity <= maxHourlyUsd", source="AWS price pages"
)
def budget(draft: AwsDraft) -> Iterable[Observation]:
    """The stack costs no more per hour than its budget. Outside the listed regions the dearest one counts."""
    prices, limit, region = draft.prices, draft.settings.budget.max_hourly_usd, draft.settings.platform.region
    listed = region in LISTED_REGIONS
    hourly = prices.hourly if listed else prices.hourly_high
    if hourly > limit:
        dearest = max(prices.lines, key=lambda line: line.usd_per_hour)
        basis = "at US list prices" if listed else f"at the dearest prices seen, as none are recorded for {region}"
        yield Observation(
            path="budget.maxHourlyUsd",
            sentence=f"the stack costs {hourly:.2f} USD per hour {basis} (range {prices.hourly_low:.2f} to "
            f"{prices.hourly_high:.2f}; most of it {dearest.name}), and the budget is {limit:.2f}",
            remedy=f"raise the budget to {hourly:.2f} or shrink the pools",
            inputs={"hourly": f"{hourly:.2f} USD/h", "limit": f"{limit:.2f} USD/h"},
        )


@aws_rule(
    "price-unknown",
    "Z15",
    formula="a price of the instance type is recorded for the pool's capacity",
    source="Definition of the stack file; AWS price pages",
)
def price_unknown(draft: AwsDraft) -> Iterable[Observation]:
    """A pool without a recorded price is not free, so the budget says nothing about it."""
    for index, pool in enumerate(draft.settings.pools):
        if pool.name in draft.prices.unpriced and pool.instance_type in draft.catalogue.instances:
            yield Observation(
                path=f"pools[{index}].instanceType",
                sentence=f"no {pool.capacity} price of {pool.instance_type} is recorded, so the budget cannot cover "
                f"its {pool.count} nodes",
                remedy="take a type with a price, or waive price-unknown with the price you were quoted as reason",
                subject=pool.name,
                inputs={"unpriced": f"{pool.count} nodes"},
            )


@rule(
    "stack-expired",
    "Z15",
    severity=Severity.WARNING,
    formula="today <= lifecycle.expiry",
    source="Definition of the stack file",
)
def stack_expired(draft: Draft) -> Iterable[Observation]:
    """A stack past its day is up for destruction."""
    expiry = draft.settings.lifecycle.expiry
    if expiry and expiry < draft.today:
        yield Observation(
            path="lifecycle.expiry",
            sentence=f"the stack expired on {expiry.isoformat()}",
            remedy="destroy it, or set a later day",
            inputs={"expiry": expiry.isoformat(), "today": draft.today.isoformat()},
        )
