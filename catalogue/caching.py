"""Registries that Amazon ECR caches by pull through cache rules.

Source: Amazon ECR user guide, "Sync an upstream registry with an Amazon ECR private registry" (which registries there
are, and which of them ask for a secret); ECR API reference, CreatePullThroughCacheRule (each one's address, prefixes).
Those of Azure and of other accounts, whose addresses each customer has its own of, are not built.
"""

import re
from dataclasses import dataclass

PREFIX_LIMIT = 30
"""Characters of a rule's prefix at most (CreatePullThroughCacheRule, ecrRepositoryPrefix)."""

ACCOUNT_REGISTRY = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?(?:/(?P<path>.+))?"
)
"""ECR's registry of an account in a region, as images name it, with a path or without."""


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """`url` is what a rule calls the registry. With `credential` ECR signs in there, by a secret of the account."""

    url: str
    credential: bool = False


UPSTREAMS = {
    "public.ecr.aws": Upstream(url="public.ecr.aws"),
    "quay.io": Upstream(url="quay.io"),
    "registry.k8s.io": Upstream(url="registry.k8s.io"),
    "docker.io": Upstream(url="registry-1.docker.io", credential=True),
    "ghcr.io": Upstream(url="ghcr.io", credential=True),
    "registry.gitlab.com": Upstream(url="registry.gitlab.com", credential=True),
    "cgr.dev": Upstream(url="cgr.dev", credential=True),
}
"""By the host that images name."""


def prefix_of(registry: str, host: str) -> str:
    """The rule's prefix: the host, below the path that the registry is named with. Pure."""
    path = registry.partition("/")[2]
    return f"{path}/{host}" if path else host
