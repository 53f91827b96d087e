"""Images that ECR fetches by itself: what it would refuse, and what it cannot."""

from typing import Any

import pytest

from planner.types import AwsPlan
from tests.planner.stacks import planned

REGISTRY = "123456789012.dkr.ecr.us-east-2.amazonaws.com"
SECRETS = "arn:aws:secretsmanager:us-east-2:123456789012:secret:ecr-pullthroughcache/"
CREDENTIALS = {"docker.io": f"{SECRETS}hub-AbCdEf", "ghcr.io": f"{SECRETS}github-AbCdEf"}


def supply(registry: str = REGISTRY, credentials: dict[str, str] | None = None) -> dict[str, Any]:
    return {"registry": registry, "cache": {"credentials": CREDENTIALS if credentials is None else credentials}}


def said(plan: AwsPlan, rule: str) -> list[str]:
    return [f"{each.path}: {each.sentence}" for each in plan.findings if each.rule == rule]


@pytest.mark.parametrize(
    ("wanted", "rule", "words"),
    [
        (supply(credentials={}), "cache-credential", "signs in to docker.io"),
        (supply("hub.site:5000"), "cache-registry", "hub.site:5000 is not the registry there"),
        (supply(REGISTRY.replace("us-east-2", "eu-west-1")), "cache-registry", "is not the registry there"),
        (supply(f"{REGISTRY}/of-the-whole-company"), "cache-registry", "characters, and a rule of ECR takes 30"),
        (supply(credentials=CREDENTIALS | {"quay.io": f"{SECRETS}q"}), "cache-credential", "no secret for quay.io"),
        (
            supply(credentials=CREDENTIALS | {"docker.io": CREDENTIALS["docker.io"].replace("us-east-2", "us-west-2")}),
            "cache-credential",
            "is not a secret of the account",
        ),
    ],
)
def test_what_ecr_would_refuse_is_refused_before(wanted: dict[str, Any], rule: str, words: str) -> None:
    plan = planned(changes={"supply": wanted})
    assert any(words in each for each in said(plan, rule))
    assert rule in {each.rule for each in plan.errors}


def test_what_ecr_cannot_fetch_is_named_and_stays_at_its_makers() -> None:
    plan = planned(changes={"supply": supply()})
    (sentence,) = said(plan, "image-not-cached")
    assert "nvcr.io" in sentence
    assert "quay.io" not in sentence
    assert not {each.rule for each in plan.errors} & {"cache-registry", "cache-credential"}


def test_a_closed_network_gets_nothing_by_a_first_pull() -> None:
    """ECR user guide, "Amazon ECR interface VPC endpoints", considerations: the first pull needs a NAT gateway."""
    inside = {"nat": "none", "endpoints": ["ec2", "ecr.api", "ecr.dkr", "sts", "eks-auth", "logs"]}
    plan = planned(changes={"supply": supply(), "platform.network": inside})
    assert [each.path for each in plan.errors if each.subject == "cache"] == ["gpucluster:supply.cache"]
