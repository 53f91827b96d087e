"""`python -m tests.graph.destroy STACK`: what a destroy leaves, its price a month, why it stays; how the rest goes.

Computed from what the stack's program registers, as the tests of this directory record it: no engine, no account.
Prices are the catalogue's US list prices. Ends with 1 if the program refuses its settings, 2 if there is no such stack.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest.mock import patch

import pulumi
from rich.console import Console
from rich.table import Table

from catalogue.tables import SHIPPED
from catalogue.units import HOURS_PER_MONTH
from policy.graph import Graph, Resource
from tests.graph.stackfiles import ROOT, told

NO_PRICE = "no price"
LATE_LOGS = "EKS delivers a cluster's last events after its end, and makes the group again: make vacate after it"
AUDIT = "it outlives the stack (security.auditLog): each event stays {days} days; storing costs 0.03 USD per GB a month"
STRANDED = "the destroy waits for it; if the cluster is gone before, it stays: make sweep finds it by its tags"
INTERFACES = "VPC CNI makes them; they go with their node; one whose node died holds its subnet: make vacate before"
BALANCER = "made for a Service: make vacate before the destroy, or it may stay; make sweep finds it by its tags"


@dataclass(frozen=True, kw_only=True)
class Left:
    """One thing that a destroy leaves, or may leave. `usd` a month is None where no price is recorded, or by use."""

    what: str
    name: str
    usd: float | None
    why: str


def left(graph: Graph) -> list[Left]:
    """What stays, protected things first, then data, then what controllers made."""
    return [*_guarded(graph), *_data(graph), *_made_by_controllers(graph)]


def _guarded(graph: Graph) -> Iterator[Left]:
    """Protected resources, and what they stand on: neither goes, even with `--exclude-protected`."""
    guarded = {each.urn for each in graph.resources.values() if each.protect}
    held = {urn for each in guarded for urn in _below(graph, each)} - guarded
    for urn in sorted(guarded):
        each = graph.resources[urn]
        yield _row(each, "it is protected: set lifecycle.protect to false and run pulumi up, or leave it")
    beneath = [graph.resources[urn] for urn in sorted(held) if graph.resources[urn].token.startswith("aws:")]
    for kind in sorted({each.kind for each in beneath}):
        mine = [each for each in beneath if each.kind == kind]
        prices = [_price(each) for each in mine]
        usd = None if None in prices else sum(price or 0 for price in prices)
        name = mine[0].name if len(mine) == 1 else f"{len(mine)} of them"
        yield Left(what=kind, name=name, usd=usd, why="what is protected stands on it")


def _below(graph: Graph, urn: str) -> set[str]:
    """Everything that a resource depends on, at any distance."""
    seen: set[str] = set()
    waiting = [urn]
    while waiting:
        for each in graph.resources[waiting.pop()].depends_on:
            if each in graph.resources and each not in seen:
                seen.add(each)
                waiting.append(each)
    return seen


def _data(graph: Graph) -> Iterator[Left]:
    for each in graph.resources.values():
        if each.protect:
            continue
        if each.retained:
            days = each.inputs.get("retentionInDays")
            why = AUDIT.format(days=days) if each.kind == "LogGroup" else "the program keeps it"
            yield Left(what=each.kind, name=str(each.inputs.get("name", each.name)), usd=_price(each), why=why)
        elif each.kind == "Bucket" and each.custom and not each.inputs.get("forceDestroy"):
            yield _row(each, "S3 refuses to delete it while it holds objects: empty it, or leave it")
        elif each.kind == "Key":
            days = each.inputs.get("deletionWindowInDays", 30)
            yield Left(
                what="Key", name=each.name, usd=0, why=f"KMS keeps it for {days} days, free of charge and unusable"
            )
        elif _backed_up(each):
            yield _backup(each)
        elif each.kind == "LogGroup" and str(each.inputs.get("name", "")).endswith("/cluster") and not graph.protected:
            yield Left(what="LogGroup", name=str(each.inputs["name"]), usd=None, why=LATE_LOGS)


def _backed_up(each: Resource) -> bool:
    return each.kind == "LustreFileSystem" and each.inputs.get("skipFinalBackup") is False


def _backup(each: Resource) -> Left:
    why = "FSx makes a last backup when the file system goes: delete it when nobody needs its data"
    return Left(what="backup", name=f"of {each.name}", usd=None, why=why)


def _made_by_controllers(graph: Graph) -> Iterator[Left]:
    """What no state knows of: dynamic volumes, load balancers, interfaces."""
    for each in graph.resources.values():
        spec = each.inputs.get("spec") or {}
        if each.kind == "PersistentVolumeClaim" and spec.get("storageClassName") != "":
            yield _volume(each.inputs["metadata"]["name"], spec)
        if each.kind == "Release":
            values = each.inputs.get("values") or {}
            for claim in _claims(values):
                yield _volume(each.name, claim)
            if ((values.get("service") or {}).get("spec") or {}).get("type") == "LoadBalancer":
                yield Left(what="load balancer", name=f"of {each.name}", usd=None, why=BALANCER)
        if each.kind == "Service" and spec.get("type") == "LoadBalancer":
            yield Left(what="load balancer", name=each.inputs["metadata"]["name"], usd=None, why=BALANCER)
    if graph.of_type("NodeGroup"):
        yield Left(what="network interfaces", name="of nodes' pods", usd=0, why=INTERFACES)


def _claims(values: Any) -> Iterator[Mapping[str, Any]]:
    """Specs of the claims that a chart's values ask for."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            if key == "volumeClaimTemplate":
                yield value["spec"]
            else:
                yield from _claims(value)
    elif isinstance(values, list):
        for each in values:
            yield from _claims(each)


def _volume(name: str, spec: Mapping[str, Any]) -> Left:
    gib = int(str(spec["resources"]["requests"]["storage"]).removesuffix("Gi"))
    return Left(what="volume", name=f"{gib} GiB of {name}", usd=_monthly("gp3-gib", gib), why=STRANDED)


def _row(each: Resource, why: str) -> Left:
    return Left(what=each.kind, name=each.name, usd=_price(each), why=why)


def _price(each: Resource) -> float | None:
    """USD a month of a resource that stays as it is; None for what is charged by use or has no recorded price."""
    if each.kind == "LustreFileSystem":
        tier = each.inputs.get("perUnitStorageThroughput")
        kind = f"fsx-{each.inputs['deploymentType']}{f'-{tier}' if tier else ''}-gib"
        return _monthly(kind, each.inputs["storageCapacity"])
    named = {"Cluster": "eks", "NatGateway": "nat"}.get(each.kind)
    if named:
        return _monthly(named, 1)
    return None if each.kind in ("Bucket", "LogGroup", "Key", "Eip", "VpcEndpoint") else 0.0


def _monthly(service: str, size: float) -> float | None:
    row = SHIPPED.services.get(service)
    return row.usd_per_hour * size * HOURS_PER_MONTH if row else None


def order(graph: Graph) -> list[tuple[str, int]]:
    """How the rest goes: kinds with their numbers, in the order in which the last of each has gone.

    The engine deletes what depends on a thing before the thing itself.
    """
    stays = {urn for each in graph.resources.values() if each.protect for urn in (each.urn, *_below(graph, each.urn))}

    @cache
    def depth(urn: str) -> int:
        each = graph.resources[urn]
        provider = each.provider.rpartition("::")[0]
        above = [one for one in (each.parent, provider, *each.depends_on) if one in graph.resources]
        return 1 + max(map(depth, above), default=0)

    last: dict[str, int] = {}
    number: dict[str, int] = {}
    for each in graph.resources.values():
        if each.custom and not each.is_provider and each.urn not in stays:
            kind = each.kind if each.token.startswith("aws:") else "objects in the cluster"
            number[kind] = number.get(kind, 0) + 1
            last[kind] = min(last.get(kind, depth(each.urn)), depth(each.urn))
    return [(kind, number[kind]) for kind in sorted(last, key=lambda kind: (-last[kind], kind))]


def print_plan(graph: Graph, stack: str, console: Console | None = None) -> None:
    """The table, what it sums up to, and the order of the rest."""
    out = console or Console(width=150)
    rows = left(graph)
    table = Table("stays, or may stay", "name", "USD/month", "why")
    for each in rows:
        table.add_row(each.what, each.name, NO_PRICE if each.usd is None else f"{each.usd:.2f}", each.why)
    out.print(table)
    unpriced = sum(each.usd is None for each in rows)
    total = sum(each.usd or 0 for each in rows)
    out.print(f"{len(rows)} rows, {total:.2f} USD a month at US list prices; {unpriced} by use, or without a price")
    if any(each.protect for each in graph.resources.values()):
        out.print(f"pulumi destroy --stack {stack} refuses; with --exclude-protected what follows goes")
    out.print("the rest goes in this order: " + ", ".join(f"{kind} ({number})" for kind, number in order(graph)))


def main(arguments: Sequence[str], console: Console | None = None) -> int:
    """Print the plan of a stack."""
    if len(arguments) != 1 or not (ROOT / f"Pulumi.{arguments[0]}.yaml").is_file():
        names = ", ".join(sorted(path.name.split(".")[1] for path in ROOT.glob("Pulumi.*.yaml")))
        print(f"usage: make destroy-plan STACK=<name>; there are {names}", file=sys.stderr)
        return 2
    (stack,) = arguments
    with patch.object(pulumi.log, "warn"):
        graph = told(stack)
    print_plan(graph, stack, console)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
