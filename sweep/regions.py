"""One look at a region of an account, or at all of them."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date

from botocore.exceptions import BotoCoreError, ClientError

from sweep import kept
from sweep.found import look
from sweep.remove import expired
from sweep.things import Account, Found

ALL = "all"
ASKED = "us-east-1"
"""Where the regions are asked for if nobody names one; every account has it, but those of other partitions."""
_AT_ONCE = 8


@dataclass(frozen=True)
class Seen:
    """What expired stacks left in a region; `hidden` are buckets that do not tell whose they are, `refused` is why the
    region could not be looked at, empty where it could.
    """

    region: str
    account: Account
    over: tuple[Found, ...] = ()
    hidden: tuple[str, ...] = ()
    refused: str = ""


def opted_in(account: Account) -> list[str]:
    """The regions that are enabled for the account; EC2 leaves others out unless asked. Raises botocore's errors."""
    return sorted(each["RegionName"] for each in account.call("ec2", "describe_regions")["Regions"])


def seen_in(region: str, account: Account, today: date) -> Seen:
    """One region. Raises botocore's errors."""
    hidden: list[str] = []
    found = [*look(account), *kept.look(account, region, hidden)]
    return Seen(region, account, tuple(expired(account, found, today)), tuple(hidden))


def seen_everywhere(regions: Iterable[str], account_in: Callable[[str], Account], today: date) -> list[Seen]:
    """Several, some at once. One that refuses to be looked at, as where an organisation denies it, is told as such."""

    def one(region: str) -> Seen:
        account = account_in(region)
        try:
            return seen_in(region, account, today)
        except (BotoCoreError, ClientError) as error:
            return Seen(region, account, refused=str(error))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(one, regions))
