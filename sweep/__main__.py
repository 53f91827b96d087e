"""`python -m sweep`: what expired stacks left in an account, what it costs, and its removal.

The exit code is 0 where nothing is left that may go, 1 where something is, 2 on wrong usage.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.table import Table

from sweep.account import AwsAccount
from sweep.found import look
from sweep.price import hourly, total
from sweep.remove import expired, removable, remove
from sweep.things import Account, Found


def main(arguments: list[str], *, ask: Callable[[str], str] = input, today: date | None = None) -> int:
    """List what expired stacks left, and remove what one of them did."""
    parser = argparse.ArgumentParser(prog="python -m sweep", description=__doc__, allow_abbrev=False)
    parser.add_argument("--region", help="the region to sweep (default: the profile's)")
    parser.add_argument("--profile", help="the AWS profile")
    parser.add_argument("--remove", metavar="STACK", help="delete what the expired stack of this name left")
    parser.add_argument("--confirm", metavar="STACK", default="", help="the stack's name again, instead of the prompt")
    options = parser.parse_args(arguments)
    day = today or datetime.now(UTC).date()
    try:
        account = AwsAccount(options.region, options.profile)
        if account.region is None:
            print("no region: type make sweep REGION=us-east-2, or set one in the profile", file=sys.stderr)
            return 2
        return _sweep(account, options.remove, options.confirm, day, ask)
    except (BotoCoreError, ClientError) as error:
        print(f"the account does not answer: {error}; log in, or name a profile: PROFILE=ml", file=sys.stderr)
        return 2


def _sweep(account: Account, stack: str | None, confirm: str, day: date, ask: Callable[[str], str]) -> int:
    over = expired(account, look(account), day)
    print_table(over)
    if stack is None:
        stacks = sorted({each.owner.stack for each in removable(over)})
        for name in stacks:
            print(f"make sweep REMOVE={name} removes what {name} left")
        return 1 if stacks else 0
    mine = removable(each for each in over if each.owner.stack == stack)
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
    done = remove(account, stack, day)
    print(f"removed: {len(done.asked)}; left: {len(done.left)}")
    for thing in done.left:
        said = done.refused.get(thing.id, "still going")
        print(f"  {thing.kind} {thing.id}: {said}; run the same command again")
    return 1 if done.left else 0


def print_table(found: Sequence[Found]) -> None:
    """What is there of expired stacks, stack by stack, and why some of it stays."""
    out = Console(width=130)
    if not found:
        out.print("no expired stack left anything that costs by the hour")
        return
    table = Table("stack", "expired", "what", "id", "state", "USD/h", "")
    for each in sorted(found, key=lambda it: (it.owner.stack, it.kind, it.id)):
        usd = hourly(each)
        price = "no price" if usd is None else f"{usd:.3f}" if usd else ""
        why = "stays: the stack is protected" if each.owner.protected else f"stays: {each.stays}" if each.stays else ""
        owner = each.owner
        table.add_row(owner.stack, str(owner.expiry), each.kind, each.id.rpartition("/")[2], each.state, price, why)
    usd, unpriced = total(found)
    out.print(table)
    unknown = f", and {unpriced} without a recorded price" if unpriced else ""
    out.print(f"{len(found)} things, {usd:.2f} USD an hour (US list prices of the catalogue){unknown}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
