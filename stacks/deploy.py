"""A whole stack: platform, services, workloads, in that order."""

from collections.abc import Mapping
from typing import Any

import pulumi

from planner.types import AwsPlan, Plan
from stacks.autoscaling import deploy_autoscaling
from stacks.aws import deploy_aws
from stacks.gateway import deploy_gateway
from stacks.monitoring import deploy_monitoring
from stacks.outputs import layer_outputs
from stacks.people import deploy_people
from stacks.platform import Platform
from stacks.services import deploy_services
from stacks.teams import deploy_teams
from stacks.workloads import deploy_workloads


def deploy(plan: Plan, config: pulumi.Config) -> dict[str, dict[str, Any]]:
    """Register everything and return the stack's outputs by layer. `config` has the secrets."""
    return deploy_on(platform_of(plan, config), plan.of_kubernetes, config)


def platform_of(plan: Plan, config: pulumi.Config) -> Platform:
    """The platform that the plan is for: the one place that knows which there are. Raises RunError for a plan that
    cannot be deployed.
    """
    if isinstance(plan, AwsPlan):
        return deploy_aws(plan)
    from stacks.metal import deploy_metal

    return deploy_metal(plan, config)


def deployable(plan: Plan) -> None:
    """Raises RunError with everything that a plan of on-premises machines lacks to be deployed."""
    if isinstance(plan, AwsPlan):
        return
    from stacks.metal_lacking import lacking

    if missing := list(lacking(plan)):
        raise pulumi.RunError("\n".join(missing))


def own_secrets(plan: Plan) -> Mapping[str, str]:
    """Secrets that the platform itself needs, and why."""
    if isinstance(plan, AwsPlan):
        return {}
    from stacks.metal_lacking import machine_secrets

    return machine_secrets(plan.supply)


def deploy_on(platform: Platform, plan: Plan, config: pulumi.Config) -> dict[str, dict[str, Any]]:
    """Register what runs on a platform, whichever it is."""
    services = deploy_services(plan, platform)
    gateway = deploy_gateway(plan, platform, services)
    watched = deploy_monitoring(plan, platform, services, config)
    keda = deploy_autoscaling(plan, platform, services)
    teams = deploy_teams(plan, platform, services)
    deployed = deploy_workloads(plan, platform, services, gateway, keda, config)
    pages = deploy_people(plan, platform, services, gateway, config)
    shown = layer_outputs(plan, platform, services, watched, deployed, pages)
    return {**shown, "scheduling": {**shown["scheduling"], "teams": teams}} if teams else shown
