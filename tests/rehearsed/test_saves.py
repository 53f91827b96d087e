"""Copies of saves into a bucket with a KMS key: the run's role has to hold kms:GenerateDataKey on it (LF11)."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cloud.seen.aws import Aws
from rehearsal.images import awscli, identity
from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.program import Launch, Mount
from rehearsal.tests.cloud.conftest import REGION, Cloud
from rehearsal.tests.cloud.world import make_role
from rehearsed import saves

KEY_ARN = f"arn:aws:kms:{REGION}:123456789012:key/7777cccc-12ab-34cd-56ef-1234567890ab"
PUT = {"Effect": "Allow", "Action": "s3:PutObject", "Resource": "arn:aws:s3:::saves/*"}
ENCRYPT = {"Effect": "Allow", "Action": ["kms:Decrypt", "kms:GenerateDataKey"], "Resource": KEY_ARN}
SCRIPT = (
    "aws s3 sync . s3://saves/sft/$newest --exclude SHA256SUMS\naws s3 cp SHA256SUMS s3://saves/sft/$newest/SHA256SUMS"
)


@pytest.fixture(scope="module")
def role(cloud: Cloud) -> str:
    cloud.call("PUT", f"buckets/{REGION}/saves", {"keyArn": KEY_ARN})
    return make_role(cloud, "saver", "pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")


def copied(cloud: Cloud, role: str, tmp_path: Path, rights: list[dict[str, Any]]) -> list[str]:
    document = json.dumps({"Version": "2012-10-17", "Statement": rights})
    cloud.client("iam").put_role_policy(RoleName="saver", PolicyName="write", PolicyDocument=document)
    contents = Contents(tmp_path / "contents")
    contents.add("csi:fsx:fs-1", {"checkpoints/sft/step-0/shard-0.pt": 1, "checkpoints/sft/step-0/SHA256SUMS": 1})
    world: Any = SimpleNamespace(aws=Aws(cloud.account, REGION), contents=contents)
    launch = Launch(
        world=world,
        pod={"metadata": {"name": "p", "namespace": "training"}, "spec": {}},
        spec={},
        node="n",
        command=["sh", "-c"],
        args=[SCRIPT],
        env={saves.DIRECTORY: "/checkpoints"},
        mounts=[Mount("/checkpoints", "csi:fsx:fs-1", "checkpoints/sft")],
        directory=tmp_path,
        wake=lambda: None,
        now=0.0,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "of", lambda _: identity.Identity(role))
        return saves.copied(launch)


def test_a_role_that_may_not_make_data_keys_stores_nothing_lf11(cloud: Cloud, role: str, tmp_path: Path) -> None:
    with pytest.raises(awscli.CommandError, match=r"not authorized to perform: kms:GenerateDataKey on resource"):
        copied(cloud, role, tmp_path, [PUT])
    assert len(copied(cloud, role, tmp_path, [PUT, ENCRYPT])) == 2
