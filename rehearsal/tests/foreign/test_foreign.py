"""A program that knows nothing of this repository is rehearsed as it is: default providers, manifests, its own chart.

It is written in another style, names its things by Pulumi's random suffixes, has the default AWS provider with region,
profile and tags from its stack file, makes a plain EKS cluster, and reaches it by the token of the AWS CLI.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.tests.command.trial import Trial, creating, kill_engine, until
from rehearsal.toolchain.families import FAMILIES

pytestmark = pytest.mark.engine
PROGRAM = Path(__file__).parent / "program"
HELM = "helm" in FAMILIES or shutil.which("helm") is not None
STACK = "dev" if HELM else "small"
"""The one with its own chart, if a helm is at hand that renders charts in directories."""
SCALER = """
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: {name}, namespace: web}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: pages}}
  maxReplicas: 4
"""
TWO_FOR_PAGES = "".join(SCALER.format(name=name) for name in ("pages", "pages-more"))
"""Whose pods nobody scales then (kubernetes pkg/controller/podautoscaler/horizontal.go, AmbiguousSelector)."""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Trial]:
    made = Trial(shutil.copytree(PROGRAM, tmp_path / "shop"), tmp_path / "home", STACK)
    yield made
    made.end(STACK)


def files(shop: Trial) -> dict[Path, bytes]:
    found = (path for path in shop.root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path: path.read_bytes() for path in found}


def show(shop: Trial, *words: str) -> Any:
    status, said = shop.run("kubectl", "--stack", STACK, "--", *words, "--namespace", "web", "--output", "json")
    assert status == 0, said
    return json.loads(said)


def ready(shop: Trial) -> dict[str, int]:
    """Ready pods of each Deployment of the program."""
    found = show(shop, "get", "deployments")["items"]
    return {each["metadata"]["name"].partition("-")[0]: each["status"].get("readyReplicas", 0) for each in found}


@pytest.mark.scale
def test_it_goes_up_recovers_from_a_kill_tells_what_never_scales_and_leaves_nothing_lf06(
    shop: Trial,
) -> None:
    before = files(shop)
    process = shop.start("up", "--stack", STACK)
    until(creating(shop, "pages", process), "the Deployment")
    until(lambda: kill_engine(shop) > 0, "an engine to kill")
    said = process.communicate()[0]
    assert "was killed" in said

    edge = shop.root / "manifests" / "edge.yaml"
    written = edge.read_text()
    edge.write_text(written + TWO_FOR_PAGES)
    status, said = shop.run("up", "--stack", STACK)
    assert status == 1, said
    assert "recover: the engine was killed" in said
    assert re.search(r"horizontalpodautoscaler web/cache does not scale: FailedGetResourceMetric: ", said), said
    assert "horizontalpodautoscaler web/pages-more does not scale: AmbiguousSelector: pods by selector" in said
    looked, again = shop.run("status", "--stack", STACK)
    assert (looked, "web/cache does not scale" in again) == (1, True), again
    assert ready(shop) == {"pages": 2, "cache": 2} | ({"sessions": 2} if HELM else {})
    [pod, *_] = show(shop, "get", "pods", "--selector", "app=pages")["items"]
    sources = [next(iter(each.values()))["name"] for each in pod["spec"]["containers"][0]["envFrom"]]
    assert sources[0] == "settings"
    assert sources[1].startswith("greeting-"), "named by the provider, as the program names it nowhere"
    assert show(shop, "get", "deployment", "cache")["metadata"]["annotations"]["since"] == "2026-01-05"
    if HELM:
        [made] = [each for each in show(shop, "get", "configmaps")["items"] if "valkey.conf" in each.get("data", {})]
        assert made["data"]["valkey.conf"] == "maxmemory 64mb\n"

    edge.write_text(written.partition("---\napiVersion: autoscaling/v2")[0])
    status, said = shop.run("up", "--stack", STACK)
    assert status == 0, said
    assert "not proven: no packet passes here that a NetworkPolicy could stop, so nothing tried web/cache" in said
    status, said = shop.run("preview", "--stack", STACK)
    assert status == 0, said
    assert said.strip().splitlines()[-1].strip().startswith("same "), said
    status, said = shop.run("down", "--stack", STACK)
    assert (status, "zero left" in said) == (0, True), said
    assert shop.nothing_left()
    edge.write_text(written)
    assert files(shop) == before
