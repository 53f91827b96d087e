"""A whole stack: platform, services, workloads, in that order."""

from typing import Any

from planner.types import Plan
from settings.load import Loaded
from stacks.aws import deploy_aws
from stacks.outputs import layer_outputs
from stacks.services import deploy_services
from stacks.workloads import deploy_workloads


def deploy(loaded: Loaded, plan: Plan) -> dict[str, dict[str, Any]]:
    """Register everything and return the stack's outputs by layer."""
    platform = deploy_aws(loaded.settings, plan)
    services = deploy_services(loaded.settings, platform)
    deployed = deploy_workloads(loaded, plan, platform, services)
    return layer_outputs(loaded.settings, plan, platform, services, deployed)
