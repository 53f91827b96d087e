"""Teams on any platform: namespaces, RBAC, queues and members."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from components.platform.network_rules import NetworkRules, NetworkRulesArgs
from components.platform.team_rights import TeamRights
from components.platform.teams import Teams, TeamsArgs, TeamSpec
from planner.teams import TeamPlan, admissions, pipelines_of, trials_of
from planner.types import Plan
from stacks.network import team_rules
from stacks.platform import Platform
from stacks.services import Services, home_claim

SERVING = "inference"
"""The priority class of services: pods of a team neither have it nor preempt what has."""


def deploy_teams(plan: Plan, platform: Platform, services: Services) -> dict[str, dict[str, Any]]:
    """Register the teams of the plan; what their people want to know, by the team's name. Nothing without teams."""
    if not plan.teams:
        return {}
    inside = pulumi.ResourceOptions(parent=platform.layer, providers=[platform.cluster.provider])
    rights = TeamRights("team-rights", inside)
    specs = [_spec(team, plan, services) for team in plan.teams]
    made = Teams("teams", TeamsArgs(teams=specs, roles=rights.roles), inside)
    names = {team.namespace: made.namespaces[team.name] for team in plan.teams}
    if platform.firewall:
        platform.firewall.placed("team-firewall", names, inside)
    rules = {team.namespace: team_rules(platform.connections, named=team.reaches is not None) for team in plan.teams}
    NetworkRules("team-network", NetworkRulesArgs(rules=rules, names=names), inside)
    _name_hosts(plan.teams, names, platform)
    if platform.home:
        platform.home.claims("team-homes", [home_claim(namespace, there) for namespace, there in names.items()])
    principals = admissions(plan.teams)
    if principals and platform.people is None:
        raise ValueError("the plan admits people by themselves, and the platform knows groups only")
    if principals and platform.people is not None:
        platform.people.admit("team-people", principals)
    return {
        team.name: {
            "namespace": made.namespaces[team.name],
            "queue": services.queues[team.queue],
            "gpus": team.gpus,
            "monthlyUsd": team.monthly_usd,
            "roles": sorted(team.groups),
        }
        for team in plan.teams
    }


def _name_hosts(teams: Sequence[TeamPlan], names: Mapping[str, pulumi.Input[str]], platform: Platform) -> None:
    for team in teams:
        if team.reaches is None:
            continue
        if platform.hosts is None:
            raise ValueError("the plan names hosts that teams reach, and the platform's network knows addresses only")
        platform.hosts.reach(f"{team.namespace}-hosts", names[team.namespace], team.reaches)


def _spec(team: TeamPlan, plan: Plan, services: Services) -> TeamSpec:
    """Its quota is parted between what its people start and the trials of its experiments."""
    return TeamSpec(
        name=team.name,
        namespace=team.namespace,
        queue=services.queues[team.queue],
        gpus=team.gpus - plan.trial_gpus(team.name),
        storage_gib=team.storage_gib,
        groups={str(role): groups for role, groups in team.groups.items()},
        withheld=[SERVING],
        read={
            what: services.namespaces[there]
            for what, there in (("trials", trials_of(team.name)), ("pipelines", pipelines_of(team.name)))
            if there in services.namespaces
        },
    )
