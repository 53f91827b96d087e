"""Volumes of claims: what the EBS driver's controller makes of a claim and of a released volume."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.cluster.pages import Request
from rehearsal.eks import addonobjects
from rehearsal.images import ebs, identity
from rehearsal.tests.inside.simulated import Node

CLASS = {"metadata": {"name": "gp3"}, "parameters": {"type": "gp3", "encrypted": "true"}, "reclaimPolicy": "Delete"}


def claim(**changes: Any) -> dict[str, Any]:
    notes = {"volume.kubernetes.io/storage-provisioner": ebs.DRIVER, "volume.kubernetes.io/selected-node": "n"}
    made: dict[str, Any] = {
        "metadata": {"name": "db", "namespace": "ns", "uid": "u1", "annotations": notes},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "gp3",
            "resources": {"requests": {"storage": "2500Mi"}},
        },
        "status": {"phase": "Pending"},
    }
    return made | changes


class Ec2:
    """The account's volumes."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.deleted: list[str] = []

    def create_volume(self, **asked: Any) -> dict[str, Any]:
        self.made.append(asked)
        return {"VolumeId": "vol-1", "Size": asked["Size"], "AvailabilityZone": asked["AvailabilityZone"]}

    def delete_volume(self, **asked: Any) -> None:
        if asked["VolumeId"] == "vol-gone":
            raise ClientError({"Error": {"Code": "InvalidVolume.NotFound", "Message": "gone"}}, "DeleteVolume")
        self.deleted.append(asked["VolumeId"])


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A controller that has looked once when `look` is called; its account and its cluster beside it."""
    node: Any = Node(tmp_path)
    node.node["metadata"]["labels"] = {ebs.ZONE: "us-east-2a"}
    node.world.cluster, node.world.aws = "lab", type("A", (), {"ec2": Ec2()})()
    node.kept, node.gone, node.claims, node.volumes = [], [], [], []
    node.world.stores["claims"] = type("S", (), {"all": lambda _: node.claims})()
    node.world.stores["volumes"] = type("S", (), {"all": lambda _: node.volumes})()
    node.world.kube.get = lambda _v, kind, name, *_: CLASS if (kind, name) == ("StorageClass", "gp3") else None
    node.world.kube.create = node.kept.append
    node.world.kube.delete = lambda obj: node.gone.append(obj["metadata"]["name"])
    monkeypatch.setattr(identity, "of", lambda _: identity.Identity("arn:aws:iam::1:role/r"))
    ebs.Controller(node.launch(node.pod("ebs-csi-controller")))
    (node.look,) = node.work.values()
    return node


def test_a_claim_whose_pod_has_a_node_gets_a_volume_of_its_zone(site: Any) -> None:
    site.claims.append(claim())
    site.look()
    (asked,) = site.world.aws.ec2.made
    assert (asked["AvailabilityZone"], asked["Size"], asked["VolumeType"], asked["Encrypted"]) == (
        "us-east-2a",
        3,
        "gp3",
        True,
    )
    (made,) = site.kept
    assert made["metadata"]["name"] == "pvc-u1"
    assert made["spec"]["csi"]["volumeHandle"] == "vol-1"
    assert made["spec"]["claimRef"]["uid"] == "u1"
    (term,) = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["us-east-2a"]


def test_a_class_says_how_fast_its_volumes_are(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Source: aws-ebs-csi-driver, docs/parameters.md (iops, throughput)."""
    monkeypatch.setitem(CLASS, "parameters", {"type": "gp3", "iops": "16000", "throughput": "1000"})
    site.claims.append(claim())
    site.look()
    (asked,) = site.world.aws.ec2.made
    assert (asked["Iops"], asked["Throughput"]) == (16_000, 1_000)


@pytest.mark.parametrize(
    "spoiled",
    [
        lambda each: each["metadata"]["annotations"].pop("volume.kubernetes.io/selected-node"),
        lambda each: each["metadata"]["annotations"].update(
            {"volume.kubernetes.io/storage-provisioner": "fsx.csi.aws.com"}
        ),
        lambda each: each["status"].update(phase="Bound"),
        lambda each: each["spec"].update(storageClassName="unknown"),
    ],
)
def test_other_claims_are_left_alone(spoiled: Callable[[dict[str, Any]], Any], site: Any) -> None:
    other = claim()
    spoiled(other)
    site.claims.append(other)
    site.look()
    assert (site.world.aws.ec2.made, site.kept) == ([], [])


def test_without_credentials_the_claim_waits_and_says_why(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: object) -> identity.Identity:
        raise identity.CredentialsError("Unable to locate credentials")

    monkeypatch.setattr(identity, "of", nobody)
    site.claims.append(claim())
    site.look()
    assert site.kept == []
    assert site.events == ["ProvisioningFailed"]


@pytest.mark.parametrize(("policy", "handle", "deleted"), [("Delete", "vol-1", ["vol-1"]), ("Delete", "vol-gone", [])])
def test_a_released_volume_goes(policy: str, handle: str, deleted: list[str], site: Any) -> None:
    made = ebs.persistent_volume("pvc-u1", claim(), CLASS, {"VolumeId": handle, "Size": 3, "AvailabilityZone": "z"})
    site.volumes.append({**made, "status": {"phase": "Released"}})
    site.look()
    assert (site.world.aws.ec2.deleted, site.gone) == (deleted, ["pvc-u1"])


def test_a_volume_that_is_to_be_kept_or_is_bound_stays(site: Any) -> None:
    kept = {**CLASS, "reclaimPolicy": "Retain"}
    facts = {"VolumeId": "vol-1", "Size": 3, "AvailabilityZone": "z"}
    site.volumes += [
        {**ebs.persistent_volume("a", claim(), kept, facts), "status": {"phase": "Released"}},
        {**ebs.persistent_volume("b", claim(), CLASS, facts), "status": {"phase": "Bound"}},
    ]
    site.look()
    assert (site.world.aws.ec2.deleted, site.gone) == ([], [])


def test_a_storage_class_asks_for_tags_of_its_volumes() -> None:
    """aws-ebs-csi-driver docs/tagging.md: the value may hold an equals sign, the key may not."""
    asked = {"type": "gp3", "tagSpecification_1": "owner=ml", "tagSpecification_2": "note=a=b"}
    assert ebs.asked_tags(asked) == {"owner": "ml", "note": "a=b"}


def test_it_tells_of_its_calls_where_its_addon_is_told_so_x05(site: Any) -> None:
    (deployed,) = [
        each
        for each in addonobjects.objects("aws-ebs-csi-driver", "v1", {"controller": {"enableMetrics": True}})
        if each["kind"] == "Deployment"
    ]
    container = deployed["spec"]["template"]["spec"]["containers"][0]
    controller = ebs.Controller(site.launch(site.pod("told"), args=container["args"]))
    answers = site.world.backends.handler("ns", "told", container["ports"][0]["containerPort"])

    def page() -> str:
        return str(answers(Request("GET", "/metrics")).content)

    assert 'aws_ebs_csi_api_request_duration_seconds_count{request="CreateVolume"} 0' in page()
    assert page().count("_bucket{") == 16 * 12
    site.claims.append(claim())
    site.work["ebs.csi.aws.com told"]()
    assert 'aws_ebs_csi_api_request_duration_seconds_count{request="CreateVolume"} 1' in page()
    with pytest.raises(ClientError):
        controller._asks("DeleteVolume", VolumeId="vol-gone")
    assert 'api_request_errors_total{request="DeleteVolume",error="InvalidVolume.NotFound"} 1' in page()
