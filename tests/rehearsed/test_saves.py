"""Copies of saves into a bucket with a KMS key: the run's role has to hold kms:GenerateDataKey on it (LF11)."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.platform.database_backup import copying
from components.storage.aws_cli import AwsCli
from rehearsal.cloud.seen.aws import Aws
from rehearsal.images import awscli, identity, stores
from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.program import VOLUMES, Launch, Mount
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


def uploading(world: Any, tmp_path: Path, env: Mapping[str, str], mounts: list[Mount]) -> Launch:
    pod = {"metadata": {"name": "p", "namespace": "training"}, "spec": {}}
    env = {saves.DIRECTORY: "/checkpoints", **env}
    return Launch(world, pod, {}, "n", ["sh", "-c"], [SCRIPT], env, mounts, tmp_path, print, 0.0)


def copied(cloud: Cloud, role: str, tmp_path: Path, rights: list[dict[str, Any]]) -> list[str]:
    document = json.dumps({"Version": "2012-10-17", "Statement": rights})
    cloud.client("iam").put_role_policy(RoleName="saver", PolicyName="write", PolicyDocument=document)
    contents = Contents(tmp_path / "contents")
    contents.add("csi:fsx:fs-1", {"checkpoints/sft/step-0/shard-0.pt": 1, "checkpoints/sft/step-0/SHA256SUMS": 1})
    world: Any = SimpleNamespace(aws=Aws(cloud.account, REGION), contents=contents)
    launch = uploading(world, tmp_path, {}, [Mount("/checkpoints", "csi:fsx:fs-1", "checkpoints/sft")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "of", lambda _: identity.Identity(role))
        return saves.copied(launch)


def test_a_role_that_may_not_make_data_keys_stores_nothing_lf11(cloud: Cloud, role: str, tmp_path: Path) -> None:
    with pytest.raises(awscli.CommandError, match=r"not authorized to perform: kms:GenerateDataKey on resource"):
        copied(cloud, role, tmp_path, [PUT])
    assert len(copied(cloud, role, tmp_path, [PUT, ENCRYPT])) == 2


def test_on_a_site_the_newest_save_lies_in_the_sites_store(tmp_path: Path) -> None:
    """The container has the store's key: AWS is not asked. The higher step of two is taken."""
    contents = Contents(tmp_path / "contents")
    for step in (10, 9):
        at = f"checkpoints/sft/step-{step}"
        contents.add("local:/mnt/shared", {f"{at}/shard-0.pt": 1, f"{at}/SHA256SUMS": 1})
    contents.add(stores.volume("https://s3.hall.net", "saves"), {})
    env = {"AWS_ENDPOINT_URL": "https://s3.hall.net", "AWS_ACCESS_KEY_ID": "ID", "AWS_SECRET_ACCESS_KEY": "key"}
    mounts = [Mount("/checkpoints", "local:/mnt/shared", "checkpoints/sft")]
    launch = uploading(SimpleNamespace(contents=contents, store_key=("ID", "key")), tmp_path, env, mounts)
    assert len(saves.copied(launch)) == 2
    kept = contents.under(stores.volume("https://s3.hall.net", "saves"), "sft")
    assert list(kept) == ["sft/step-10/shard-0.pt", "sft/step-10/SHA256SUMS"]
    other = uploading(launch.world, tmp_path, {**env, "AWS_SECRET_ACCESS_KEY": "other"}, mounts)
    with pytest.raises(awscli.CommandError, match=r"upload failed: .* An error occurred \(SignatureDoesNotMatch\)"):
        saves.copied(other)


def test_a_file_that_a_real_process_wrote_is_stored_as_it_is_under_its_day_and_hour(
    cloud: Cloud, role: str, tmp_path: Path
) -> None:
    world: Any = SimpleNamespace(aws=Aws(cloud.account, REGION), directory=tmp_path)
    script = copying(AwsCli(image="aws-cli"), "/dump/mlflow.dump")
    pod = {"metadata": {"name": "p", "namespace": "tracking"}, "spec": {}}
    mounts, env = [Mount("/dump", "pod:u:dump", name="dump")], {"BACKUP_URI": "s3://saves/backups"}
    launch = Launch(world, pod, {}, "n", ["sh", "-c"], [script], env, mounts, tmp_path / "p/copy/0", print, 0.0)
    file = tmp_path / "p" / VOLUMES / "dump" / "mlflow.dump"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"PGDMP")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "of", lambda _: identity.Identity(role))
        patch.setattr("rehearsed.saves.time.gmtime", lambda: time.struct_time((2026, 11, 25, 7, 30, 0, 2, 329, 0)))
        document = json.dumps({"Version": "2012-10-17", "Statement": [PUT, ENCRYPT]})
        cloud.client("iam").put_role_policy(RoleName="saver", PolicyName="write", PolicyDocument=document)
        assert saves.copied(launch) == ["upload: /dump/mlflow.dump to s3://saves/backups/3-07.dump"]
    kept = cloud.client("s3").get_object(Bucket="saves", Key="backups/3-07.dump")
    assert kept["Body"].read() == b"PGDMP"
