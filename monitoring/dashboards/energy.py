"""Energy: what the GPUs draw, what a day comes to, and what a token takes (A18, B19).

The GPUs' own meters count what their boards take. What the room takes beside them is the plan's
estimate: the PUE of on-premises racks; on a cloud nobody tells it.
"""

from monitoring.dashboards.model import Dashboard, Panel, Query, Section, Unit
from monitoring.dashboards.queries import line, planned
from monitoring.dashboards.references import References

_JOULES_PER_KWH = 3.6e6
_W_PER_KW = 1e3


def energy(plan: References) -> Dashboard:
    """By pool, run and service."""
    return Dashboard(
        uid="gpucluster-energy",
        title="Energy",
        description="Power and energy of the GPUs, and what a token takes.",
        sections=(
            Section(title="Power", panels=_power(plan)),
            Section(title="Energy", panels=_energy(plan)),
            Section(title="What a token takes", panels=_tokens()),
            *([Section(title="Machines", panels=_machines())] if plan.facility_kw else []),
        ),
        hours=24,
    )


def _power(plan: References) -> tuple[Panel, ...]:
    drawn = "sum by (pool) (gpucluster:gpu:power_watts)"
    limits = {name: each.watts_per_gpu * each.gpus for name, each in plan.pools.items()}
    room = plan.facility_kw
    return (
        Panel(
            title="GPUs by pool",
            description="A fall to the idle level while pods hold the GPUs is a run that hangs.",
            unit=Unit.WATT,
            queries=[
                Query(drawn, "{{pool}}"),
                *planned("pool", limits, drawn, "limit of the boards"),
            ],
            width=12,
        ),
        Panel(
            title="All GPUs",
            description="Steps of MW within seconds strain the supply: stagger the starts of large runs.",
            unit=Unit.WATT,
            queries=[
                Query("sum(gpucluster:gpu:power_watts)", "GPUs"),
                *([line("room, all machines and cooling", room * _W_PER_KW)] if room else ()),
            ],
            width=12,
        ),
    )


def _energy(plan: References) -> tuple[Panel, ...]:
    day = f"increase(gpucluster:gpu:energy_joules[1d])) / {_JOULES_PER_KWH:g}"
    pue = plan.pue
    return (
        Panel(
            title="GPUs, kWh of the last day",
            description="The same work for more energy: clocks or cooling have changed.",
            unit=Unit.KWH,
            queries=[Query(f"sum by (pool) ({day}", "{{pool}}")],
            stacked=True,
            width=12 if pue else 16,
        ),
        *(
            [
                Panel(
                    title=f"With cooling, last day (PUE {pue:.2f})",
                    description="The plan's PUE on the GPUs' energy; other machines come on top.",
                    unit=Unit.KWH,
                    queries=[Query(f"sum({day} * {pue:.4g}", "with cooling")],
                    width=6,
                    kind="stat",
                    decimals=0,
                )
            ]
            if pue
            else []
        ),
        Panel(
            title="GPUs, kWh of the last 30 days",
            description="What to report; the bill of the room counts everything.",
            unit=Unit.KWH,
            queries=[Query(f"sum(increase(gpucluster:gpu:energy_joules[30d])) / {_JOULES_PER_KWH:g}", "30 days")],
            kind="stat",
            decimals=0,
            width=6 if pue else 8,
        ),
    )


def _tokens() -> tuple[Panel, ...]:
    of_run = "sum by (run) (gpucluster:gpu:power_watts * on (node, gpu) group_left (run) gpucluster:gpu:run)"
    return (
        Panel(
            title="Joules for a trained token",
            description="Rises when GPUs wait for each other: they draw power and make fewer tokens.",
            unit=Unit.JOULE,
            queries=[
                Query(f"{of_run} / on (run) (gpucluster:run:tokens_per_second > 0)", "{{run}}"),
            ],
            width=12,
        ),
        Panel(
            title="Power by GPU and part of it at work",
            description="High power with idle tensor cores is memory or communication, not arithmetic.",
            unit=Unit.PART,
            queries=[
                Query(
                    "avg by (pool) (gpucluster:gpu:power_watts / gpucluster:gpu:power_limit_watts)",
                    "{{pool}} power of its limit",
                ),
                Query("avg by (pool) (gpucluster:gpu:tensor_active_ratio)", "{{pool}} tensor cores"),
            ],
            most=1,
            width=12,
        ),
    )


def _machines() -> tuple[Panel, ...]:
    return (
        Panel(
            title="Warmest sensor of each node",
            description="A node much warmer than its neighbours: fans, dust, or coolant that does not flow.",
            unit=Unit.CELSIUS,
            queries=[
                Query("topk(10, max by (node) (node_hwmon_temp_celsius))", "{{node}}"),
            ],
            most=110,
            width=12,
        ),
        Panel(
            title="Warmest air that comes in",
            description="Several machines of a row: the room does not cool. Controllers tell it, where they are asked.",
            unit=Unit.CELSIUS,
            queries=[Query("topk(10, gpucluster:machine:inlet_celsius)", "{{node}}")],
            width=12,
        ),
        Panel(
            title="Whole machines",
            description="By their power supplies: GPUs, processors and fans.",
            unit=Unit.WATT,
            queries=[Query("sum by (pool) (gpucluster:machine:power_watts)", "{{pool}}")],
            width=12,
        ),
        Panel(
            title="Parts that failed",
            description="Of machines whose controllers are asked; the alerts name them.",
            unit=Unit.COUNT,
            queries=[
                Query(
                    "sum(clamp_min(gpucluster:pool:expected_power_supplies - on (pool) group_right ()"
                    " gpucluster:machine:power_supplies_well, 0))",
                    "power supplies",
                ),
                Query("count(gpucluster:machine:fan_well) - sum(gpucluster:machine:fan_well)", "fans"),
            ],
            decimals=0,
            width=12,
        ),
    )
