"""Rules by which ECR fetches the stack's images."""

from collections.abc import Sequence

import pulumi

from catalogue.caching import ACCOUNT_REGISTRY
from components.aws.image_cache import CacheRuleSpec, ImageCache, ImageCacheArgs
from planner.types import AwsPlan
from stacks.aws_ground import Account


def image_cache(plan: AwsPlan, account: Account, opts: pulumi.ResourceOptions) -> Sequence[pulumi.Output[str]]:
    """Register the rules; what nodes may make repositories of, nothing without a cache."""
    found = ACCOUNT_REGISTRY.fullmatch(plan.supply.registry or "")
    if not plan.cache or found is None:
        return ()
    rules = [
        CacheRuleSpec(host=each.host, url=each.url, prefix=each.prefix, credential_arn=each.credential_arn)
        for each in plan.cache
    ]
    args = ImageCacheArgs(
        partition=account.partition,
        region=plan.deployment.region,
        account_id=account.id,
        registry_account=found["account"],
        rules=rules,
    )
    return list(ImageCache("image-cache", args, opts).repositories.values())
