"""A whole stack: platform, services, workloads, in that order."""

from typing import Any

import pulumi

from planner.types import AwsPlan, Plan
from settings.load import Loaded
from settings.model import AwsSettings
from stacks.aws import deploy_aws
from stacks.outputs import layer_outputs
from stacks.services import deploy_services
from stacks.workloads import deploy_workloads


def deploy(loaded: Loaded, plan: Plan) -> dict[str, dict[str, Any]]:
    """Register everything and return the stack's outputs by layer. Raises RunError before the first, on metal."""
    settings = loaded.settings
    if not (isinstance(settings, AwsSettings) and isinstance(plan, AwsPlan)):
        raise pulumi.RunError("gpucluster:platform.kind: metal can be planned but not deployed yet; type make plan")
    platform = deploy_aws(settings, plan)
    services = deploy_services(settings, platform)
    deployed = deploy_workloads(loaded, plan, platform, services)
    return layer_outputs(settings, plan, platform, services, deployed)
