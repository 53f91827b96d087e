"""The procurement checklist: what the stack determines, what a person has to confirm, and what is open."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from catalogue.quotas import QuotaUnit
from planner.bom import Basis, Bom, BomLine
from planner.quotas import QuotaNeed

_WIDE = 1.5
"""A price whose high end is so many times its low end is an order of magnitude, not a quotation."""
_MANY_USD = 100
_CENT = 0.01


class Status(StrEnum):
    """What remains to be done about a line."""

    DERIVED = "derived"
    CONFIRM = "to confirm"
    MISSING = "missing"


@dataclass(frozen=True, kw_only=True)
class Check:
    """A line of the list: its section, the thing, what remains, and why or how."""

    section: str
    item: str
    status: Status
    note: str


def bill_checks(bom: Bom) -> Iterator[Check]:
    """The bill, line by line, and the design dimensions of which it has none."""
    for line in bom.lines:
        yield Check(section=line.part, item=_counted(line), status=_status(line), note=_note(line))
    for part in bom.empty:
        yield Check(section=part, item="nothing", status=Status.MISSING, note="the stack says nothing about it")


def quota_checks(needs: Iterable[QuotaNeed]) -> Iterator[Check]:
    """The service quotas: those that a new account has, and those to ask for before the deployment."""
    for need in needs:
        quota = need.quota
        code = f"{quota.service} {quota.code}" if quota.code else f"{quota.service}, code not known"
        yield Check(
            section="service quotas",
            item=f"{need.need:g} {'' if quota.unit is QuotaUnit.COUNT else f'{quota.unit} '}of {quota.name}",
            status=Status.CONFIRM if need.beyond_default else Status.DERIVED,
            note=f"{code}; a new account has {quota.default:g}; {need.basis}",
        )


def block_checks(blocks: Iterable[tuple[str, str, date, date]]) -> Iterator[Check]:
    """Capacity blocks: (pool, reservation, first day, last day), which nobody but their buyer can vouch for."""
    for pool, reservation, start, end in blocks:
        yield Check(
            section="capacity blocks",
            item=f"{reservation} for pool {pool}",
            status=Status.CONFIRM,
            note=f"{start} to {end}, paid in advance, cannot be cancelled: compare with EC2's console",
        )


def room_checks(*, planned_kw: float, rooms_kw: float | None, circuits: int, deliver_to: str) -> Iterator[Check]:
    """What the room's owner has to confirm before anything is ordered. `rooms_kw` is what its cooling carries away."""
    yield Check(
        section="facility",
        item=f"{planned_kw:.1f} kW of power with its margin, on {circuits} circuits",
        status=Status.CONFIRM,
        note=f"the room's owner confirms them in writing, for {deliver_to}",
    )
    yield Check(
        section="facility",
        item=f"{planned_kw:.1f} kW of heat to carry away",
        status=Status.MISSING if rooms_kw is None else Status.CONFIRM,
        note="no capacity is given" if rooms_kw is None else f"the room is said to carry {rooms_kw:g} kW",
    )


def open_checks(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Those that are not done: what is missing first."""
    order = [Status.MISSING, Status.CONFIRM]
    return tuple(
        sorted((check for check in checks if check.status in order), key=lambda check: order.index(check.status))
    )


def _counted(line: BomLine) -> str:
    more = f" and {line.spares} spare" if line.spares and line.count else ""
    return f"{line.count or line.spares:g} x {line.item}{more}"


def _status(line: BomLine) -> Status:
    if line.unpriced:
        return Status.MISSING
    if line.basis in (Basis.INCLUDED, Basis.FREE) or line.each is None:
        return Status.DERIVED
    return Status.CONFIRM if line.each.high >= line.each.low * _WIDE else Status.DERIVED


def _note(line: BomLine) -> str:
    if line.unpriced:
        return "no price is recorded: ask for a quotation"
    if line.each is None or line.basis in (Basis.INCLUDED, Basis.FREE):
        return line.note
    unit = "an hour" if line.basis is Basis.HOURLY else "each"
    seen = f"{_usd(line.each.low)} to {_usd(line.each.high)} USD {unit}"
    return f"{seen}; {line.note}" if line.note else seen


def _usd(amount: float) -> str:
    """Cents only where there are few dollars."""
    if 0 < amount < _CENT:
        return f"{amount:.2g}"
    return f"{amount:,.0f}" if amount >= _MANY_USD else f"{amount:,.2f}"
