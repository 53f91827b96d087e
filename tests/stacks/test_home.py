"""People's own files on AWS, from the stack file to what is registered (G12)."""

import json
from typing import Any

import pytest

from policy import RULES
from policy.rule import violations
from tests.graph.harness import Recorded
from tests.graph.stackfiles import graph_of, registered, stack_config

HOME = {"expectedGib": 400, "coldAfterDays": 14}
TEAMS = [{"name": "vision", "queue": "vision", "gpus": 2, "members": [{"role": "operator", "group": "leads"}]}]


def deployed(stack: str = "dev", home: dict[str, Any] | None = None, *, team: bool = True) -> Recorded:
    config = stack_config(stack)
    storage = {**config["gpucluster:storage"], "home": HOME if home is None else home}
    changed: dict[str, Any] = {"gpucluster:storage": storage}
    if team:
        queues = [*config["gpucluster:scheduling"]["queues"], {"name": "vision", "weight": 1, "gpus": 2}]
        changed |= {"gpucluster:scheduling": {**config["gpucluster:scheduling"], "queues": queues}}
        changed |= {"gpucluster:teams": TEAMS}
    return registered({**config, **changed}, stack=stack)


def test_each_namespace_has_a_directory_of_its_own() -> None:
    graph = deployed()
    for namespace in ("training", "team-vision"):
        point = graph.one(f"home-directory-{namespace}")
        root = point.inputs["rootDirectory"]
        assert root["path"] == f"/{namespace}"
        assert root["creationInfo"] == {"ownerUid": 1000, "ownerGid": 1000, "permissions": "0770"}
        assert point.inputs["posixUser"] == {"uid": 1000, "gid": 1000}
        (volume,) = (
            each for each in graph.of_type("PersistentVolume") if each.name.endswith(f"{namespace}-home-volume")
        )
        csi = volume.inputs["spec"]["csi"]
        assert csi["driver"] == "efs.csi.aws.com"
        assert csi["volumeHandle"] == f"{graph.one('home-file-system').id}::{point.id}"
        assert volume.inputs["spec"]["accessModes"] == ["ReadWriteMany"]
        assert volume.inputs["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert [str(each) for each in violations(graph, RULES)] == []


def test_a_claim_comes_when_it_can_be_mounted_and_goes_before_what_lets_go_of_it() -> None:
    graph = deployed()
    targets = {each.urn for each in graph.of_type("MountTarget")}
    needed = {*targets, graph.one("home-policy").urn, graph.one("service-addons-aws-efs-csi-driver").urn}
    homes = [each for each in graph.of_type("PersistentVolume") if each.name.endswith("-home-volume")]
    assert len(homes) == 2
    assert all(needed <= set(each.depends_on) for each in homes)


def test_nodes_of_every_zone_mount_it_and_nobody_else_reaches_it() -> None:
    graph = deployed()
    targets = graph.of_type("MountTarget")
    subnets = {each.inputs["subnetId"] for each in targets}
    assert subnets == {each.id for each in graph.of_type("Subnet") if each.name.startswith("network-subnet-system-")}
    (rule,) = (each for each in graph.of_type("SecurityGroupIngressRule") if each.name.startswith("home-group-"))
    assert (rule.inputs["fromPort"], rule.inputs["toPort"], rule.inputs["ipProtocol"]) == (2049, 2049, "tcp")
    assert "cidrIpv4" not in rule.inputs
    assert all(each.inputs["securityGroups"] == [rule.inputs["securityGroupId"]] for each in targets)


def test_only_access_points_are_mounted_and_over_tls() -> None:
    allowed, denied = json.loads(deployed().one("home-policy").inputs["policy"])["Statement"]
    assert denied["Effect"] == "Deny"
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert allowed["Action"] == ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"]
    assert allowed["Condition"]["ArnLike"]["elasticfilesystem:AccessPointArn"].endswith(":access-point/*")


def test_it_is_encrypted_and_what_nobody_opens_gets_cold() -> None:
    system = deployed().one("home-file-system")
    assert system.inputs["encrypted"] is True
    assert system.inputs["kmsKeyId"].startswith("arn:aws:kms:")
    assert system.inputs["throughputMode"] == "elastic"
    assert deployed().outputs["storage"]["home"] == system.id
    assert system.inputs["lifecyclePolicies"] == [
        {"transitionToIa": "AFTER_14_DAYS"},
        {"transitionToPrimaryStorageClass": "AFTER_1_ACCESS"},
    ]
    warm = deployed(home={"expectedGib": 1, "coldAfterDays": None}).one("home-file-system")
    assert not warm.inputs.get("lifecyclePolicies")
    assert deployed(home={"expectedGib": 1, "coldAfterDays": 1}).one("home-file-system").inputs["lifecyclePolicies"][
        0
    ] == {"transitionToIa": "AFTER_1_DAY"}


@pytest.mark.parametrize(("stack", "kept"), [("dev", False), ("prod", True)])
def test_a_protected_stack_keeps_backups_and_the_files(stack: str, kept: bool) -> None:
    graph = deployed(stack, team=False)
    assert [each.inputs["backupPolicy"]["status"] for each in graph.of_type("BackupPolicy")] == ["ENABLED"] * kept
    assert graph.one("home-file-system").protect is kept


def test_a_stack_without_homes_registers_nothing_of_them() -> None:
    graph = graph_of("dev")
    assert not [each for each in graph.resources.values() if "efs" in each.token or each.name.startswith("home")]
    assert "home" not in graph.outputs["storage"]
