"""Whose credentials a process in a pod has, and what stores that are not AWS' answer it."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cloud.seen.aws import Aws
from rehearsal.images import identity, s3sync, stores
from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.program import Launch, Mount
from rehearsal.tests.cloud.conftest import REGION, Cloud, cloud
from rehearsal.tests.inside.facts import host

__all__ = ["cloud"]

SITE, CEPH = "https://s3.hall.net", "http://rook-ceph-rgw-objects.rook-ceph.svc:80"
KEY = {"AWS_ACCESS_KEY_ID": "SITE", "AWS_SECRET_ACCESS_KEY": "secret"}
AT_SITE = {**KEY, "AWS_ENDPOINT_URL": SITE}
NOWHERE = 'Unable to locate credentials. You can configure credentials by running "aws login".'
UNKNOWN = "An error occurred (InvalidAccessKeyId) when calling the ListObjectsV2 operation: None"
WRONG = UNKNOWN.replace("InvalidAccessKeyId", "SignatureDoesNotMatch")


class Cluster:
    """What Rook and a person have declared: a store with a user whose key is in a Secret, and a bucket's claim."""

    def __init__(self, phase: str = "Ready") -> None:
        self.phase = phase

    def get(self, api: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:  # noqa: ARG002
        if kind == "StorageClass":
            return {"parameters": {"objectStoreName": "objects"}}
        return {"status": {"phase": self.phase}} if (kind, name) == ("CephObjectStore", "objects") else None

    def list(self, api: str, kind: str, namespace: str | None = None) -> list[dict[str, Any]]:  # noqa: ARG002
        refs = {"accessKeyRef": {"name": "own", "key": "id"}, "secretKeyRef": {"name": "own", "key": "key"}}
        users = [{"spec": {"store": "objects", "keys": [refs]}}, {"spec": {"store": "other", "keys": [refs]}}]
        claim = {"metadata": {"name": "c"}, "spec": {"storageClassName": "b", "bucketName": "models"}}
        return users if kind == "CephObjectStoreUser" else [{**claim, "status": {"phase": "Bound"}}]


def launch(tmp_path: Path, env: Mapping[str, str], args: list[str], **more: Any) -> Launch:
    """A container on a racked machine, beside a site's store with a model in one bucket."""
    contents = Contents(tmp_path / "contents")
    contents.add(stores.volume(SITE, "models"), {"llama/config.json": 2, "llama/1.safetensors": 1 << 30, "other/a": 1})
    data = {name: base64.b64encode(value).decode() for name, value in (("id", b"CEPH"), ("key", b"secret"))}
    world: Any = SimpleNamespace(
        aws=SimpleNamespace(pod_identity=lambda *_: None),
        cluster="hall",
        contents=contents,
        hosts={},
        kube=Cluster(),
        store_key=("SITE", "secret"),
        find=lambda _store, name, _namespace: {"data": data} if name == "own" else None,
    )
    vars(world).update(more)
    pod = {"metadata": {"name": "p", "namespace": "ns"}, "spec": {}}
    mounts = [Mount("/models", "local:/mnt/shared", "models", name="shared")]
    return Launch(world, pod, {}, "n", ["aws"], args, env, mounts, tmp_path, print, 0.0)


def copied(tmp_path: Path, env: Mapping[str, str], bucket: str = "models", **more: Any) -> tuple[str, dict[str, int]]:
    """The message of a copy from a bucket, and what lies on the volume then."""
    process = launch(tmp_path, env, ["s3", "sync", f"s3://{bucket}/llama", "/models/llama"], **more)
    ended = s3sync.run(process).exited(1e9)
    assert ended is not None
    return ended.message, process.world.contents.under("local:/mnt/shared", "")


def test_a_pod_with_the_sites_key_copies_from_the_sites_store_and_asks_nobody_at_aws(tmp_path: Path) -> None:
    found = {"models/llama/config.json": 2, "models/llama/1.safetensors": 1 << 30}
    assert copied(tmp_path, AT_SITE, aws=None) == ("", found)


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({**AT_SITE, "AWS_ACCESS_KEY_ID": "OTHER"}, f"fatal error: {UNKNOWN}"),
        ({**AT_SITE, "AWS_SECRET_ACCESS_KEY": "b"}, f"fatal error: {WRONG}"),
        ({"AWS_ENDPOINT_URL": SITE}, NOWHERE),
        ({}, NOWHERE),
        ({**AT_SITE, "AWS_SECRET_ACCESS_KEY": ""}, "Partial credentials found in env, missing: AWS_SECRET_ACCESS_KEY"),
        ({**AT_SITE, "AWS_ACCESS_KEY_ID": ""}, NOWHERE),
        (KEY, "InvalidAccessKeyId: The AWS Access Key Id you provided does not exist in our records."),
        (
            {**AT_SITE, "AWS_ENDPOINT_URL_S3": "https://s3.elsewhere.net"},
            'fatal error: Could not connect to the endpoint URL: "https://s3.elsewhere.net/models"',
        ),
    ],
)
def test_a_pod_with_another_key_or_none_is_told_what_the_store_or_the_cli_says(
    tmp_path: Path, env: Mapping[str, str], said: str
) -> None:
    assert copied(tmp_path, env) == (said, {})


def test_an_identity_of_aws_opens_no_other_store_and_a_key_goes_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "_of_node", lambda _: identity.Identity("arn:aws:iam::1:role/node"))
    assert copied(tmp_path, {"AWS_ENDPOINT_URL": SITE})[0] == f"fatal error: {UNKNOWN}"
    assert copied(tmp_path, AT_SITE)[0] == ""
    with pytest.raises(identity.CredentialsError, match="InvalidAccessKeyId"):
        identity.of(launch(tmp_path, KEY, []))


def test_a_machine_of_the_sites_own_gives_no_role_to_a_pod_in_its_network(tmp_path: Path) -> None:
    process = launch(tmp_path, {}, [], hosts={"n": host(role="", hop_limit=1)})
    process = replace(process, pod={**process.pod, "spec": {"hostNetwork": True}})
    with pytest.raises(identity.CredentialsError, match="Unable to locate credentials"):
        identity.of(process)


def test_a_bucket_that_is_not_there_is_not_made_by_a_copy(tmp_path: Path) -> None:
    said = UNKNOWN.replace("InvalidAccessKeyId", "NoSuchBucket")
    assert copied(tmp_path, AT_SITE, "else") == (f"fatal error: {said}", {})
    writer = stores.OfSite(launch(tmp_path, AT_SITE, []), SITE, identity.Key("SITE", "secret"))
    writer.put("models", {"saves/1": "/tmp/1"})
    assert writer.listed("models", "saves") == ["saves/1"]


def test_cephs_store_knows_its_users_and_the_buckets_of_claims(tmp_path: Path) -> None:
    process = launch(tmp_path, {}, [])
    store = stores.OfSite(process, CEPH, identity.Key("CEPH", "secret"))
    assert store.listed("models", "") == []
    store.put("models", {"a": "/tmp/a"})
    assert store.listed("models", "") == ["a"]
    with pytest.raises(Exception, match="NoSuchBucket"):
        store.listed("else", "")
    with pytest.raises(Exception, match="InvalidAccessKeyId"):
        stores.OfSite(process, CEPH, identity.Key("SITE", "secret")).listed("models", "")
    waits = launch(tmp_path, {}, [], kube=Cluster("Progressing"))
    with pytest.raises(Exception, match="Could not connect"):
        stores.OfSite(waits, CEPH, identity.Key("CEPH", "secret")).listed("models", "")


def test_a_cluster_that_is_none_of_eks_has_no_pod_identities(cloud: Cloud) -> None:
    assert Aws(cloud.account, REGION).pod_identity("hall", "inference", "default") is None
