"""Pull through cache rules of ECR, which moto does not have: each call, and what ECR says to it."""

from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import Cloud, refused

NOBODY = "arn:aws:secretsmanager:us-east-2:123456789012:secret:ecr-pullthroughcache/nobody-AbCdEf"


def test_a_rule_from_its_making_to_its_end(cloud: Cloud) -> None:
    ecr, secrets = cloud.client("ecr"), cloud.client("secretsmanager")
    first, second = (
        secrets.create_secret(Name=f"ecr-pullthroughcache/{name}", SecretString="{}")["ARN"] for name in ("a", "b")
    )
    asked = {"ecrRepositoryPrefix": "docker.io", "upstreamRegistryUrl": "registry-1.docker.io"}
    assert ecr.create_pull_through_cache_rule(**asked, credentialArn=first)["upstreamRegistry"] == "docker-hub"
    refused(
        ecr.create_pull_through_cache_rule, "PullThroughCacheRuleAlreadyExistsException", **asked, credentialArn=first
    )
    ecr.update_pull_through_cache_rule(ecrRepositoryPrefix="docker.io", credentialArn=second)
    (rule,) = ecr.describe_pull_through_cache_rules(ecrRepositoryPrefixes=["docker.io"])["pullThroughCacheRules"]
    assert (rule["credentialArn"], rule["upstreamRepositoryPrefix"]) == (second, "ROOT")
    ecr.delete_pull_through_cache_rule(ecrRepositoryPrefix="docker.io")
    assert not ecr.describe_pull_through_cache_rules()["pullThroughCacheRules"]
    gone = "PullThroughCacheRuleNotFoundException"
    refused(ecr.delete_pull_through_cache_rule, gone, ecrRepositoryPrefix="docker.io")


@pytest.mark.parametrize(
    ("code", "more"),
    [
        ("UnsupportedUpstreamRegistryException", {"upstreamRegistryUrl": "nvcr.io"}),
        ("InvalidParameterException", {"upstreamRegistryUrl": "ghcr.io"}),
        ("InvalidParameterException", {"ecrRepositoryPrefix": "Upper"}),
        ("SecretNotFoundException", {"upstreamRegistryUrl": "ghcr.io", "credentialArn": NOBODY}),
    ],
)
def test_what_ecr_refuses(cloud: Cloud, code: str, more: dict[str, Any]) -> None:
    asked = {"ecrRepositoryPrefix": "mirror", "upstreamRegistryUrl": "quay.io", **more}
    refused(cloud.client("ecr").create_pull_through_cache_rule, code, **asked)
