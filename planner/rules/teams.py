"""Teams and their shares."""

from collections.abc import Iterable

from planner.draft import AwsDraft, Draft, aws_warning, rule
from planner.findings import Observation
from planner.teams import most_usd_a_month, plan_teams


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
                remedy=f"set gpus to {fits}, or raise monthlyUsd to {most:,.0f}"
                if fits
                else f"raise monthlyUsd to {most:,.0f}; it pays for no GPU all month",
                subject=team.name,
                inputs={"quota": f"{team.gpus} GPUs", "budget": f"{team.monthly_usd:,.0f} USD"},
            )
