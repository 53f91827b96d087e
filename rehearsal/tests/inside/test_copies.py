"""Copies from S3: whose the bucket is, which key it has, and what the role of the pod holds (LF03, LF11)."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cloud.seen.aws import Aws
from rehearsal.images import identity, s3sync
from rehearsal.kubelet import volumes
from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.program import Launch, Mount
from rehearsal.tests.cloud.conftest import REGION, Cloud, cloud
from rehearsal.tests.cloud.world import make_role
from rehearsal.tests.inside.objects import pod

__all__ = ["cloud"]

OWN = "123456789012"
KEY_ARN = f"arn:aws:kms:{REGION}:{OWN}:key/2222bbbb-12ab-34cd-56ef-1234567890ab"
ONLY_ROOT_OF_ANOTHER = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::999999999999:root"}, "Action": "kms:*", "Resource": "*"}
    ],
}


@pytest.fixture(scope="module")
def role(cloud: Cloud) -> str:
    return make_role(cloud, "copier", "pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")


@pytest.fixture
def sealed(cloud: Cloud) -> Iterator[str]:
    """A bucket of this account with a key of its own, and one object."""
    cloud.call("PUT", f"buckets/{REGION}/sealed", {"keyArn": KEY_ARN})
    cloud.client("s3").put_object(Bucket="sealed", Key="llama/config.json", Body=b"{}")
    yield "sealed"
    cloud.client("kms").enable_key(KeyId=KEY_ARN)


def copied(cloud: Cloud, role: str, tmp_path: Path, rights: list[dict[str, Any]], bucket: str) -> tuple[int, str]:
    """Exit code and message of a copy by a pod whose role has these rights."""
    document = json.dumps({"Version": "2012-10-17", "Statement": rights})
    cloud.client("iam").put_role_policy(RoleName="copier", PolicyName="read", PolicyDocument=document)
    world: Any = SimpleNamespace(aws=Aws(cloud.account, REGION), contents=Contents(tmp_path / "contents"))
    pod = {"metadata": {"name": "p", "namespace": "ns"}, "spec": {}}
    args = ["s3", "sync", f"s3://{bucket}/llama", "/models/llama", "--no-progress"]
    mounts = [Mount("/models", "csi:fsx:fs-1", "models", name="shared")]
    launch = Launch(world, pod, {}, "n", ["aws"], args, {}, mounts, tmp_path, print, 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "of", lambda _: identity.Identity(role))
        ended = s3sync.run(launch).exited(1e9)
    assert ended is not None
    return ended.code, ended.message


def reading(bucket: str, owner: str = OWN) -> list[dict[str, Any]]:
    owned = {"StringEquals": {"s3:ResourceAccount": owner}}
    return [
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": f"arn:aws:s3:::{bucket}", "Condition": owned},
        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*", "Condition": owned},
    ]


DECRYPT = {"Effect": "Allow", "Action": "kms:Decrypt", "Resource": KEY_ARN}


def test_a_role_that_may_not_decrypt_is_refused_with_the_keys_name_lf11(
    cloud: Cloud, role: str, sealed: str, tmp_path: Path
) -> None:
    code, said = copied(cloud, role, tmp_path, reading(sealed), sealed)
    assert code == 1
    assert "(AccessDenied) when calling the GetObject operation" in said
    assert f'not authorized to perform: kms:Decrypt on resource: "{KEY_ARN}" because no identity-based policy' in said
    other = {**DECRYPT, "Resource": KEY_ARN.replace("2222", "3333")}
    assert copied(cloud, role, tmp_path, [*reading(sealed), other], sealed)[0] == 1
    assert copied(cloud, role, tmp_path, [*reading(sealed), DECRYPT], sealed) == (0, "")


def test_a_keys_own_policy_has_to_let_the_account_in_lf11(cloud: Cloud, role: str, sealed: str, tmp_path: Path) -> None:
    kms = cloud.client("kms")
    before = kms.get_key_policy(KeyId=KEY_ARN, PolicyName="default")["Policy"]
    kms.put_key_policy(KeyId=KEY_ARN, PolicyName="default", Policy=json.dumps(ONLY_ROOT_OF_ANOTHER))
    code, said = copied(cloud, role, tmp_path, [*reading(sealed), DECRYPT], sealed)
    kms.put_key_policy(KeyId=KEY_ARN, PolicyName="default", Policy=before)
    assert code == 1
    assert "because no resource-based policy allows the kms:Decrypt action" in said


def test_a_disabled_key_stops_a_copy_whatever_the_role_holds(
    cloud: Cloud, role: str, sealed: str, tmp_path: Path
) -> None:
    cloud.client("kms").disable_key(KeyId=KEY_ARN)
    code, said = copied(cloud, role, tmp_path, [*reading(sealed), DECRYPT], sealed)
    assert code == 1
    assert (
        f"An error occurred (KMS.DisabledException) when calling the GetObject operation: {KEY_ARN} is disabled" in said
    )


@pytest.mark.parametrize(("owner", "code"), [(OWN, 0), ("999999999999", 1)])
def test_a_role_reads_a_bucket_of_the_owner_it_names_only_lf03(
    cloud: Cloud, role: str, tmp_path: Path, owner: str, code: int
) -> None:
    cloud.call("PUT", f"buckets/{REGION}/owned", {})
    cloud.client("s3").put_object(Bucket="owned", Key="llama/config.json", Body=b"{}")
    assert copied(cloud, role, tmp_path, reading("owned", owner), "owned")[0] == code


@pytest.mark.parametrize(("below", "code"), [("llama/*", 0), ("llama", 1), ("other/*", 1)])
def test_a_role_lists_below_the_prefix_that_its_rights_name(
    cloud: Cloud, role: str, tmp_path: Path, below: str, code: int
) -> None:
    """The copy is typed without a slash behind it and asks with one."""
    cloud.call("PUT", f"buckets/{REGION}/owned", {})
    cloud.client("s3").put_object(Bucket="owned", Key="llama/config.json", Body=b"{}")
    listing, getting = reading("owned")
    tied = {**listing, "Condition": {**listing["Condition"], "StringLike": {"s3:prefix": [below]}}}
    ended, said = copied(cloud, role, tmp_path, [tied, getting], "owned")
    assert (ended, "is not authorized to perform: s3:ListBucket" in said) == (code, bool(code))


def test_a_strangers_bucket_is_not_served_from_lf03(cloud: Cloud, role: str, tmp_path: Path) -> None:
    cloud.call("PUT", f"buckets/{REGION}/squatted", {"owner": "999999999999"})
    everything = [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]
    code, said = copied(cloud, role, tmp_path, everything, "squatted")
    assert (code, "AccessDenied" in said) == (1, True)


def test_a_directory_that_is_not_there_cannot_be_made_on_a_read_only_volume_lf14(tmp_path: Path) -> None:
    """kubernetes, pkg/kubelet/kubelet_pods.go, makeMounts."""
    contents = Contents(tmp_path / "contents")
    mounts = [Mount("/data", "csi:fsx:fs-1", "datasets/chats", name="data")]

    def problem(read_only: bool) -> str | None:
        claim = {"claimName": "training-data", "readOnly": read_only}
        reader = pod(volumes=[{"name": "data", "persistentVolumeClaim": claim}])
        return volumes.sub_path_problem(reader, "pytorch", mounts, contents)

    said = 'failed to create subPath directory for volumeMount "data" of container "pytorch"'
    assert (problem(True), problem(False)) == (said, None)
    contents.add("csi:fsx:fs-1", {"datasets/chats/part-0": 1})
    assert problem(True) is None
