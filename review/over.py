"""`python -m review.over --stack lab`: whether a stack's end has come, so that `pulumi destroy` may take what is left.

Prints true or false. True is said only of a stack on AWS that its file does not protect and gives a keeper with an end,
and whose end has passed as its keeper reads it, extensions counted. Without a keeper in the account the end of the file
counts: none was made yet, and there is nothing to destroy, or a destroy that was interrupted took it. The exit code is
2 where it cannot be said.
"""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from planner.keeper import end_of, ends_by_itself
from settings.errors import SettingsError
from settings.load import from_file
from settings.model import AwsSettings, Settings
from sweep.account import AwsAccount
from sweep.extend import life
from sweep.things import Account

_GONE = ("ResourceNotFoundException", "ParameterNotFound")


def over(settings: Settings, account: Account, project: str, stack: str, now: datetime) -> tuple[bool, str]:
    """Whether it has ended, and why. Raises botocore's errors, and ValueError for an end that nobody can read."""
    if not isinstance(settings, AwsSettings):
        return False, "it is not on AWS"
    if settings.lifecycle.protect:
        return False, "its file protects it"
    if not ends_by_itself(settings):
        return False, "its file has no keeper that ends it"
    try:
        known = life(account, project, stack)
    except ClientError as error:
        if error.response["Error"]["Code"] not in _GONE:
            raise
        ends = end_of(settings)
        told = f"ends at {ends:%Y-%m-%d %H:%M} UTC by its file" if ends else "its file names no end"
        return ends is not None and now >= ends, f"it has no keeper in the account, and {told}"
    if known.stopped:
        return True, f"it was stopped ({known.stopped})"
    if known.ends is None:
        return False, "its keeper was told of no end"
    return now >= known.ends, f"it ends at {known.ends:%Y-%m-%d %H:%M} UTC"


def main(arguments: list[str], *, account: Account | None = None, now: datetime | None = None) -> int:
    """Print the answer, and on the error channel why."""
    parser = argparse.ArgumentParser(prog="python -m review.over", description=__doc__, allow_abbrev=False)
    parser.add_argument("--project", default="gpucluster", help="the Pulumi project")
    parser.add_argument("--stack", required=True, help="the stack")
    parser.add_argument("--profile", help="the AWS profile")
    options = parser.parse_args(arguments)
    try:
        settings = from_file(Path(f"Pulumi.{options.stack}.yaml"))
        region = settings.platform.region if isinstance(settings, AwsSettings) else None
        asked = account or AwsAccount(region, options.profile)
        ended, why = over(settings, asked, options.project, options.stack, now or datetime.now(UTC))
    except (SettingsError, OSError, ValueError, BotoCoreError, ClientError) as error:
        print(f"it cannot be said whether {options.stack} is over: {error}", file=sys.stderr)
        return 2
    print(f"{options.stack}: {why}", file=sys.stderr)
    print("true" if ended else "false")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
