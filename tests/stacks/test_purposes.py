"""Buckets by purpose: who writes where, with which rights, and how long it stays (R07)."""

import json
from typing import Any

import pytest

from policy import RULES
from policy.rule import violations
from stacks.purposes import PURPOSES, purpose_of
from tests.graph.harness import Recorded
from tests.graph.stackfiles import graph_of, registered, stack_config

BUCKETS: list[dict[str, Any]] = [{"purpose": "backups", "expireDays": 90}, {"purpose": "tracking"}]


def deployed() -> Recorded:
    """The dev stack with a tracker, and buckets for two purposes."""
    config = stack_config("dev")
    storage = config["gpucluster:storage"] | {"objectStore": {"buckets": BUCKETS}}
    tracking = config["gpucluster:training"] | {"tracking": {"kind": "mlflow"}}
    return registered(config | {"gpucluster:storage": storage, "gpucluster:training": tracking}, stack="dev")


def rights(graph: Recorded, identity: str) -> str:
    """The policy of a service account's role."""
    (policy,) = (each for each in graph.resources.values() if each.name == f"{identity}-policy")
    return json.dumps(json.loads(policy.inputs["policy"]))


def name(purpose: str) -> str:
    return f"gpucluster-dev-{purpose}-123456789012"


def test_each_purpose_has_its_bucket_made_like_the_stacks() -> None:
    graph = deployed()
    made = {each.inputs["bucket"] for each in graph.of_type("aws:s3/bucket:Bucket")}
    assert made == {name("artefacts"), name("backups"), name("tracking")}
    assert [str(each) for each in violations(graph, RULES)] == []
    (first, uploads) = graph.one("object-store-backups-lifecycle").inputs["rules"]
    assert (first["expiration"], first["filter"]) == ({"days": 90}, {"prefix": ""})
    assert uploads["id"] == "unfinished-uploads"
    (kept, _) = graph.one("object-store-tracking-lifecycle").inputs["rules"]
    assert "expiration" not in kept
    assert kept["noncurrentVersionExpiration"] == {"noncurrentDays": 7}
    assert graph.outputs["storage"]["buckets"] == {"backups": name("backups"), "tracking": name("tracking")}


def test_whoever_writes_may_and_does_so_in_the_bucket_of_the_purpose() -> None:
    graph = deployed()
    whole = json.dumps([each.inputs for each in graph.resources.values()])
    for purpose, prefix in (("tracking", "tracking/artifacts"), ("backups", "tracking/backups")):
        assert f"s3://{name(purpose)}/{prefix}" in whole
        assert f"s3://{name('artefacts')}/{prefix}" not in whole
    assert f"arn:aws:s3:::{name('tracking')}/tracking/artifacts/*" in rights(graph, "mlflow-identity")
    assert name("artefacts") not in rights(graph, "mlflow-identity")
    assert f"arn:aws:s3:::{name('artefacts')}/checkpoints/" in rights(graph, "run-llama-3-8b-sft-identity")


def test_without_the_key_there_is_one_bucket() -> None:
    graph = graph_of("prod")
    assert [each.name for each in graph.of_type("aws:s3/bucket:Bucket")] == ["object-store-bucket"]
    assert "buckets" not in graph.outputs["storage"]


def test_every_prefix_is_of_one_purpose() -> None:
    prefixes = [each for found in PURPOSES.values() for each in found]
    assert len(prefixes) == len(set(prefixes))
    assert [purpose_of(each) for each in ("checkpoints/a", "tracking/backups", "backups/pipelines", "gates/b")] == [
        "checkpoints",
        "backups",
        "backups",
        "records",
    ]
    with pytest.raises(KeyError):
        purpose_of("checkpointsof")
