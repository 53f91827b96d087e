"""Teams and people: namespaces, groups and shares as the plan has them, and the files of their own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from catalogue.units import HOURS_PER_MONTH
from settings.model import AwsSettings, Settings
from settings.teams import Team

Role = Literal["viewer", "trainer", "operator"]
ROLES: tuple[Role, ...] = ("viewer", "trainer", "operator")


@dataclass(frozen=True, kw_only=True)
class TeamPlan:
    """A team: its namespace, its Volcano queue, the GPUs and GiB of volumes that it may hold, and its people.

    `groups` are those that RBAC binds, by role: the identity provider's own, and one for those who are known to the
    platform as `principals` (by their ARN on AWS), each with the group that it is admitted to. Its pods speak with the
    hosts of `reaches` outside, None with all.
    """

    name: str
    namespace: str
    queue: str
    gpus: int
    storage_gib: int
    monthly_usd: float | None
    groups: Mapping[Role, tuple[str, ...]]
    principals: Mapping[str, str]
    reaches: tuple[str, ...] | None = None


def plan_teams(settings: Settings) -> tuple[TeamPlan, ...]:
    """The teams in the order of the stack file."""
    return tuple(_plan(team) for team in settings.teams)


def _plan(team: Team) -> TeamPlan:
    groups: dict[Role, list[str]] = {}
    principals: dict[str, str] = {}
    for member in team.members:
        group = member.group or admitted(team.name, member.role)
        if member.arn:
            principals[member.arn] = group
        bound = groups.setdefault(member.role, [])
        bound += [group] if group not in bound else []
    return TeamPlan(
        **team.model_dump(include={"name", "queue", "gpus", "storage_gib", "monthly_usd"}),
        namespace=f"team-{team.name}",
        groups={role: tuple(groups[role]) for role in ROLES if role in groups},
        principals=principals,
        reaches=team.reaches,
    )


def trials_of(team: str) -> str:
    """The namespace of the trials of a team's experiments, where its people read and nobody of them writes."""
    return f"trials-{team}"


def known_groups(team: TeamPlan) -> set[str]:
    """Groups of the identity provider's, or of the platform's, whose members are of the team."""
    return {group for groups in team.groups.values() for group in groups}


def pipelines_of(team: str) -> str:
    """The namespace of a team's own Kubeflow Pipelines, where its people read and nobody of them writes."""
    return f"pipelines-{team}"


def admitted(team: str, role: str) -> str:
    """The group of people of a team whom the platform knows by themselves."""
    return f"gpucluster:{team}:{role}"


def admissions(teams: Iterable[TeamPlan]) -> dict[str, tuple[str, ...]]:
    """The groups of each principal over all teams: who is of two teams is known once."""
    found: dict[str, tuple[str, ...]] = {}
    for team in teams:
        for principal, group in team.principals.items():
            found[principal] = (*found.get(principal, ()), group)
    return found


def most_usd_a_month(team: TeamPlan, usd_per_gpu_hour: float) -> float:
    """What its quota of GPUs costs if all of it is held all month."""
    return team.gpus * usd_per_gpu_hour * HOURS_PER_MONTH


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
