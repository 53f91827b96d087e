"""The hourly price, the life of the stack, and teams' shares of it."""

from collections.abc import Iterable
from datetime import timedelta
from math import ceil

from catalogue.units import HOURS_PER_MONTH
from planner.cost.amounts import PriceLine
from planner.draft import AwsDraft, Draft, aws_rule, aws_warning, rule
from planner.findings import Observation
from planner.keeper import end_of, is_lab
from planner.rules.known import pools
from planner.teams import most_usd_a_month, plan_teams
from planner.wording import enough, usd
from settings.aws_pools import AwsPool

_LAB_LIFE = timedelta(days=14)


@aws_rule("Z15 PW14", formula="sum over lines of price x quantity <= maxHourlyUsd", source="AWS price pages")
def budget(draft: AwsDraft) -> Iterable[Observation]:
    """The stack costs no more per hour than its budget. Outside the listed regions the dearest one counts."""
    prices, limit, region = draft.prices, draft.settings.budget.max_hourly_usd, draft.settings.platform.region
    listed = prices.listed
    hourly = prices.hourly if listed else prices.hourly_high
    if hourly > limit:
        dearest = max(prices.lines, key=lambda line: line.usd_per_hour)
        basis = "at US list prices" if listed else f"at the dearest prices seen, as none are recorded for {region}"
        yield Observation(
            path="budget.maxHourlyUsd",
            sentence=f"the stack costs {hourly:.2f} USD per hour {basis} (range {prices.hourly_low:.2f} to "
            f"{prices.hourly_high:.2f}; most of it {dearest.name}), and the budget is {usd(limit)}",
            remedy=f"raise the budget to {enough(hourly)} or shrink the pools",
            inputs={"hourly": f"{hourly:.2f} USD/h", "limit": f"{usd(limit)} USD/h"},
        )


@aws_rule(
    "Z15",
    each=pools,
    formula="a price of the instance type is recorded for the pool's capacity",
    source="Definition of the stack file; AWS price pages",
)
def price_unknown(draft: AwsDraft, pool: AwsPool) -> Iterable[Observation]:
    """A pool without a recorded price is not free, so the budget says nothing about it."""
    if pool.name in draft.prices.unpriced and pool.instance_type in draft.catalogue.instances:
        yield Observation(
            path="instanceType",
            sentence=f"no {pool.capacity} price of {_types(pool)} is recorded, so the budget cannot cover "
            f"its {pool.most} nodes",
            remedy="take a type with a price, or waive price-unknown with the price you were quoted as reason",
            inputs={"unpriced": f"{pool.most} nodes"},
        )


def _types(pool: AwsPool) -> str:
    """What Karpenter may take beside the pool's own type is paid as well."""
    others = pool.karpenter.instance_types if pool.karpenter else ()
    return " or of ".join((pool.instance_type, *others))


@aws_rule("Z15", formula="sum over pools of count x GPUs <= maxGpus", source="Definition of the stack file")
def gpu_ceiling(draft: AwsDraft) -> Iterable[Observation]:
    """No more GPUs than somebody has allowed: a digit too many in a count is refused before anything is priced."""
    limit = draft.settings.budget.max_gpus
    gpus = sum(pool.gpus for pool in draft.pools.values())
    if limit is not None and gpus > limit:
        most = max(draft.pools.values(), key=lambda pool: pool.gpus)
        index = next(index for index, pool in enumerate(draft.settings.pools) if pool.name == most.name)
        yield Observation(
            path=f"pools[{index}].count",
            sentence=f"the stack has {gpus} GPUs, {most.gpus} of them in {most.name}, "
            f"and budget.maxGpus allows {limit}",
            remedy=f"take fewer nodes, or raise budget.maxGpus to {gpus}",
            inputs={"gpus": str(gpus), "limit": str(limit)},
        )


@aws_warning("Z15", formula="budget.maxGpus is set where a pool has GPUs", source="Definition of the stack file")
def gpus_unbounded(draft: AwsDraft) -> Iterable[Observation]:
    """A stack with GPUs says how many it may have at most, so that a digit too many in a count is refused."""
    gpus = sum(pool.gpus for pool in draft.pools.values())
    if gpus and draft.settings.budget.max_gpus is None:
        yield Observation(
            path="budget.maxGpus",
            sentence=f"the stack has {gpus} GPUs and no limit on their number: only maxHourlyUsd refuses a mistyped "
            "count",
            remedy=f"set it to {gpus}, or to as many as you mean to grow to",
        )


@aws_warning("Z15", formula="budget.alerts or keeper.maxUsd is set", source="Definition of the stack file")
def spending_unwatched(draft: AwsDraft) -> Iterable[Observation]:
    """AWS tells somebody what the stack has cost, or the keeper ends it at an amount; a price is of an hour."""
    keeper = draft.settings.keeper
    if draft.settings.budget.alerts is None and (keeper is None or keeper.max_usd is None):
        monthly = ceil(draft.prices.monthly)
        yield Observation(
            path="budget.alerts",
            sentence=f"the stack may cost {monthly} USD a month, and nobody is told what it has cost",
            remedy=f"add alerts: {{monthlyUsd: {monthly}, emails: [...]}} with the addresses of those who pay, or "
            "keeper.maxUsd, at which it ends",
        )


@aws_rule(
    "Z15",
    formula="(hourly price - GPU pools) x 730 h <= alerts.monthlyUsd",
    source="Definition of the stack file; AWS price pages",
)
def month_below_fixed(draft: AwsDraft) -> Iterable[Observation]:
    """The monthly budget is above what the stack costs without its GPUs; otherwise it alerts every month and is
    ignored.
    """
    alerts, prices = draft.settings.budget.alerts, draft.prices
    fixed = sum(line.usd_per_hour for line in prices.lines if not _of_gpus(draft, line)) * HOURS_PER_MONTH
    if alerts and fixed > alerts.monthly_usd:
        yield Observation(
            path="budget.alerts.monthlyUsd",
            sentence=f"the stack without its GPU nodes costs {fixed:.0f} USD a month, so a budget of "
            f"{alerts.monthly_usd:.0f} would alert every month",
            remedy=f"raise monthlyUsd to {ceil(prices.monthly)}, which the whole stack costs, or what you mean to "
            "spend",
            inputs={"fixed": f"{fixed:.0f} USD", "limit": f"{alerts.monthly_usd:.0f} USD"},
        )


@aws_warning(
    "Z15", formula="monthly price <= alerts.monthlyUsd", source="Definition of the stack file; AWS price pages"
)
def month_above_alerts(draft: AwsDraft) -> Iterable[Observation]:
    """A monthly budget below a whole month of the stack alerts before the month ends; that is right for stacks that
    stand for part of it.
    """
    alerts, prices = draft.settings.budget.alerts, draft.prices
    if alerts and prices.monthly > alerts.monthly_usd:
        day = alerts.monthly_usd / prices.monthly * HOURS_PER_MONTH / 24
        yield Observation(
            path="budget.alerts.monthlyUsd",
            sentence=f"a whole month costs {prices.monthly:.0f} USD, and {alerts.monthly_usd:.0f} are spent after "
            f"{day:.1f} days",
            remedy=f"set monthlyUsd to {ceil(prices.monthly)}, or waive month-above-alerts where it is to stand for "
            "less",
            inputs={"monthly": f"{prices.monthly:.0f} USD", "limit": f"{alerts.monthly_usd:.0f} USD"},
        )


def _of_gpus(draft: AwsDraft, line: PriceLine) -> bool:
    pool = draft.pools.get(line.pool) if line.pool else None
    return pool is not None and pool.gpus > 0


@rule("Z15 LF03", formula="today <= lifecycle.expiry", source="Definition of the stack file")
def stack_expired(draft: Draft) -> Iterable[Observation]:
    """The stack's expiry date has not passed: an expired stack may be removed at any time."""
    expiry = draft.settings.lifecycle.expiry
    if expiry and expiry < draft.today:
        yield Observation(
            path="lifecycle.expiry",
            sentence=f"the stack expired on {expiry.isoformat()}",
            remedy="destroy it, or set a later day",
            inputs={"expiry": expiry.isoformat(), "today": draft.today.isoformat()},
        )


@aws_rule(
    "LF03",
    formula="lifecycle.expiry or keeper.endsAt is set on a preset lab-*",
    source="Definition of the presets: a lab is paid for by the hour and destroyed after use",
)
def lab_without_expiry(draft: AwsDraft) -> Iterable[Observation]:
    """A lab has an expiry date, which all its resources carry as a tag, so that a sweep finds what is left of it."""
    settings = draft.settings
    if is_lab(settings) and end_of(settings) is None:
        yield Observation(
            path="lifecycle.expiry",
            sentence=f"the lab {settings.preset} has no day on which it ends, at {draft.prices.hourly:.2f} USD an hour",
            remedy=f'add expiry: "{(draft.today + _LAB_LIFE).isoformat()}", or the day that suits you',
            inputs={"hourly": f"{draft.prices.hourly:.2f} USD/h"},
        )


@rule(
    "Y02 M01",
    formula="gpus of the team <= gpus of its queue, and of the training pools",
    source="Definition of the stack file (teams, scheduling.queues)",
)
def team_quota_beyond_queue(draft: Draft) -> Iterable[Observation]:
    """A team's quota is not above what its queue gives: more pods would be admitted and then never start."""
    caps = {queue.name: queue.gpus for queue in draft.settings.scheduling.queues}
    training = sum(pool.count * pool.devices_per_node for pool in draft.pools.values() if pool.role == "training")
    for index, team in enumerate(draft.settings.teams):
        cap = min(caps.get(team.queue) or training, training)
        if team.gpus > cap:
            yield Observation(
                path=f"teams[{index}].gpus",
                sentence=f"team {team.name} may hold {team.gpus} GPUs, and its queue {team.queue} never gives more "
                f"than {cap}",
                remedy=f"set it to at most {cap}, or raise the queue's gpus or the training pools",
                subject=team.name,
                inputs={"quota": f"{team.gpus} GPUs", "queue": f"{cap} GPUs"},
            )


@aws_warning(
    "Z02",
    formula="gpus x dearest GPU-hour of the training pools x 730 h <= monthlyUsd",
    source="Definition of the stack file; AWS price pages",
)
def team_budget(draft: AwsDraft) -> Iterable[Observation]:
    """AWS bills nodes, not namespaces: a team's quota limits its cost, so its budget is compared with that."""
    prices = [
        price.usd_per_hour / pool.gpus_per_node
        for pool in draft.pools.values()
        if pool.role == "training" and pool.gpus_per_node and (price := pool.instance.price(pool.usage))
    ]
    for index, (team, planned) in enumerate(zip(draft.settings.teams, plan_teams(draft.settings), strict=True)):
        most = most_usd_a_month(planned, max(prices, default=0.0))
        if team.monthly_usd is not None and most > team.monthly_usd:
            fits = int(team.gpus * team.monthly_usd / most)
            yield Observation(
                path=f"teams[{index}].monthlyUsd",
                sentence=f"a month of the {team.gpus} GPUs that team {team.name} may hold costs {most:,.0f} USD, and "
                f"its budget is {team.monthly_usd:,.0f}: it is spent after {30 * team.monthly_usd / most:.1f} days",
                remedy=f"set gpus to {fits}, or raise monthlyUsd to {ceil(most):,}"
                if fits
                else f"raise monthlyUsd to {ceil(most):,}; it pays for no GPU all month",
                subject=team.name,
                inputs={"quota": f"{team.gpus} GPUs", "budget": f"{team.monthly_usd:,.0f} USD"},
            )
