"""What goes wrong in an account, and what the plugin makes of it."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.cases import CASES
from rehearsal.tests.plugins.aws.conftest import REGION, Cloud
from rehearsal.tests.plugins.aws.world import World
from rehearsal.tests.plugins.driver import Driver, State, changed, partial


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, cloud: Cloud) -> Any:
    """Retries without the waiting; no fault survives its test."""
    monkeypatch.setattr("rehearsal.plugins.aws.account.MAX_BACKOFF", 0.01)
    yield
    cloud.call("DELETE", "faults")


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "Throttling", "InternalError", "Unavailable"])
def test_throttling_is_ridden_out(aws: Driver, cloud: Cloud, code: str) -> None:
    cloud.fault("CreateVpc", code, times=6)
    assert aws.create(w.VPC, w.name("vpc"), {"cidrBlock": "10.4.0.0/16"}).id


def test_endless_throttling_ends(aws: Driver, cloud: Cloud) -> None:
    cloud.fault("CreateVpc", "RequestLimitExceeded", times=100)
    with pytest.raises(grpc.RpcError, match=r"create aws:ec2/vpc:Vpc endless: CreateVpc: Request.*after 25 attempts"):
        aws.create(w.VPC, "endless", {"cidrBlock": "10.4.0.0/16"})


def test_a_refusal_is_not_retried(aws: Driver, cloud: Cloud) -> None:
    cloud.fault("CreateVpc", "VpcLimitExceeded", status=400, times=1)
    with pytest.raises(grpc.RpcError, match="create aws:ec2/vpc:Vpc limited: CreateVpc: VpcLimitExceeded"):
        aws.create(w.VPC, "limited", {"cidrBlock": "10.4.0.0/16"})


PARTS = (w.VERSIONING, w.ENCRYPTION, w.PUBLIC, w.LIFECYCLE, w.BUCKET_POLICY)
NO_ROLE = ("InvalidParameterException", "Role provided in the request does not exist.")
LATE = [
    (w.VPC, "DescribeVpcs", "InvalidVpcID.NotFound", ""),
    (w.GATEWAY, "AttachInternetGateway", "InvalidInternetGatewayID.NotFound", ""),
    (w.TABLE_ASSOCIATION, "AssociateRouteTable", "InvalidRouteTableID.NotFound", ""),
    (w.ROLE, "GetRole", "NoSuchEntity", ""),
    (w.ATTACHMENT, "ListAttachedRolePolicies", "NoSuchEntity", ""),
    (w.PROFILE, "GetInstanceProfile", "NoSuchEntity", ""),
    (w.PROFILE, "AddRoleToInstanceProfile", "NoSuchEntity", "The role with name one cannot be found."),
    (w.KEY, "DescribeKey", "NotFoundException", ""),
    (w.ALIAS, "CreateAlias", "NotFoundException", ""),
    (w.CLUSTER, "CreateCluster", "InvalidParameterException", "IAM role's policy must include `ec2:DescribeSubnets`"),
    (w.CLUSTER, "DescribeCluster", "ResourceNotFoundException", ""),
    (w.POD_IDENTITY, "CreatePodIdentityAssociation", *NO_ROLE),
    *((each, "PutBucket.*|PutPublicAccessBlock", "NoSuchBucket", "") for each in PARTS),
]
"""What the provider tries again, or asks for again (terraform-provider-aws, internal/service)."""
AT_ONCE = [
    (w.NODES, "CreateNodegroup", "InvalidParameterException", "The role with name one cannot be found."),
    (w.OWNERSHIP, "PutBucketOwnershipControls", "NoSuchBucket", ""),
    (w.NAT, "CreateNatGateway", "InvalidSubnetID.NotFound", ""),
    (w.ATTACHMENT, "AttachRolePolicy", "NoSuchEntity", ""),
]
"""What it does not: the program must not ask before it is there."""


def inputs_of(type: str, world: World) -> dict[str, Any]:
    return next(case for case in CASES if case.type == type).inputs(world)


@pytest.mark.parametrize(("type", "action", "code", "message"), LATE, ids=lambda each: each.rpartition(":")[2])
def test_what_aws_shows_late_is_waited_for(
    aws: Driver, world: World, cloud: Cloud, type: str, action: str, code: str, message: str
) -> None:
    inputs = inputs_of(type, world)
    cloud.fault(action, code, status=400, times=3, message=message)
    state = aws.create(type, w.name("late"), inputs)
    assert cloud.call("GET", "faults") == []
    aws.delete(state)


@pytest.mark.parametrize(("type", "action", "code", "message"), AT_ONCE, ids=lambda each: each.rpartition(":")[2])
def test_what_the_provider_does_not_try_again_fails_at_once(
    aws: Driver, world: World, cloud: Cloud, type: str, action: str, code: str, message: str
) -> None:
    inputs = inputs_of(type, world)
    cloud.fault(action, code, status=400, times=1, message=message)
    with pytest.raises(grpc.RpcError, match=f"{action}: {code}"):
        aws.create(type, w.name("late"), inputs)


@pytest.mark.parametrize(
    ("type", "inputs"),
    [
        (w.ROLE, {"assumeRolePolicy": w.trust("ec2.amazonaws.com"), "name": "taken"}),
        (w.BUCKET, {"bucket": "taken-bucket"}),
        (w.LOG_GROUP, {"name": "/taken"}),
        (w.PLACEMENT, {"name": "taken", "strategy": "cluster"}),
        (w.TEMPLATE, {"name": "taken", "instanceType": "p5.4xlarge"}),
    ],
)
def test_what_exists_is_never_adopted(aws: Driver, type: str, inputs: dict[str, Any]) -> None:
    state = aws.create(type, w.name("first"), inputs)
    try:
        with pytest.raises(grpc.RpcError, match=r"(?i)exist|duplicate|own"):
            aws.create(type, w.name("second"), inputs)
    finally:
        aws.delete(state)


def test_a_bucket_is_not_adopted_in_the_first_region_either(raw: Driver) -> None:
    raw.configure(region="us-east-1")
    raw.create(w.BUCKET, w.name("first"), {"bucket": "taken-in-virginia"})
    with pytest.raises(grpc.RpcError, match="BucketAlreadyOwnedByYou: the bucket taken-in-virginia exists already"):
        raw.create(w.BUCKET, w.name("second"), {"bucket": "taken-in-virginia"})


HALF = {"cidrBlock": "10.5.0.0/16", "enableDnsHostnames": True}


def half_made(aws: Driver, cloud: Cloud) -> tuple[Any, State]:
    """A VPC that was made and then refused an attribute: what the engine is told of it, and keeps."""
    name = w.name("half")
    cloud.fault("ModifyVpcAttribute", "UnauthorizedOperation", status=403)
    checked = aws.check(w.VPC, name, HALF)
    with pytest.raises(grpc.RpcError) as caught:
        aws.create(w.VPC, name, HALF)
    failed = partial(caught.value)
    return failed, State(w.VPC, name, checked, failed.id, struct=failed.properties)


def test_a_half_made_vpc_is_kept_and_finished_by_the_next_up(aws: Driver, cloud: Cloud) -> None:
    failed, state = half_made(aws, cloud)
    assert failed.id.startswith("vpc-")
    assert "UnauthorizedOperation" in failed.reasons[0]

    assert changed(aws.diff(state, HALF)) == {}
    finished = aws.update(state, HALF)
    assert finished.outputs["enableDnsHostnames"] is True
    assert cloud.client("ec2").describe_vpc_attribute(VpcId=failed.id, Attribute="enableDnsHostnames")[
        "EnableDnsHostnames"
    ]["Value"]


def test_a_half_made_vpc_is_finished_along_with_a_change(aws: Driver, cloud: Cloud) -> None:
    _, state = half_made(aws, cloud)
    finished = aws.update(state, {**HALF, "tags": {"a": "b"}})
    assert finished.outputs["enableDnsHostnames"] is True
    assert finished.outputs["tags"] == {"a": "b"}


def test_drift_is_seen_where_it_is_and_nowhere_else(aws: Driver, cloud: Cloud) -> None:
    inputs = {"cidrBlock": "10.6.0.0/16", "enableDnsHostnames": True, "tags": {"owner": "me"}}
    state = aws.create(w.VPC, w.name("vpc"), inputs)
    ec2 = cloud.client("ec2")
    ec2.modify_vpc_attribute(VpcId=state.id, EnableDnsHostnames={"Value": False})
    ec2.create_tags(Resources=[state.id], Tags=[{"Key": "owner", "Value": "you"}, {"Key": "rogue", "Value": "1"}])
    drifted = aws.read(state)
    assert drifted
    assert changed(aws.diff(drifted, inputs)) == {
        "enableDnsHostnames": "update",
        "tags.owner": "update",
        "tags.rogue": "delete",
        "tagsAll.owner": "update",
        "tagsAll.rogue": "delete",
    }
    repaired = aws.update(drifted, inputs)
    assert repaired.outputs["tags"] == {"owner": "me"}
    assert aws.read(repaired).outputs == repaired.outputs  # type: ignore[union-attr]


def test_a_rule_revoked_by_hand_is_gone(aws: Driver, world: World, cloud: Cloud) -> None:
    inputs = {"securityGroupId": world.group.id, "ipProtocol": "-1", "cidrIpv4": "10.1.0.0/16"}
    rule = world.make(w.INGRESS, "rule", inputs)
    cloud.client("ec2").revoke_security_group_ingress(GroupId=world.group.id, SecurityGroupRuleIds=[rule.id])
    assert aws.read(rule) is None


def test_a_failed_node_group_tells_why(aws: Driver, world: World) -> None:
    subnets = {"subnetIds": [world.subnets[0].id], "nodeRoleArn": world.node_role.outputs["arn"]}
    sizes = {"desiredSize": 1, "minSize": 0, "maxSize": 1}
    inputs = {**subnets, "clusterName": world.cluster.id, "scalingConfig": sizes, "instanceTypes": ["m6i.xlarge"]}
    with _FailedGroup(aws), pytest.raises(grpc.RpcError) as caught:
        aws.create(w.NODES, "broken", inputs)
    failed = partial(caught.value)
    assert failed.id.startswith(f"{world.cluster.id}:broken-")
    assert "is CREATE_FAILED; NodeCreationFailure: Instances failed to join (i-1)" in failed.reasons[0]


def test_waiting_ends_with_custom_timeouts(aws: Driver, world: World) -> None:
    with _StillCreating(aws), pytest.raises(grpc.RpcError) as caught:
        aws.create(w.NAT, "slow", {"subnetId": world.subnets[0].id, "connectivityType": "private"}, timeout=0.2)
    assert "is still pending after 0.2 s" in partial(caught.value).reasons[0]


def test_waiting_ends_when_the_engine_cancels(raw: Driver, world: World) -> None:
    raw.configure(region=REGION)
    inputs = {"subnetId": world.subnets[0].id, "connectivityType": "private"}
    interrupted = pytest.raises(grpc.RpcError, match="interrupted while waiting for AWS")
    with _StillCreating(raw), _after(0.3, lambda: raw.stub.Cancel(Empty())), interrupted:
        raw.create(w.NAT, "cancelled", inputs)


def test_a_subnet_in_use_is_waited_for(aws: Driver, world: World, cloud: Cloud) -> None:
    subnet = world.make(w.SUBNET, "busy", {"vpcId": world.vpc.id, "cidrBlock": "10.0.90.0/24"})
    ec2 = cloud.client("ec2")
    interface = ec2.create_network_interface(SubnetId=subnet.id)["NetworkInterface"]["NetworkInterfaceId"]
    with pytest.raises(grpc.RpcError, match=r"is still in use after 0.1 s; DeleteSubnet: DependencyViolation"):
        aws.delete(subnet, timeout=0.1)
    with _after(0.5, lambda: ec2.delete_network_interface(NetworkInterfaceId=interface)):
        aws.delete(subnet, timeout=20)
    assert aws.read(subnet) is None


def test_an_update_of_what_is_gone_says_so(aws: Driver, cloud: Cloud) -> None:
    state = aws.create(w.VPC, w.name("vpc"), {"cidrBlock": "10.7.0.0/16"})
    cloud.client("ec2").delete_vpc(VpcId=state.id)
    with pytest.raises(grpc.RpcError, match=r"update aws:ec2/vpc:Vpc .*InvalidVpcID.NotFound"):
        aws.update(state, {"cidrBlock": "10.7.0.0/16", "enableDnsHostnames": True})


@contextmanager
def _after(seconds: float, act: Callable[[], object]) -> Iterator[None]:
    """Something that happens meanwhile, and is over when the block is."""
    timer = threading.Timer(seconds, act)
    timer.start()
    yield
    timer.join()


class _Patched(ABC):
    """Makes the AWS stand-in's description of new objects say something else."""

    def __init__(self, aws: Driver) -> None:
        account: Any = aws.plugin
        self.account = account.account
        self.search = self.account.search

    def __enter__(self) -> None:
        self.account.search = self._search

    def __exit__(self, *_: object) -> None:
        self.account.search = self.search

    def _search(self, service: str, call: str, *arguments: Any) -> Any:
        found = self.search(service, call, *arguments)
        return {**found, **self.said(call)} if isinstance(found, dict) else found

    @abstractmethod
    def said(self, call: str) -> dict[str, Any]:
        """What AWS says instead in its answer to `call`."""


class _FailedGroup(_Patched):
    def said(self, call: str) -> dict[str, Any]:
        issue = {"code": "NodeCreationFailure", "message": "Instances failed to join", "resourceIds": ["i-1"]}
        return {"status": "CREATE_FAILED", "health": {"issues": [issue]}} if "nodegroup" in call else {}


class _StillCreating(_Patched):
    def said(self, call: str) -> dict[str, Any]:
        return {"State": "pending"} if "nat_gateway" in call else {}
