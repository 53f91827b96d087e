"""Teams: namespaces, groups and shares as the plan has them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from catalogue.units import HOURS_PER_MONTH
from settings.model import Settings
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
