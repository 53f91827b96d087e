"""`python -m sweep.extend --stack lab --hours 2`: extends a lab that ends by itself, within its budget.

The end is a parameter in the account, which the lab's keeper reads at every look: no `up` is needed. The exit code is
0 where the lab lives longer, 1 where it must not, 2 on wrong usage.
"""

import argparse
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from sweep.account import AwsAccount
from sweep.ends import NEVER, ends_parameter, written
from sweep.things import Account

MOST_HOURS = 24 * 31
AGAIN = "to create a new one, destroy what is left of it, then run pulumi up"


@dataclass(frozen=True, kw_only=True)
class Life:
    """When a lab ends, why it was stopped if it was, and when its budget is spent at `hourly_usd`, None if
    unbounded."""

    ends: datetime | None
    stopped: str
    hourly_usd: float
    latest: datetime | None


class RefusedError(Exception):
    """Why a lab does not live longer, and what to do."""


def life(account: Account, project: str, stack: str) -> Life:
    """What the account knows of a lab's end. Raises ClientError, ResourceNotFoundException where it has no keeper."""
    function = account.call("lambda", "get_function_configuration", FunctionName=f"{project}-{stack}-keeper")
    task: Mapping[str, Any] = json.loads(function["Environment"]["Variables"]["KEEPER"])
    ends = account.call("ssm", "get_parameter", Name=task["ends_parameter"])["Parameter"]["Value"]
    record = json.loads(account.call("ssm", "get_parameter", Name=task["record_parameter"])["Parameter"]["Value"])
    started, money, hourly = record.get("started"), task.get("max_usd"), float(task["hourly_usd"])
    spent = None
    if started and money and hourly:
        spent = datetime.fromisoformat(started) + timedelta(hours=money / hourly)
    return Life(
        ends=None if ends == NEVER else datetime.fromisoformat(ends),
        stopped=record.get("stopped", ""),
        hourly_usd=hourly,
        latest=spent,
    )


def extended(now_is: Life, hours: float, now: datetime) -> datetime:
    """The new end. Raises RefusedError."""
    if now_is.ends is None:
        raise RefusedError("it has no end, so there is nothing to extend")
    if now_is.stopped:
        raise RefusedError(f"it was stopped ({now_is.stopped}) and is being removed; {AGAIN}")
    if now >= (over := min(now_is.ends, now_is.latest or now_is.ends)):
        raise RefusedError(f"it ended at {written(over)} and is being removed; {AGAIN}")
    until = now_is.ends + timedelta(hours=hours)
    if now_is.latest and until > now_is.latest:
        most = max(0, math.floor((now_is.latest - now_is.ends) / timedelta(hours=0.1))) / 10
        raise RefusedError(
            f"its budget is spent at {written(now_is.latest)}, and it would end at {written(until)}; "
            f"take HOURS={most:g} at most, or raise keeper.maxUsd and run pulumi up"
        )
    return until


def main(arguments: list[str], *, now: datetime | None = None) -> int:
    """Extend one lab."""
    parser = argparse.ArgumentParser(prog="python -m sweep.extend", description=__doc__, allow_abbrev=False)
    parser.add_argument("--project", default="gpucluster", help="the Pulumi project")
    parser.add_argument("--stack", required=True, help="the lab's stack")
    parser.add_argument("--hours", required=True, help="hours to add")
    parser.add_argument("--region", help="the lab's region (default: the profile's)")
    parser.add_argument("--profile", help="the AWS profile")
    options = parser.parse_args(arguments)
    try:
        hours = float(options.hours)
    except ValueError:
        hours = 0
    if not 0 < hours <= MOST_HOURS:
        print(f"{options.hours!r} is not a number of hours up to {MOST_HOURS}: type HOURS=2", file=sys.stderr)
        return 2
    account = AwsAccount(options.region, options.profile)
    if account.region is None:
        print(f"no region: type make extend STACK={options.stack} HOURS=2 REGION=us-east-2", file=sys.stderr)
        return 2
    try:
        return _extend(account, options.project, options.stack, hours, now or datetime.now(UTC))
    except (BotoCoreError, ClientError) as error:
        print(
            f"{options.stack} has no keeper in {account.region}, or you lack the permission to see it: {error}",
            file=sys.stderr,
        )
        return 2


def _extend(account: Account, project: str, stack: str, hours: float, now: datetime) -> int:
    before = life(account, project, stack)
    try:
        until = extended(before, hours, now)
    except RefusedError as refused:
        print(f"{stack} is not extended: {refused}")
        return 1
    name = ends_parameter(project, stack)
    account.call("ssm", "put_parameter", Name=name, Value=written(until), Type="String", Overwrite=True)
    print(f"{stack} ends at {written(until)}; {hours:g} hours more cost {before.hourly_usd * hours:.2f} USD")
    print(f'set keeper.endsAt to "{written(until)}" in Pulumi.{stack}.yaml: its tags follow with the next pulumi up')
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
