"""Cost alerts of a stack on AWS."""

import pulumi

from components.aws.spending import Spending, SpendingArgs
from planner.said import SpendingAlerts
from stacks.aws_ground import Ground
from stacks.providers import STACK_TAG


def spending(plan: SpendingAlerts | None, base: Ground, layer: pulumi.Resource) -> Spending | None:
    """Register budget, anomaly monitor and topic; None where the stack file names nobody."""
    if plan is None:
        return None
    args = SpendingArgs(
        account_id=base.account.id,
        tag_key=STACK_TAG,
        tag_value=pulumi.get_stack(),
        monthly_usd=plan.monthly_usd,
        percents=plan.percents,
        emails=plan.emails,
        anomaly_usd=plan.anomaly_usd,
    )
    return Spending("spending", args, pulumi.ResourceOptions(parent=layer))
