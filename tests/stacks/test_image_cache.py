"""Images that ECR fetches by itself, from the stack file to what is registered."""

import json
from typing import Any

import pytest

from policy.pods import pods
from tests.graph.harness import Recorded
from tests.graph.stackfiles import registered, stack_config
from tests.planner.test_closed_network import CREDENTIALS, REGISTRY, supply
from tests.stacks.test_scaled import scaled


def deployed(wanted: dict[str, Any]) -> Recorded:
    return registered({**stack_config("dev"), "gpucluster:supply": wanted}, stack="dev")


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
    """Those of node groups, and those that Karpenter makes."""
    graph = registered(scaled(supply=supply()), stack="dev")
    begin = "arn:aws:ecr:us-east-2:123456789012:repository/"
    prefixes = {each.inputs["ecrRepositoryPrefix"] for each in graph.of_type("PullThroughCacheRule")}
    for role in ("node-role", "karpenter-node-role"):
        (statement,) = json.loads(graph.one(f"{role}-cache").inputs["policy"])["Statement"]
        assert statement["Action"] == ["ecr:BatchImportUpstreamImage", "ecr:CreateRepository"]
        assert set(statement["Resource"]) == {f"{begin}{prefix}/*" for prefix in prefixes}


def test_nobody_caches_unless_asked() -> None:
    graph = registered({**stack_config("dev"), "gpucluster:supply": {"registry": REGISTRY}}, stack="dev")
    assert not graph.of_type("PullThroughCacheRule")
    assert "node-role-cache" not in graph.resources


def test_a_registry_of_another_account_is_refused_when_the_account_is_known() -> None:
    other = supply(
        REGISTRY.replace("123456789012", "210987654321"),
        {k: v.replace("123456789012", "210987654321") for k, v in CREDENTIALS.items()},
    )
    with pytest.raises(Exception, match="belongs to account 210987654321"):
        deployed(other)
