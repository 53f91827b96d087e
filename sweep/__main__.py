"""`python -m sweep`: what expired stacks left in an account, what it costs, and its removal.

The exit code is 0 where nothing is left that may go, 1 where something is, 2 on wrong usage, or where a region could
not be looked at and nothing is left in the others.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.table import Table

from sweep.account import AwsAccount
from sweep.price import hourly, total
from sweep.regions import ALL, ASKED, Seen, opted_in, seen_everywhere, seen_in
from sweep.remove import removable, remove
from sweep.things import Found


def main(arguments: list[str], *, ask: Callable[[str], str] = input, today: date | None = None) -> int:
    """List what expired stacks left, and remove what one of them did."""
    parser = argparse.ArgumentParser(prog="python -m sweep", description=__doc__, allow_abbrev=False)
    parser.add_argument("--region", help="the region to sweep (default: the profile's), or all that the account has")
    parser.add_argument("--profile", help="the AWS profile")
    parser.add_argument("--remove", metavar="STACK", help="delete what the expired stack of this name left")
    parser.add_argument("--confirm", metavar="STACK", default="", help="the stack's name again, instead of the prompt")
    options = parser.parse_args(arguments)
    day = today or datetime.now(UTC).date()
    try:
        account = AwsAccount(None if options.region == ALL else options.region, options.profile)
        if options.region == ALL:
            asked = account if account.region else AwsAccount(ASKED, options.profile)
            looks = seen_everywhere(opted_in(asked), lambda region: AwsAccount(region, options.profile), day)
        elif account.region is None:
            print("no region: type make sweep REGION=us-east-2, or all, or set one in the profile", file=sys.stderr)
            return 2
        else:
            looks = [seen_in(account.region, account, day)]
        print_looks(looks)
        status = _removed(looks, options.remove, options.confirm, day, ask) if options.remove else _named(looks)
    except (BotoCoreError, ClientError) as error:
        print(f"the account does not answer: {error}; log in, or name a profile: PROFILE=ml", file=sys.stderr)
        return 2
    return status or 2 * any(each.refused for each in looks)


def _named(looks: Sequence[Seen]) -> int:
    """Say how what is left of each stack is removed."""
    stacks = sorted({each.owner.stack for look in looks for each in removable(look.over)})
    for name in stacks:
        where = f" REGION={ALL}" if len(looks) > 1 else ""
        print(f"make sweep{where} REMOVE={name} removes what {name} left")
    return 1 if stacks else 0


def _removed(looks: Sequence[Seen], stack: str, confirm: str, day: date, ask: Callable[[str], str]) -> int:
    going = [(look, [each for each in removable(look.over) if each.owner.stack == stack]) for look in looks]
    mine = [each for _, found in going for each in found]
    if not mine:
        print(f"no expired stack {stack} left anything that may be deleted")
        return 0
    usd, _ = total(mine)
    question = (
        f"{len(mine)} things at {usd:.2f} USD an hour will be deleted permanently, with their data; type {stack}: "
    )
    if (confirm or ask(question)).strip() != stack:
        print("nothing was removed")
        return 1
    done = [remove(look.account, stack, day) for look, found in going if found]
    left = [(each, sweep.refused.get(each.id, "still going")) for sweep in done for each in sweep.left]
    print(f"removed: {sum(len(sweep.asked) for sweep in done)}; left: {len(left)}")
    for thing, said in left:
        print(f"  {thing.kind} {thing.id}: {said}; run the same command again")
    return 1 if left else 0


def print_looks(looks: Sequence[Seen]) -> None:
    """What is there of expired stacks, stack by stack, why some of it stays, and what could not be looked at."""
    out = Console(width=150)
    found = [(look.region, each) for look in looks for each in look.over]
    if found:
        out.print(_table(found))
        usd, unpriced = total(each for _, each in found)
        unknown = f", and {unpriced} without a recorded price" if unpriced else ""
        out.print(f"{len(found)} things, {usd:.2f} USD an hour (US list prices of the catalogue){unknown}")
    else:
        out.print("no expired stack left anything that costs by the hour")
    for look in looks:
        if look.hidden:
            more = f" and {len(look.hidden) - 3} more" if len(look.hidden) > 3 else ""
            names = ", ".join(look.hidden[:3])
            print(f"{look.region}: whose these buckets are, their policies do not let you see: {names}{more}")
        if look.refused:
            print(f"{look.region}: not looked at: {look.refused}", file=sys.stderr)


def _table(found: Sequence[tuple[str, Found]]) -> Table:
    table = Table("stack", "expired", "region", "what", "id", "state", "USD/h", "")
    for region, each in sorted(found, key=lambda it: (it[1].owner.stack, it[0], it[1].kind, it[1].id)):
        usd = hourly(each)
        price = "no price" if usd is None else f"{usd:.3f}" if usd else ""
        why = "stays: the stack is protected" if each.owner.protected else f"stays: {each.stays}" if each.stays else ""
        owner, name = each.owner, each.id.rpartition("/")[2] if each.id.startswith("arn:") else each.id
        table.add_row(owner.stack, str(owner.expiry), region, each.kind, name, each.state, price, why)
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
