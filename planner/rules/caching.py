"""Images that ECR fetches by itself: whose registry it is, and where it has to sign in."""

from collections.abc import Iterable

from catalogue.caching import ACCOUNT_REGISTRY, PREFIX_LIMIT, UPSTREAMS
from planner.caching import plan_cache, pulled_hosts
from planner.draft import AwsDraft, aws_rule, aws_warning
from planner.findings import Observation

_GUIDE = "Amazon ECR user guide, Sync an upstream registry with an Amazon ECR private registry"


@aws_rule(
    "F02",
    formula="supply.registry is ECR in the stack's region, and each rule's prefix has at most 30 characters",
    source=f"{_GUIDE}; ECR API reference, CreatePullThroughCacheRule (ecrRepositoryPrefix)",
)
def cache_registry(draft: AwsDraft) -> Iterable[Observation]:
    """Only ECR caches, a registry for each account and region."""
    supply, region = draft.settings.supply, draft.settings.platform.region
    if supply.cache is None:
        return
    found = ACCOUNT_REGISTRY.fullmatch(supply.registry or "")
    if found is None or found["region"] != region:
        yield Observation(
            path="supply.registry",
            sentence=f"supply.cache makes rules of ECR in {region}, and {supply.registry} is not the registry there",
            remedy=f"set supply.registry to ACCOUNT.dkr.ecr.{region}.amazonaws.com, or remove supply.cache",
        )
    for each in plan_cache(draft):
        if len(each.prefix) > PREFIX_LIMIT:
            yield Observation(
                path="supply.registry",
                sentence=f"the prefix {each.prefix} has {len(each.prefix)} characters, and a rule of ECR takes "
                f"{PREFIX_LIMIT}",
                remedy="shorten the path of supply.registry",
                subject=each.host,
            )


@aws_rule(
    "F02",
    by_name=True,
    formula="each registry that asks for a credential has one, a secret of the registry's account and region",
    source=f"{_GUIDE}; Creating a pull through cache rule (the secret's account and region)",
)
def cache_credential(draft: AwsDraft) -> Iterable[Observation]:
    """ECR takes no rule for Docker Hub or GitHub without a secret, and none with a secret of somewhere else."""
    supply = draft.settings.supply
    if supply.cache is None:
        return
    for each in plan_cache(draft):
        if UPSTREAMS[each.host].credential and each.credential_arn is None:
            yield Observation(
                path="supply.cache.credentials",
                sentence=f"ECR signs in to {each.host}, from which the stack pulls, and has no secret for it",
                remedy=f"put user name and access token into a secret named ecr-pullthroughcache/..., and its ARN here "
                f"as {each.host}",
                subject=each.host,
            )
    of = ACCOUNT_REGISTRY.fullmatch(supply.registry or "")
    for host, arn in supply.cache.credentials.items():
        path = f"supply.cache.credentials.{host}"
        if host not in UPSTREAMS or not UPSTREAMS[host].credential:
            asks = ", ".join(name for name, row in UPSTREAMS.items() if row.credential)
            yield Observation(
                path=path,
                sentence=f"ECR takes no secret for {host}",
                remedy=f"remove it; there are secrets for {asks}",
                subject=host,
            )
        elif of and arn.split(":")[3:5] != [of["region"], of["account"]]:
            yield Observation(
                path=path,
                sentence=f"{arn} is not a secret of the account {of['account']} in {of['region']}, where the rule is",
                remedy="make the secret there, and name that one",
                subject=host,
            )


@aws_warning(
    "F02",
    formula="ECR can fetch from every registry that the stack pulls from, if supply.cache",
    source=f"{_GUIDE}: the list of upstream registries, in which NVIDIA's is not",
)
def image_not_cached(draft: AwsDraft) -> Iterable[Observation]:
    """Images that ECR cannot fetch are still pulled from their maker; the finding names them."""
    if draft.settings.supply.cache is None:
        return
    own = draft.settings.supply.registry or ""
    rest = [host for host in pulled_hosts(draft) if host not in UPSTREAMS and host != own.partition("/")[0]]
    if rest:
        yield Observation(
            path="supply.cache",
            sentence=f"ECR has no pull through cache for {', '.join(rest)}; nodes pull those images from there",
            remedy="let nodes reach them and waive image-not-cached, or copy all images and remove supply.cache",
        )
