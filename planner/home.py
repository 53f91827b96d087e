"""Home directories: a directory of EFS for each namespace that people work in."""

from dataclasses import dataclass

from planner.teams import plan_teams
from settings.model import AwsSettings

RUNS = "training"
"""The namespace of the stack file's own runs."""

READ_PARTS, WRITTEN_PARTS = 1.0, 0.1
"""Of what is kept, how much is read and how much is written in a month: assumptions, as EFS bills both."""


@dataclass(frozen=True, kw_only=True)
class HomePlan:
    """Directories by namespace on one EFS file system, expected to hold `expected_gib` together.

    Files that nobody opened for `cold_days` move to a cheaper class, None where they stay. `backed_up`: AWS Backup
    keeps a copy of every day for 35 days.
    """

    namespaces: tuple[str, ...]
    expected_gib: int
    cold_days: int | None
    backed_up: bool


def plan_home(settings: AwsSettings) -> HomePlan | None:
    """The homes of the stack file; None where it has none. Protected stacks keep backups."""
    wanted = settings.storage.home
    if wanted is None:
        return None
    return HomePlan(
        namespaces=(RUNS, *(team.namespace for team in plan_teams(settings))),
        expected_gib=wanted.expected_gib,
        cold_days=wanted.cold_after_days,
        backed_up=settings.lifecycle.protect,
    )
