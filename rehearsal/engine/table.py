"""The closing table: what was made, what runs in the cluster, and what it took."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from rich.console import Console, Group, RenderableType
from rich.table import Table

from rehearsal.engine.events import short_type
from rehearsal.engine.recover import Recovery
from rehearsal.engine.view import EFA, GPU, RDMA, ClusterView


@dataclass(frozen=True)
class Phase:
    """Wall seconds and peak memory (bytes, proportional set size of all processes) of one phase."""

    name: str
    seconds: float
    peak: int


def resources_table(by_type: Mapping[str, Counter[str]]) -> Table:
    """Resources by type and change."""
    table = Table(title="resources", title_justify="left")
    changes = sorted({change for counts in by_type.values() for change in counts})
    table.add_column("type")
    for change in changes:
        table.add_column(change, justify="right")
    for token, counts in sorted(by_type.items(), key=lambda item: short_type(item[0])):
        table.add_row(short_type(token), *(str(counts[change] or "") for change in changes))
    totals = [sum(counts[change] for counts in by_type.values()) for change in changes]
    table.add_section()
    table.add_row("all", *map(str, totals))
    return table


def cluster_tables(cluster: ClusterView) -> list[Table]:
    """Nodes, gangs and services of one cluster; what it has none of is left out."""
    tables = []
    if cluster.nodes:
        # Racked hosts share InfiniBand cards, where instances have EFA.
        fabric = RDMA.rstrip("/") if any(each.rdma for each in cluster.nodes) else EFA
        table = _table(f"nodes of {cluster.name}", "node", "instance type", "zone", "Ready", GPU, fabric)
        for each in sorted(cluster.nodes, key=lambda node: (node.instance_type, node.name)):
            row = (each.name, each.instance_type, each.zone, "yes" if each.ready else "[red]no[/]")
            table.add_row(*row, str(each.gpus or ""), str(each.efa or each.rdma or ""))
        tables.append(table)
    if cluster.gangs:
        table = _table("gangs", "PodGroup", "minMember", "running", "phase")
        for gang in cluster.gangs:
            table.add_row(f"{gang.namespace}/{gang.name}", str(gang.members), str(gang.running), gang.phase)
        tables.append(table)
    if cluster.services:
        table = _table("services", "Deployment", "ready", "endpoints")
        for service in cluster.services:
            ready = f"{service.ready}/{service.desired}"
            table.add_row(f"{service.namespace}/{service.name}", ready, str(service.endpoints))
        tables.append(table)
    if cluster.unplayed:
        table = _table("simulated only: these containers start and answer, and do nothing else", "images", "to do more")
        table.add_row("\n".join(cluster.unplayed), "a row in `Particulars.images` (rehearsed/)")
        tables.append(table)
    return tables


def phases_table(phases: Iterable[Phase]) -> Table:
    """Time and peak memory per phase."""
    table = Table("phase", title="phases", title_justify="left")
    table.add_column("seconds", justify="right")
    table.add_column("peak memory", justify="right")
    for phase in phases:
        table.add_row(phase.name, f"{phase.seconds:.1f}", f"{phase.peak / 2**20:,.0f} MiB" if phase.peak else "")
    return table


def recovery_table(recovery: Recovery) -> RenderableType:
    """What was interrupted and what became of it."""
    if not recovery.findings:
        return "nothing was interrupted"
    table = _table("interrupted operations", "resource", "was", "now", "why")
    for each in recovery.findings:
        why = f"{each.reason}: {each.id}" if each.id else each.reason
        table.add_row(each.urn.label, each.kind, each.verdict.value, why)
    return table


def closing(
    by_type: Mapping[str, Counter[str]],
    clusters: Iterable[ClusterView],
    phases: Iterable[Phase],
    *,
    whole: bool = False,
) -> Group:
    """What there is at the end; with `whole` also every type, simulated image and phase."""
    known = list(phases)
    took = f"{sum(each.seconds for each in known):.0f} s in all"
    seen = list(clusters)
    if whole:
        middle = [table for cluster in seen for table in cluster_tables(cluster)]
        return Group(resources_table(by_type), *middle, phases_table(known))
    middle = [table for cluster in seen for table in cluster_tables(replace(cluster, unplayed=()))]
    images = len({image for cluster in seen for image in cluster.unplayed})
    played = [f"{images} images are simulated only: their containers start and answer, and do nothing else"]
    return Group(*middle, *played[: min(images, 1)], f"{_made(by_type)}; {took}")


def _made(by_type: Mapping[str, Counter[str]]) -> str:
    """The resources in one line: `resources: create 174, same 3 of 85 types`."""
    total: Counter[str] = Counter()
    for counts in by_type.values():
        total += counts
    changes = ", ".join(f"{change} {count}" for change, count in sorted(total.items())) or "none"
    return f"resources: {changes} of {len(by_type)} types"


def console() -> Console:
    """Where people read: as wide as the terminal, or wide enough for our tables where there is none."""
    standard = Console()
    return standard if standard.is_terminal else Console(width=140)


def say(screen: Console, text: str, style: str = "") -> None:
    """Print a sentence as it is: no markup, nothing highlighted, and the terminal wraps it."""
    screen.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def _table(title: str, *columns: str) -> Table:
    return Table(*columns, title=title, title_justify="left")
