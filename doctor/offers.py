"""`python -m doctor.offers --stack prod`: capacity blocks on offer for the stack's pools, with their price; reads only.

Nothing is bought: a block is paid in advance and cannot be given back, so its command is printed for a person to run.
Exit status: 0 with an offer for every pool that was asked for, 1 without one, 2 on wrong usage, 3 without an answer.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from catalogue.tables import SHIPPED
from catalogue.types import Instance, UsageClass
from catalogue.units import HOURS_PER_DAY
from doctor.account import Account, UnansweredError
from planner.blocks import MAX_INSTANCES, MAX_WEEKS_AHEAD, is_sold, whole_price
from settings.errors import SettingsError
from settings.load import from_file
from settings.model import AwsSettings


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What blocks are looked for: so many instances of a type, for days, from the first day on."""

    pool: str
    instance: Instance
    count: int
    days: int
    first: date

    @property
    def shares(self) -> tuple[int, ...]:
        """Instances of each block: as few blocks as can hold them all."""
        full, rest = divmod(self.count, MAX_INSTANCES)
        return (*[MAX_INSTANCES] * full, *([rest] if rest else []))


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One block on offer. `usd` is all of it, paid in advance; `zone_id` is None for a zone that is not known."""

    id: str
    zone_id: str | None
    start: datetime
    end: datetime
    count: int
    usd: float
    currency: str


def offers(account: Account, wanted: Wanted, count: int, zones: Mapping[str, str]) -> list[Offer]:
    """What AWS offers for one block of `count` instances, cheapest first. Raises UnansweredError."""
    found = account.every(
        "ec2",
        "DescribeCapacityBlockOfferings",
        "CapacityBlockOfferings",
        InstanceType=wanted.instance.type,
        InstanceCount=count,
        CapacityDurationHours=wanted.days * HOURS_PER_DAY,
        StartDateRange=f"{datetime.combine(wanted.first, time(), UTC):%Y-%m-%dT%H:%M:%SZ}",
    )
    return sorted((_offer(each, zones) for each in found), key=lambda each: (each.usd, each.start))


def _offer(told: Mapping[str, Any], zones: Mapping[str, str]) -> Offer:
    return Offer(
        id=told["CapacityBlockOfferingId"],
        zone_id=zones.get(told["AvailabilityZone"]),
        start=told["StartDate"],
        end=told["EndDate"],
        count=told["InstanceCount"],
        usd=float(told["UpfrontFee"]),
        currency=told["CurrencyCode"],
    )


def together(found: Sequence[Sequence[Offer]], gpu_zone: str) -> tuple[Offer, ...] | None:
    """The cheapest choice of one offer per block in the GPUs' zone that runs over the same days; None without one.

    Blocks of the same size have the same offers, and an offer is bought once.
    """
    here = [[each for each in some if each.zone_id == gpu_zone] for some in found]
    windows = {(each.start, each.end) for some in here[:1] for each in some}
    choices = [choice for window in windows if (choice := _choice(here, window)) is not None]
    return min(choices, key=lambda choice: sum(each.usd for each in choice), default=None)


def _choice(found: Sequence[Sequence[Offer]], window: tuple[datetime, datetime]) -> tuple[Offer, ...] | None:
    chosen: list[Offer] = []
    for some in found:
        free = [each for each in some if (each.start, each.end) == window and each not in chosen]
        if not free:
            return None
        chosen.append(free[0])
    return tuple(chosen)


def report(wanted: Wanted, found: Sequence[Sequence[Offer]], region: str, gpu_zone: str) -> list[str]:
    """What is on offer for a pool, and what to type."""
    asked = f"{wanted.count} x {wanted.instance.type} for {wanted.days} days from {wanted.first}"
    lines = [f"pool {wanted.pool}: {asked}" + _listed(wanted)]
    for count, some in zip(wanted.shares, found, strict=True):
        lines += [_line(each, wanted.instance, gpu_zone) for each in some] or [f"  {count}: nothing is on offer"]
    chosen = together(found, gpu_zone)
    if chosen is None:
        return [
            *lines,
            f"  no offer for all {wanted.count} in {gpu_zone} over the same days: try other --days or --from",
        ]
    total = sum(each.usd for each in chosen)
    lines.append(f"  cheapest in {gpu_zone}: {total:,.2f} {chosen[0].currency}, paid in advance; to buy it:")
    lines += [
        f"    aws ec2 purchase-capacity-block --region {region} --instance-platform Linux/UNIX "
        f"--capacity-block-offering-id {each.id}"
        for each in chosen
    ]
    return [*lines, *_stanza(wanted, chosen)]


def _listed(wanted: Wanted) -> str:
    price = wanted.instance.price(UsageClass.CAPACITY_BLOCK)
    if price is None:
        return "; its price is not recorded"
    whole = whole_price(price, wanted.count, wanted.first, wanted.first + timedelta(days=wanted.days))
    return f"; {whole.usd:,.0f} USD by the catalogue ({whole.low:,.0f} to {whole.high:,.0f})"


def _line(offer: Offer, instance: Instance, gpu_zone: str) -> str:
    hours = (offer.end - offer.start) / timedelta(hours=1)
    each = offer.usd / (offer.count * max(1, instance.gpu_count) * hours) if hours > 0 else 0.0
    elsewhere = "" if offer.zone_id == gpu_zone else f"; platform.gpuZone is {gpu_zone}, so not for this stack"
    window = f"{offer.start:%Y-%m-%d %H:%M} to {offer.end:%Y-%m-%d %H:%M} UTC"
    price = f"{offer.usd:,.2f} {offer.currency}, {each:.2f} a GPU-hour"
    return f"  {offer.count} in {offer.zone_id or 'a zone unknown'}, {window}: {price}{elsewhere}"


def _stanza(wanted: Wanted, chosen: Sequence[Offer]) -> list[str]:
    """For the stack file: ids are known once the blocks are bought."""
    rows = [
        f'{{id: cr-ID, zone: {each.zone_id}, start: "{each.start:%Y-%m-%d}", end: "{each.end:%Y-%m-%d}"'
        + (f", count: {each.count}}}" if len(chosen) > 1 else "}")
        for each in chosen
    ]
    head = f"  then, at pool {wanted.pool}, with the ids that AWS answers, and keeper: {{blocks: true}}:"
    if len(rows) == 1:
        return [head, "    capacity: capacity-block", f"    reservation: {rows[0]}"]
    return [head, "    capacity: capacity-block", "    reservations:", *(f"      - {row}" for row in rows)]


def main(arguments: Sequence[str], account: Account | None = None, *, today: date | None = None) -> int:
    """Ask and print."""
    options = _options(arguments)
    file = Path(f"Pulumi.{options.stack}.yaml")
    try:
        settings = from_file(file)
    except OSError as error:
        return _wrong(f"{error.filename}: {error.strerror}; name a stack whose file is in this directory")
    except SettingsError as error:
        return _wrong(str(error))
    if not isinstance(settings, AwsSettings):
        return _wrong(f"{file}: its platform.kind is {settings.platform.kind}; capacity blocks are AWS'")
    if not is_sold(options.days):
        return _wrong(f"--days {options.days}: blocks come in 1 to 14 days, then in whole weeks up to 182 days")
    now = today or datetime.now(UTC).date()
    first = options.first or now + timedelta(days=1)
    if not now <= first <= now + timedelta(weeks=MAX_WEEKS_AHEAD):
        return _wrong(f"--from {first}: blocks are sold from today up to {MAX_WEEKS_AHEAD} weeks ahead")
    wanted = list(_wanted(settings, options, first))
    if not wanted:
        return _wrong("no pool of the stack has GPUs that are sold in capacity blocks; name a --pool with --type")
    return _print(account or Account(settings.platform), settings, wanted)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m doctor.offers")
    parser.add_argument(
        "--stack", required=True, help="the stack whose Pulumi.<stack>.yaml names region, zone and pools"
    )
    parser.add_argument("--pool", help="this pool only")
    parser.add_argument("--type", help="another instance type than the pool's")
    parser.add_argument("--count", type=int, help="another number of instances than the pool's")
    parser.add_argument("--days", type=int, default=7, help="1 to 14, or whole weeks up to 182 (default 7)")
    parser.add_argument("--from", dest="first", type=date.fromisoformat, help="first day (default: tomorrow)")
    return parser.parse_args(arguments)


def _wanted(settings: AwsSettings, options: argparse.Namespace, first: date) -> Iterable[Wanted]:
    """The pools of types that are sold in blocks."""
    for pool in settings.pools:
        instance = SHIPPED.instances.get(options.type or pool.instance_type)
        count = options.count or pool.count
        sold = instance is not None and UsageClass.CAPACITY_BLOCK in instance.usage_classes
        if instance and sold and count > 0 and options.pool in (None, pool.name) and pool.role != "system":
            yield Wanted(pool=pool.name, instance=instance, count=count, days=options.days, first=first)


def _print(account: Account, settings: AwsSettings, wanted: Sequence[Wanted]) -> int:
    whole = True
    try:
        told = account.every("ec2", "DescribeAvailabilityZones", "AvailabilityZones")
        zones = {each["ZoneName"]: each["ZoneId"] for each in told}
        for each in wanted:
            found = [offers(account, each, count, zones) for count in each.shares]
            whole = whole and together(found, settings.platform.gpu_zone) is not None
            print("\n".join(report(each, found, settings.platform.region, settings.platform.gpu_zone)))
    except UnansweredError as error:
        print(f"error: {error.sentence}; {error.remedy}", file=sys.stderr)
        return 3
    return 0 if whole else 1


def _wrong(sentence: str) -> int:
    print(f"error: {sentence}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
