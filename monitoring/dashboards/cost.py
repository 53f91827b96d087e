"""Money: who holds GPUs at which price, what stands idle, and what tokens cost.

Teams are told apart as the cluster tells them: by namespace, by queue, by run and by service. Prices are the plan's,
USD per GPU hour of a pool's nodes: what a cloud really bills comes from the cloud.
"""

from collections.abc import Mapping

from monitoring.dashboards.model import Bounds, Dashboard, Panel, Query, Section, Unit
from monitoring.dashboards.queries import LABEL_OF_RUN, by_pool, gpus_of_pods, line, of_pods, told
from monitoring.dashboards.references import References
from monitoring.dashboards.serving import usd_per_hour

_SERVICE_KEY = "label_app_kubernetes_io_instance"
_SECONDS_PER_HOUR = 3600
_MILLION, _BILLION = 1e6, 1e9


def cost(plan: References) -> Dashboard:
    """By namespace, queue, run and service."""
    prices = {name: usd for name, each in plan.pools.items() if (usd := each.usd_per_gpu_hour) is not None}
    return Dashboard(
        uid="gpucluster-cost",
        title="Cost by team",
        description="USD an hour of the GPUs that teams hold, at the plan's prices, and what stands idle.",
        sections=(
            Section(title="Now", panels=_now(plan, prices)),
            Section(title="Who holds GPUs", panels=_holders(prices)),
            Section(title="What it buys", panels=_bought(plan, prices)),
        ),
        hours=24 * 7,
    )


def _usd(gpus: str, prices: Mapping[str, float]) -> str:
    """USD an hour of GPUs that have the label `node`: their pool's price each."""
    return f"({by_pool(gpus)}) * on (pool) group_left () {told('pool', prices)}"


def _all(prices: Mapping[str, float]) -> str:
    """USD an hour of every GPU that there is."""
    return f"sum(gpucluster:node:gpus_allocatable * on (pool) group_left () {told('pool', prices)})"


def _now(plan: References, prices: Mapping[str, float]) -> tuple[Panel, ...]:
    if not prices:
        return (_without_prices(),)
    held = f"(sum({_usd(gpus_of_pods(), prices)}) or vector(0))"
    budget = plan.budget_usd_per_hour
    beside = ""
    if plan.usd_per_hour is not None:
        gpus_usd = sum(usd * plan.pools[name].gpus for name, usd in prices.items())
        beside = f" + {max(plan.usd_per_hour - gpus_usd, 0):.6g}"
    return (
        Panel(
            title="All of the stack" + (f", {budget:g} allowed" if budget else ""),
            description="GPU nodes that are there, and what the plan says of the rest; above the budget, scale down.",
            unit=Unit.USD_PER_HOUR,
            kind="stat",
            queries=[Query(f"{_all(prices)}{beside}", "now")],
            bounds=Bounds(bad=budget),
            decimals=2,
            width=6,
            height=4,
        ),
        Panel(
            title="GPUs held by pods",
            description="What teams use at this moment.",
            unit=Unit.USD_PER_HOUR,
            kind="stat",
            queries=[Query(held, "held")],
            decimals=2,
            width=6,
            height=4,
        ),
        Panel(
            title="GPUs that nobody holds",
            description="Money for nothing: a pool that is too large, or gangs that wait for a node that is missing.",
            unit=Unit.PART,
            kind="stat",
            queries=[Query(f"1 - {held} / {_all(prices)}", "idle")],
            decimals=0,
            width=6,
            height=4,
        ),
        Panel(
            title="Held, the last 30 days",
            description="What the GPUs of all teams came to; compare with the bill.",
            unit=Unit.USD,
            kind="stat",
            # A sample an hour, each worth an hour: finer steps cost Prometheus much and change little.
            queries=[Query(f"sum_over_time({held}[30d:1h])", "30 days")],
            decimals=0,
            width=6,
            height=4,
        ),
    )


def _without_prices() -> Panel:
    return Panel(
        title="GPUs held by pods",
        description="No price of these pools is recorded, so GPUs are counted instead of dollars.",
        unit=Unit.COUNT,
        kind="stat",
        queries=[Query(f"sum({gpus_of_pods()})", "held")],
        width=6,
        height=4,
    )


def _holders(prices: Mapping[str, float]) -> tuple[Panel, ...]:
    def of(gpus: str) -> str:
        return _usd(gpus, prices) if prices else gpus

    unit = Unit.USD_PER_HOUR if prices else Unit.COUNT
    allocated = 'volcano_queue_allocated_scalar_resources{resource="nvidia.com/gpu"}'
    deserved = 'volcano_queue_deserved_scalar_resources{resource="nvidia.com/gpu"}'
    return (
        Panel(
            title="By namespace",
            description="A namespace that grows without a reason has pods that nobody stopped.",
            unit=unit,
            queries=[Query(f"sum by (namespace) ({of(gpus_of_pods())})", "{{namespace}}")],
            stacked=True,
        ),
        Panel(
            title="By run",
            description="A run that holds GPUs and makes no tokens costs the same: compare with its dashboard.",
            unit=unit,
            queries=[Query(f"sum by (run) ({of(of_pods(gpus_of_pods(), 'run', LABEL_OF_RUN))})", "{{run}}")],
            stacked=True,
        ),
        Panel(
            title="By service",
            description="Level at night as by day: minReplicas is too high for the traffic.",
            unit=unit,
            queries=[
                Query(f"sum by (service) ({of(of_pods(gpus_of_pods(), 'service', _SERVICE_KEY))})", "{{service}}")
            ],
            stacked=True,
        ),
        Panel(
            title="GPUs by queue",
            description="A queue above its share uses what others leave, and gives it back when they ask.",
            unit=Unit.COUNT,
            # Volcano counts scalar resources in thousandths (pkg/scheduler/api/resource_info.go, NewResource).
            queries=[
                Query(f"sum by (queue_name) ({allocated}) / 1000", "{{queue_name}}"),
                Query(f"sum by (queue_name) ({deserved}) / 1000", "{{queue_name}} share", reference=True),
            ],
            width=12,
        ),
        Panel(
            title="GPU hours by namespace, the last 7 days",
            description="What to charge to whom, where the prices are another's.",
            unit=Unit.HOURS,
            kind="bargauge",
            queries=[Query(f"sum_over_time((sum by (namespace) ({gpus_of_pods()}))[7d:1h])", "{{namespace}}")],
            decimals=0,
            width=12,
        ),
    )


def _bought(plan: References, prices: Mapping[str, float]) -> tuple[Panel, ...]:
    panels = []
    runs = {name: each.gpus * prices[each.pool] for name, each in plan.runs.items() if each.pool in prices}
    if runs:
        panels.append(
            Panel(
                title="USD for a billion trained tokens",
                description="Rises when a run slows down: the same GPUs, fewer tokens.",
                unit=Unit.USD,
                queries=[
                    Query(
                        f"{told('run', runs)} / {_SECONDS_PER_HOUR} * {_BILLION:g}"
                        " / on (run) (gpucluster:run:tokens_per_second > 0)",
                        "{{run}}",
                    )
                ],
                width=12,
            )
        )
    if spent := usd_per_hour(plan, selector=""):
        served = "(sum by (service) (gpucluster:serving:tokens_per_second) > 0)"
        panels.append(
            Panel(
                title="USD for a million generated tokens",
                description="High with little traffic, as idle replicas cost the same; compare with others' prices.",
                unit=Unit.USD,
                queries=[
                    Query(f"({spent}) / {_SECONDS_PER_HOUR} * {_MILLION:g} / on (service) {served}", "{{service}}")
                ],
                width=12,
            )
        )
    if prices and plan.usd_per_hour is not None:
        panels.append(
            Panel(
                title="All GPUs that are there",
                description="Above the plan: nodes that nobody planned; below it: nodes are missing.",
                unit=Unit.USD_PER_HOUR,
                queries=[
                    Query(_all(prices), "GPU nodes"),
                    line("planned, everything", plan.usd_per_hour),
                    *([line("budget", plan.budget_usd_per_hour)] if plan.budget_usd_per_hour else ()),
                ],
                width=24,
            )
        )
    return tuple(panels)
