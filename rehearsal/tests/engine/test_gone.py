"""What the account has lost behind a stack's back is named by kind and name."""

import json
from pathlib import Path
from typing import Any

import pytest

from rehearsal.engine.gone import KINDS, entries, gone
from rehearsal.engine.stored import StateError
from rehearsal.plugins.aws.table import ROWS

TYPES = {
    "aws:eks/nodeGroup:NodeGroup": ("gpucluster-dev:training", "eks:nodegroup", "gpucluster-dev/training"),
    "aws:eks/accessEntry:AccessEntry": (
        "gpucluster-dev:arn:aws:iam::1:role/x",
        "eks:access-entry",
        "gpucluster-dev/arn:aws:iam::1:role/x",
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": ("fs-1", "fsx:file-system", "fs-1"),
    "aws:s3/bucket:Bucket": ("b", "s3:bucket", "b"),
    "aws:budgets/budget:Budget": ("123456789012:lab", "budgets:budget", "lab"),
}


def entry(token: str, id: str, name: str = "it", **more: Any) -> dict[str, Any]:
    return {"urn": f"urn:pulumi:dev::gpucluster::a${token}::{name}", "type": token, "id": id, **more}


@pytest.mark.parametrize("token", TYPES)
def test_what_is_gone_is_named_and_what_is_there_is_not(token: str) -> None:
    id, kind, held = TYPES[token]
    assert list(gone([entry(token, id)], {kind: [held, "another"]}, "make refresh")) == []
    without: list[dict[str, list[str]]] = [{}, {kind: ["another"]}]
    for inventory in without:
        (said,) = gone([entry(token, id, "pool-nodes")], inventory, "make refresh STACK=dev")
        assert said.startswith(
            f"{kind.partition(':')[2].replace('-', ' ')} {held} (pool-nodes) is declared but missing"
        )
        assert "`make refresh STACK=dev`, then `up`, recreates it" in said


def test_an_association_is_known_by_its_cluster_and_its_own_id() -> None:
    token = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
    it = entry(token, "a-1", outputs={"clusterName": "gpucluster-dev", "associationId": "a-1"})
    assert list(gone([it], {"eks:pod-identity-association": ["gpucluster-dev/a-1"]}, "r")) == []
    assert len(list(gone([it], {}, "r"))) == 1


def test_what_is_only_read_about_to_be_deleted_or_no_thing_of_its_own_is_not_missed() -> None:
    vpc = "aws:ec2/vpc:Vpc"
    them = [
        entry(vpc, "vpc-1", external=True),
        entry(vpc, "vpc-2", delete=True),
        entry(vpc, ""),
        entry("aws:ec2/route:Route", "r-1"),
        entry("kubernetes:core/v1:Secret", "a/b"),
    ]
    assert list(gone(them, {}, "r")) == []


def test_every_type_of_the_table_is_one_of_the_plugins() -> None:
    assert set(KINDS) <= set(ROWS)


def test_every_state_of_a_site_is_compared(tmp_path: Path) -> None:
    for project in ("one", "two"):
        path = tmp_path / ".pulumi" / "stacks" / project / "dev.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"version": 3, "checkpoint": {"latest": {"resources": [entry("t:t:T", project)]}}}))
    assert [each["id"] for each in entries(tmp_path)] == ["one", "two"]
    path.write_text("")
    with pytest.raises(StateError, match=r"two/dev\.json"):
        list(entries(tmp_path))
