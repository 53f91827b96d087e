"""ECR's pull through cache rules, which moto does not have: registries that it knows, secrets, prefixes taken once.

Sources: ECR API reference, Create-, Describe-, Update- and DeletePullThroughCacheRule; ECR user guide, "Creating a pull
through cache rule" (a secret's name, account and region) and "Amazon ECR service quotas" (rules of a registry).
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.ecr.models import ECRBackend, ecr_backends
from moto.ecr.responses import ECRResponse
from moto.secretsmanager.models import secretsmanager_backends

from rehearsal.cloud.account import ACCOUNT
from rehearsal.cloud.amend import Amendments

AMENDMENTS = Amendments()

LIMIT = 50
OPEN = {"public.ecr.aws": "ecr-public", "quay.io": "quay", "registry.k8s.io": "k8s"}
ASKING = {
    "registry-1.docker.io": "docker-hub",
    "ghcr.io": "github-container-registry",
    "registry.gitlab.com": "gitlab-container-registry",
    "cgr.dev": "chainguard",
}
_PREFIX = re.compile(r"(?=.{2,30}$)([a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*/?|ROOT)")

Rules = dict[str, dict[str, Any]]


class RuleError(ServiceException):  # type: ignore[misc]
    """ECR's answer to a rule that cannot be, by its code."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def rules(backend: ECRBackend) -> Rules:
    """A registry's rules by prefix."""
    found: Rules = backend.__dict__.setdefault("pull_through_cache_rules", {})
    return found


def rule_prefixes() -> Iterator[str]:
    """Prefixes of the account's rules in all regions."""
    for backend in ecr_backends[ACCOUNT].values():
        yield from rules(backend)


@AMENDMENTS.operation(ECRResponse)
def create_pull_through_cache_rule(self: Any) -> ActionResult:
    """A prefix is taken once; registries that ask for a credential get no rule without one."""
    of, prefix, url = (
        rules(self.ecr_backend),
        self._get_param("ecrRepositoryPrefix"),
        self._get_param("upstreamRegistryUrl"),
    )
    arn = self._get_param("credentialArn")
    if not _PREFIX.fullmatch(prefix or ""):
        raise RuleError("InvalidParameterException", f"Invalid parameter at 'ecrRepositoryPrefix': '{prefix}'")
    if prefix in of:
        message = f"A pull through cache rule with the prefix '{prefix}' already exists in the registry '{ACCOUNT}'."
        raise RuleError("PullThroughCacheRuleAlreadyExistsException", message)
    kind = OPEN.get(url) or ASKING.get(url)
    if kind is None:
        raise RuleError("UnsupportedUpstreamRegistryException", f"The upstream registry '{url}' is not supported.")
    if url in ASKING and not arn:
        raise RuleError("InvalidParameterException", f"A credential ARN is required for the upstream registry '{url}'.")
    if len(of) >= LIMIT:
        raise RuleError("LimitExceededException", f"The registry '{ACCOUNT}' has {LIMIT} pull through cache rules.")
    _secret(self.region, arn)
    now = datetime.now(UTC)
    of[prefix] = {
        "ecrRepositoryPrefix": prefix,
        "upstreamRegistryUrl": url,
        "upstreamRegistry": kind,
        "upstreamRepositoryPrefix": self._get_param("upstreamRepositoryPrefix") or "ROOT",
        "registryId": ACCOUNT,
        "createdAt": now,
        "updatedAt": now,
        **({"credentialArn": arn} if arn else {}),
    }
    return ActionResult(of[prefix])


@AMENDMENTS.operation(ECRResponse)
def describe_pull_through_cache_rules(self: Any) -> ActionResult:
    """The rules asked for, all of which must be there; without names all rules."""
    asked = self._get_param("ecrRepositoryPrefixes")
    of = rules(self.ecr_backend)
    found = [_one(of, prefix) for prefix in asked] if asked else list(of.values())
    return ActionResult({"pullThroughCacheRules": found})


@AMENDMENTS.operation(ECRResponse)
def update_pull_through_cache_rule(self: Any) -> ActionResult:
    """Another secret for the rule."""
    rule, arn = _one(rules(self.ecr_backend), self._get_param("ecrRepositoryPrefix")), self._get_param("credentialArn")
    _secret(self.region, arn)
    rule |= {"updatedAt": datetime.now(UTC), **({"credentialArn": arn} if arn else {})}
    return ActionResult(rule)


@AMENDMENTS.operation(ECRResponse)
def delete_pull_through_cache_rule(self: Any) -> ActionResult:
    """The rule goes; repositories that it made stay."""
    of = rules(self.ecr_backend)
    return ActionResult(of.pop(_one(of, self._get_param("ecrRepositoryPrefix"))["ecrRepositoryPrefix"]))


def _one(of: Rules, prefix: str) -> dict[str, Any]:
    if prefix not in of:
        message = f"The pull through cache rule with the prefix '{prefix}' does not exist in the registry '{ACCOUNT}'."
        raise RuleError("PullThroughCacheRuleNotFoundException", message)
    return of[prefix]


def _secret(region: str, arn: str | None) -> None:
    """A secret that is named is one of the account in the region."""
    if arn and arn not in {each.arn for each in secretsmanager_backends[ACCOUNT][region].secrets.values()}:
        raise RuleError("SecretNotFoundException", f"The secret '{arn}' was not found.")
