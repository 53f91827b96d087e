"""What watching the cluster takes, as text."""

from collections.abc import Iterator

from rich.console import RenderableType

from planner.faces.layout import facts, section
from planner.monitoring.types import MonitoringPlan
from planner.wording import counted

_LARGEST = 4


def monitoring(plan: MonitoringPlan) -> RenderableType:
    """What is scraped, and what Prometheus needs for it."""
    return section("monitoring", facts(monitoring_facts(plan)))


def monitoring_facts(plan: MonitoringPlan) -> Iterator[tuple[str, str | None]]:
    largest = sorted(plan.exporters, key=lambda each: each.samples_per_s, reverse=True)[:_LARGEST]
    asked, room = plan.requests.prometheus, plan.room
    yield "scraped", f"{plan.series:,} series every {plan.scrape_s} s, {plan.samples_per_s:,} samples/s"
    yield "most from", ", ".join(f"{each.name} {each.series:,}" for each in largest)
    yield (
        "kept",
        f"{counted(plan.retention_days, 'day')} take {plan.needed_gib:,} of {plan.disk_gib:,} GiB, "
        f"{plan.retention_size_gib:,} at most",
    )
    cores = asked.cpu_millicores / 1000
    yield "Prometheus", f"{cores:g} core{'' if cores == 1 else 's'}, {asked.memory_mib:,} MiB"
    yield (
        "system pools",
        f"{room.asked_cpu_millicores / 1000:g} of {room.offered_cpu_millicores / 1000:g} cores and "
        f"{room.asked_memory_mib:,} of {room.offered_memory_mib:,} MiB asked for",
    )
    told = [f"{each.name} by {each.kind} from {each.at_least} on" for each in plan.receivers]
    yield "told", ", ".join(told) or "nobody"
    yield "logs", f"kept {counted(plan.log_days, 'day')}"
