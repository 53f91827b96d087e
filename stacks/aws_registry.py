"""The stack's own image repositories."""

import pulumi

from components.aws.keys import Keys
from components.aws.registry import Registry, RegistryArgs, RepositorySpec
from planner.types import AwsPlan


def registry(plan: AwsPlan, keys: Keys, opts: pulumi.ResourceOptions) -> Registry | None:
    """Register the repositories; None where the stack file has none. A protected stack keeps its images."""
    if not plan.repositories:
        return None
    specs = [
        RepositorySpec(name=each.name, keep_images=each.keep_images, untagged_days=each.untagged_days)
        for each in plan.repositories
    ]
    args = RegistryArgs(
        repositories=specs,
        key_arn=keys.arn,
        disposable=not plan.ownership.protect,
        protect=plan.ownership.protect,
    )
    return Registry("registry", args, opts)
