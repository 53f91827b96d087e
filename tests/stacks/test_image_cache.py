"""Images that ECR fetches by itself, from the stack file to what is registered."""

import json
from typing import Any

import pytest

from planner.types import AwsPlan
from policy.pods import pods
from tests.graph.harness import Recorded
from tests.graph.stackfiles import run_program, stack_config
from tests.planner.stacks import planned

REGISTRY = "123456789012.dkr.ecr.us-east-2.amazonaws.com"
SECRETS = "arn:aws:secretsmanager:us-east-2:123456789012:secret:ecr-pullthroughcache/"
CREDENTIALS = {"docker.io": f"{SECRETS}hub-AbCdEf", "ghcr.io": f"{SECRETS}github-AbCdEf"}


def supply(registry: str = REGISTRY, credentials: dict[str, str] | None = None) -> dict[str, Any]:
    return {"registry": registry, "cache": {"credentials": CREDENTIALS if credentials is None else credentials}}


def deployed(wanted: dict[str, Any]) -> Recorded:
    return run_program({**stack_config("dev"), "gpucluster:supply": wanted}, stack="dev")


def said(plan: AwsPlan, rule: str) -> list[str]:
    return [f"{each.path}: {each.sentence}" for each in plan.findings if each.rule == rule]


@pytest.mark.parametrize("path", ["", "/lab"])
def test_every_image_that_is_named_at_the_cache_has_a_rule(path: str) -> None:
    graph = deployed(supply(REGISTRY + path))
    rules = {each.inputs["ecrRepositoryPrefix"]: each.inputs for each in graph.of_type("PullThroughCacheRule")}
    begin = f"{path}/".lstrip("/")
    images = {str(container["image"]) for pod in pods(graph) for container in pod.containers}
    cached = {image.removeprefix(f"{REGISTRY}/") for image in images if image.startswith(REGISTRY)}
    hosts = {image.removeprefix(begin).partition("/")[0] for image in cached}
    assert {"public.ecr.aws", "docker.io"} <= hosts
    assert {f"{begin}{host}" for host in hosts} <= set(rules)
    assert rules[f"{begin}docker.io"]["upstreamRegistryUrl"] == "registry-1.docker.io"
    assert rules[f"{begin}docker.io"]["credentialArn"] == CREDENTIALS["docker.io"]
    assert "credentialArn" not in rules[f"{begin}public.ecr.aws"]
    assert not [image for image in cached if "nvcr.io" in image]
    assert any(image.startswith("nvcr.io/") for image in images)


def test_nodes_may_fetch_through_the_cache_and_make_its_repositories_only() -> None:
    graph = deployed(supply())
    (statement,) = json.loads(graph.one("node-role-cache").inputs["policy"])["Statement"]
    assert statement["Action"] == ["ecr:BatchImportUpstreamImage", "ecr:CreateRepository"]
    begin = "arn:aws:ecr:us-east-2:123456789012:repository/"
    prefixes = {each.inputs["ecrRepositoryPrefix"] for each in graph.of_type("PullThroughCacheRule")}
    assert set(statement["Resource"]) == {f"{begin}{prefix}/*" for prefix in prefixes}


def test_nobody_caches_unless_asked() -> None:
    graph = run_program({**stack_config("dev"), "gpucluster:supply": {"registry": REGISTRY}}, stack="dev")
    assert not graph.of_type("PullThroughCacheRule")
    assert "node-role-cache" not in graph.resources


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


def test_a_registry_of_another_account_is_refused_when_the_account_is_known() -> None:
    other = supply(
        REGISTRY.replace("123456789012", "210987654321"),
        {k: v.replace("123456789012", "210987654321") for k, v in CREDENTIALS.items()},
    )
    with pytest.raises(Exception, match="is of the account 210987654321"):
        deployed(other)
