"""A whole stack: platform, services, workloads, in that order."""

from typing import Any

import pulumi

from planner.types import AwsPlan, Plan
from stacks.autoscaling import deploy_autoscaling
from stacks.aws import deploy_aws
from stacks.monitoring import deploy_monitoring
from stacks.outputs import layer_outputs
from stacks.platform import Platform
from stacks.services import deploy_services
from stacks.workloads import deploy_workloads


def deploy(plan: Plan, config: pulumi.Config) -> dict[str, dict[str, Any]]:
    """Register everything and return the stack's outputs by layer. `config` has the secrets."""
    return deploy_on(platform_of(plan), plan, config)


def platform_of(plan: Plan) -> Platform:
    """The platform that the plan is for: the one place that knows which there are. Raises RunError on metal."""
    return deploy_aws(deployable(plan))


def deployable(plan: Plan) -> AwsPlan:
    """The plan, if there is a platform to deploy it on. Raises RunError on metal."""
    if isinstance(plan, AwsPlan):
        return plan
    raise pulumi.RunError("gpucluster:platform.kind: metal can be planned but not deployed yet; type make plan")


def deploy_on(platform: Platform, plan: Plan, config: pulumi.Config) -> dict[str, dict[str, Any]]:
    """Register what runs on a platform, whichever it is."""
    services = deploy_services(plan, platform)
    watched = deploy_monitoring(plan, platform, services, config)
    deploy_autoscaling(plan, platform, services)
    return layer_outputs(plan, platform, services, watched, deploy_workloads(plan, platform, services, config))
