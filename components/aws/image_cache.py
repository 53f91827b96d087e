"""Pull through cache rules: ECR fetches an image by itself when somebody first pulls it below the rule's prefix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class CacheRuleSpec:
    """Images of `host`, which ECR calls `url`, stand below `prefix`; a secret where the registry asks for one."""

    host: str
    url: str
    prefix: str
    credential_arn: str | None = None


@dataclass(frozen=True, kw_only=True)
class ImageCacheArgs:
    """`account_id` is who deploys, `registry_account` whose registry the images are named at: the same, or it fails."""

    partition: pulumi.Input[str]
    region: str
    account_id: pulumi.Input[str]
    registry_account: str
    rules: Sequence[CacheRuleSpec]


class ImageCache(Component):
    """One rule for each registry. `repositories` are ARNs, by host, of those that ECR makes by it, with a wildcard."""

    repositories: Mapping[str, pulumi.Output[str]]

    def __init__(self, name: str, args: ImageCacheArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        account = pulumi.Output.from_input(args.account_id).apply(lambda known: same_account(known, args))
        self.repositories = {spec.host: self._rule(spec, account, args) for spec in args.rules}
        self.register_outputs({"repositories": self.repositories})

    def _rule(self, spec: CacheRuleSpec, account: pulumi.Output[str], args: ImageCacheArgs) -> pulumi.Output[str]:
        rule = aws.ecr.PullThroughCacheRule(
            self.named(spec.host),
            ecr_repository_prefix=account.apply(lambda _: spec.prefix),
            upstream_registry_url=spec.url,
            credential_arn=spec.credential_arn,
            opts=self.child(),
        )
        return pulumi.Output.format(
            "arn:{0}:ecr:{1}:{2}:repository/{3}/*", args.partition, args.region, account, rule.ecr_repository_prefix
        )


def same_account(account: str, args: ImageCacheArgs) -> str:
    """The account that is deployed to. Raises ValueError if the images are named at another one's registry."""
    if account != args.registry_account:
        raise ValueError(
            f"gpucluster:supply.registry belongs to account {args.registry_account}, but the stack is deployed to "
            f"{account}: use that account's registry, or remove supply.cache"
        )
    return account
