"""When a stack ends, by its resources in the account, if its tags do not say.

A lab that was extended keeps the tags of its last `up`; its end is a parameter, which its keeper goes by.
"""

from datetime import UTC, date, datetime, timedelta

from botocore.exceptions import ClientError

from sweep.things import Account

NEVER = "never"
_INSTANT = timedelta(microseconds=1)


def written(when: datetime) -> str:
    """A moment as it stands in a parameter."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ends_parameter(project: str, stack: str) -> str:
    """Where the end of a stack with a keeper stands."""
    return f"/{project}/{stack}/keeper/ends"


def last_day(account: Account, project: str, stack: str) -> date | None:
    """The last of a stack's days by its parameter, in UTC; None where it has none, or no end.

    A moment that nobody can read is no end that has come: such a stack has no end here. Raises botocore's errors.
    """
    try:
        told = account.call("ssm", "get_parameter", Name=ends_parameter(project, stack))["Parameter"]["Value"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            return None
        raise
    if told == NEVER:
        return None
    try:
        ends = datetime.fromisoformat(told)
    except ValueError:
        return date.max
    return (ends.astimezone(UTC) - _INSTANT).date()
