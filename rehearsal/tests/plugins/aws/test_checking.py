"""What Check and Diff make of inputs, without asking AWS anything about the object."""

import json
from typing import Any

import grpc
import pytest

from rehearsal.plugins.aws.checking import renewed
from rehearsal.plugins.aws.table import ROWS
from rehearsal.plugins.wire import UNKNOWN, decode
from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.driver import Driver, RefusalError, State, changed, in_clear

GROUP = {"clusterName": "c", "nodeRoleArn": "arn:aws:iam::123456789012:role/n", "subnetIds": ["subnet-1"]}
SIZES = {"desiredSize": 1, "minSize": 0, "maxSize": 2}


def checked(aws: Driver, type: str, name: str, inputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return decode(aws.check(type, name, inputs, **more))[0]


def test_names_are_made_up_once(aws: Driver) -> None:
    role = {"assumeRolePolicy": w.trust("ec2.amazonaws.com")}
    first = checked(aws, w.ROLE, "node", role)
    assert first["name"].startswith("node-")
    assert len(first["name"]) == len("node-1234567")
    assert checked(aws, w.ROLE, "node", role) == first
    assert checked(aws, w.ROLE, "node", role, seed=b"other")["name"] != first["name"]


def test_a_made_up_name_stays(aws: Driver) -> None:
    state = aws.create(w.ROLE, w.name("role"), {"assumeRolePolicy": w.trust("ec2.amazonaws.com")})
    again = aws.check(w.ROLE, state.name, {"assumeRolePolicy": w.trust("ec2.amazonaws.com")}, state, seed=b"other")
    assert decode(again)[0]["name"] == state.id


def test_a_made_up_name_follows_the_services_rules(aws: Driver) -> None:
    assert checked(aws, w.BUCKET, "Data", {})["bucket"].startswith("data-")
    assert checked(aws, w.ALIAS, "etcd", {"targetKeyId": "x"})["name"].startswith("alias/etcd-")
    with pytest.raises(RefusalError, match="longer than 64 characters"):
        aws.check(w.ROLE, "r" * 60, {"assumeRolePolicy": w.trust("ec2.amazonaws.com")})


def test_a_prefix_makes_the_name_at_creation(aws: Driver) -> None:
    inputs = {"assumeRolePolicy": w.trust("ec2.amazonaws.com"), "namePrefix": "gpu-"}
    assert "name" not in checked(aws, w.ROLE, "node", inputs)
    assert aws.preview(w.ROLE, "node", inputs)["name"] == UNKNOWN
    state = aws.create(w.ROLE, "node", inputs)
    assert state.id.startswith("gpu-")
    assert len(state.id) == len("gpu-") + 26
    assert changed(aws.diff(state, inputs)) == {}


def test_region_defaults_and_tags_are_filled_in(aws: Driver) -> None:
    inputs = checked(aws, w.VPC, "v", {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}})
    assert inputs["region"] == "us-west-2"
    assert inputs["enableDnsSupport"] is True
    assert inputs["tags"] == {"a": "b"}
    assert inputs["tagsAll"] == {"stack": "test", "a": "b"}


def test_a_policy_in_another_formatting_is_the_same(aws: Driver) -> None:
    state = aws.create(w.ROLE, w.name("role"), {"assumeRolePolicy": w.trust("ec2.amazonaws.com")})
    compact = json.dumps(json.loads(w.trust("ec2.amazonaws.com")))
    assert changed(aws.diff(state, {"assumeRolePolicy": compact})) == {}


def test_the_order_of_a_set_is_no_change(aws: Driver) -> None:
    old = {**GROUP, "scalingConfig": SIZES, "subnetIds": ["subnet-1", "subnet-2"]}
    state = aws.diff(_unmade(aws, w.NODES, "n", old), {**old, "subnetIds": ["subnet-2", "subnet-1"]})
    assert changed(state) == {}


@pytest.mark.parametrize(
    ("type", "inputs", "path", "reason"),
    [
        (w.VPC, {"cidrBlok": "10.0.0.0/16"}, "cidrBlok", "x has no input cidrBlok"),
        (
            w.TEMPLATE,
            {"networkInterfaces": [{"interfaceTyp": "efa"}]},
            "networkInterfaces.interfaceTyp",
            "x: networkInterfaces.interfaceTyp: AWS knows no such member; it knows AssociateCarrierIpAddress",
        ),
        (
            w.NODES,
            {**GROUP, "scalingConfig": SIZES, "amiType": "AL2023_GPU"},
            "amiType",
            'x: amiType: "AL2023_GPU" is not one of AL2_x86_64',
        ),
        (
            w.NODES,
            {**GROUP, "scalingConfig": {**SIZES, "desiredSize": "many"}},
            "scalingConfig.desiredSize",
            'x: scalingConfig.desiredSize: expected integer, got "many"',
        ),
        (w.TABLE, {"vpcId": "vpc-1", "routes": [{"cidrBlock": "0.0.0.0/0"}]}, "routes", "x: routes: the rehearsal"),
        (
            w.ACCESS,
            {"clusterName": "c", "policyArn": w.ADMIN},
            "",
            'Missing required parameter in input: "principalArn"',
        ),
    ],
)
def test_wrong_inputs_are_refused_in_preview(
    aws: Driver, type: str, inputs: dict[str, Any], path: str, reason: str
) -> None:
    with pytest.raises(RefusalError) as caught:
        aws.check(type, "x", inputs)
    assert reason in caught.value.failures[path]


def test_wrong_inputs_beside_unknown_ones_are_refused_too(aws: Driver) -> None:
    with pytest.raises(RefusalError, match="no input cidrBlok"):
        aws.check(w.SUBNET, "x", {"vpcId": UNKNOWN, "cidrBlok": "10.0.0.0/16"})
    with pytest.raises(RefusalError, match="AWS knows no such member"):
        aws.check(w.TEMPLATE, "x", {"networkInterfaces": [{"securityGroups": [UNKNOWN], "interfaceTyp": "efa"}]})


def test_unknown_inputs_give_unknown_outputs(aws: Driver) -> None:
    outputs = aws.preview(w.SUBNET, "s", {"vpcId": UNKNOWN, "cidrBlock": "10.0.0.0/24", "tags": {"a": UNKNOWN}})
    assert outputs["vpcId"] == UNKNOWN
    assert outputs["arn"] == UNKNOWN
    assert outputs["tagsAll"] == UNKNOWN
    assert outputs["cidrBlock"] == "10.0.0.0/24"


def test_what_eks_adds_inside_an_input_is_unknown_in_preview(aws: Driver) -> None:
    role = "arn:aws:iam::123456789012:role/c"
    outputs = aws.preview(w.CLUSTER, "c", {"roleArn": role, "vpcConfig": {"subnetIds": ["subnet-1", "subnet-2"]}})
    assert outputs["vpcConfig"]["clusterSecurityGroupId"] == UNKNOWN
    assert outputs["vpcConfig"]["subnetIds"] == ["subnet-1", "subnet-2"]
    assert outputs["certificateAuthority"] == UNKNOWN


def test_a_new_template_version_is_unknown_in_preview(aws: Driver) -> None:
    state = aws.create(w.TEMPLATE, w.name("lt"), {"instanceType": "p5.4xlarge"})
    after = aws.update(state, {"instanceType": "p5.48xlarge"}, preview=True)
    assert after.outputs["latestVersion"] == UNKNOWN
    tagged = aws.update(state, {"instanceType": "p5.4xlarge", "tags": {"a": "b"}}, preview=True)
    assert tagged.outputs["latestVersion"] == 1


def test_leaving_out_what_aws_fills_in_changes_nothing(aws: Driver) -> None:
    old = {**GROUP, "scalingConfig": SIZES, "version": "1.35", "updateConfig": {"maxUnavailable": 1}}
    assert changed(aws.diff(_unmade(aws, w.NODES, "n", old), {**GROUP, "scalingConfig": SIZES})) == {}


def test_an_unknown_value_where_a_new_object_is_needed_replaces(aws: Driver) -> None:
    diff = aws.diff(
        _unmade(aws, w.SUBNET, "s", {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24"}),
        {"vpcId": UNKNOWN, "cidrBlock": "10.0.0.0/24"},
    )
    assert list(diff.replaces) == ["vpcId"]
    assert changed(diff) == {"vpcId": "update_replace"}


def test_another_region_replaces(raw: Driver, aws: Driver) -> None:
    state = _unmade(aws, w.SUBNET, "s", {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24"})
    raw.configure(region="us-east-2")
    assert list(raw.diff(state, {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24"}).replaces) == ["region"]


def test_an_object_with_a_name_of_its_own_goes_before_its_replacement_comes(aws: Driver) -> None:
    group = {"vpcId": "vpc-1", "description": "a"}
    made_up = aws.diff(_unmade(aws, w.GROUP, "g", group), {**group, "description": "b"})
    assert made_up.replaces
    assert not made_up.deleteBeforeReplace
    named = {**group, "name": "efa"}
    given = aws.diff(_unmade(aws, w.GROUP, "g", named), {**named, "description": "b"})
    assert given.deleteBeforeReplace
    renamed = aws.diff(_unmade(aws, w.GROUP, "g", named), {**named, "name": "efa2"})
    assert not renamed.deleteBeforeReplace


def test_an_attachment_goes_before_its_replacement_comes(aws: Driver) -> None:
    old = {"role": "r", "policyArn": "arn:aws:iam::aws:policy/A"}
    new = {"role": "r", "policyArn": "arn:aws:iam::aws:policy/B"}
    assert aws.diff(_unmade(aws, w.ATTACHMENT, "a", old), new).deleteBeforeReplace


def test_storage_grows_in_place_and_shrinks_by_replacement(aws: Driver) -> None:
    old = {"subnetIds": "subnet-0123456789abcdef0", "deploymentType": "SCRATCH_2", "storageCapacity": 2400}
    state = _unmade(aws, w.LUSTRE, "fs", old)
    assert not aws.diff(state, {**old, "storageCapacity": 4800}).replaces
    assert list(aws.diff(state, {**old, "storageCapacity": 1200}).replaces) == ["storageCapacity"]
    assert list(aws.diff(state, {**old, "deploymentType": "PERSISTENT_2"}).replaces) == ["deploymentType"]


def test_envelope_encryption_cannot_be_taken_away(aws: Driver) -> None:
    role = "arn:aws:iam::123456789012:role/c"
    plain = {"roleArn": role, "vpcConfig": {"subnetIds": ["subnet-1", "subnet-2"]}}
    old = {**plain, "encryptionConfig": {"resources": ["secrets"], "provider": {"keyArn": "arn:aws:kms:x"}}}
    assert list(aws.diff(_unmade(aws, w.CLUSTER, "c", old), plain).replaces) == ["encryptionConfig"]


def test_a_change_that_cannot_be_made_is_refused(aws: Driver) -> None:
    role = "arn:aws:iam::123456789012:role/c"
    config = {"resources": ["secrets"], "provider": {"keyArn": "arn:aws:kms:x"}}
    old = {"roleArn": role, "vpcConfig": {"subnetIds": ["subnet-1", "subnet-2"]}, "encryptionConfig": config}
    new = {**old, "encryptionConfig": {**config, "provider": {"keyArn": "arn:aws:kms:y"}}}
    with pytest.raises(
        grpc.RpcError, match=r"diff .* c: .* cannot change encryptionConfig.provider.keyArn of an exist"
    ):
        aws.diff(_unmade(aws, w.CLUSTER, "c", old), new)


def test_secrets_stay_secret_and_so_does_what_is_made_of_them(aws: Driver) -> None:
    inputs = {"cidrBlock": "10.3.0.0/16", "tags": {"token": "s3cr3t"}}
    state = aws.create(w.VPC, w.name("vpc"), inputs, secrets=[("tags", "token")])
    assert not in_clear(state.inputs, "s3cr3t")
    assert not in_clear(state.struct, "s3cr3t")
    state = aws.update(state, {**inputs, "enableDnsHostnames": True}, secrets=[("tags", "token")])
    assert not in_clear(state.struct, "s3cr3t")
    again = aws.read(state)
    assert again
    assert not in_clear(again.inputs, "s3cr3t")
    assert not in_clear(again.struct, "s3cr3t")
    assert again.outputs["tagsAll"]["token"] == "s3cr3t"


def _unmade(aws: Driver, type: str, name: str, inputs: dict[str, Any]) -> State:
    """The state of an object that was never made."""
    sealed = aws.check(type, name, inputs)
    return State(type, name, sealed, "id", decode(sealed)[0], sealed)


def test_what_the_cloud_decides_inside_a_block_stays_known_in_a_preview() -> None:
    """A cluster that is protected keeps its security group: what stands in its nodes' templates does not change."""
    network = {"subnetIds": ["subnet-1"], "clusterSecurityGroupId": "sg-1", "vpcId": "vpc-1"}
    old = {"name": "c", "deletionProtection": False, "vpcConfig": network}
    inputs = {"name": "c", "deletionProtection": True, "vpcConfig": {"subnetIds": ["subnet-1"]}}
    cluster = ROWS["aws:eks/cluster:Cluster"]
    assert renewed(cluster, old, inputs, frozenset({"deletionProtection"}))["vpcConfig"] == network
