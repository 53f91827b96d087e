"""Half-created AWS objects are found by tags or by name, others' objects never."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from rehearsal.engine import lookup
from rehearsal.engine.events import Urn
from rehearsal.engine.lookup import Surroundings
from rehearsal.engine.naturalkeys import ForeignObjectError, NoNaturalKeyError
from rehearsal.engine.state import Pending
from rehearsal.kube.client import Kube
from rehearsal.plugins.aws.account import Account

REGION = "eu-central-1"
DEFAULT = {"gpucluster:stack": "dev"}
AROUND = Surroundings({"region": REGION, "defaultTags": {"tags": DEFAULT}}, frozenset())
ASSUME = '{"Version": "2012-10-17", "Statement": []}'


def tags(name: str, **more: str) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in (DEFAULT | {"Name": name} | more).items()]


def find(token: str, around: Surroundings = AROUND, **inputs: Any) -> list[str]:
    urn = Urn(f"urn:pulumi:dev::p::{token}::a")
    return lookup.find(Pending(urn, "creating", inputs, ""), around)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")  # 0.2 s each time, and no image is looked for here
    with mock_aws():
        yield lambda service: boto3.client(service, region_name=REGION)


def test_a_tagged_object_is_found_among_others_by_all_its_tags(aws: Callable[[str], Any]) -> None:
    ec2 = aws("ec2")

    def vpc(*specification: dict[str, str]) -> str:
        given = [{"ResourceType": "vpc", "Tags": list(specification)}] if specification else []
        return str(ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=given)["Vpc"]["VpcId"])

    mine = vpc(*tags("main"))
    vpc(*tags("other"))
    vpc({"Key": "Name", "Value": "main"})
    vpc()
    assert find("aws:ec2/vpc:Vpc", tags={"Name": "main"}) == [mine]
    replaced = Surroundings(AROUND.provider, frozenset({mine}))
    assert find("aws:ec2/vpc:Vpc", replaced, tags={"Name": "main"}) == []


def test_what_goes_is_not_taken_though_it_is_listed(aws: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """NAT gateways are listed for an hour after they were deleted."""
    states = ("deleting", "deleted", "pending")
    listed = [{"NatGatewayId": f"nat-{state}", "State": state, "Tags": tags("n")} for state in states]
    monkeypatch.setattr(Account, "pages", lambda *_: iter([{"NatGateways": listed}]))
    assert find("aws:ec2/natGateway:NatGateway", tags={"Name": "n"}) == ["nat-pending"]


def test_what_is_still_being_made_is_waited_for(aws: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    states = iter(("CREATING", "CREATING", "ACTIVE"))
    monkeypatch.setattr(lookup, "describe", lambda _: {"status": next(states)})
    monkeypatch.setattr("rehearsal.plugins.aws.account.FIRST_PAUSE", 0.01)
    cluster = Pending(Urn("urn:pulumi:dev::p::aws:eks/cluster:Cluster::a"), "creating", {"name": "a"}, "")
    assert lookup.settled(cluster, "a", AROUND) == "ACTIVE"


def test_without_tags_of_its_own_nothing_is_guessed(aws: Callable[[str], Any]) -> None:
    with pytest.raises(NoNaturalKeyError, match="no tags of its own"):
        find("aws:ec2/vpc:Vpc")


def test_a_role_of_another_stack_is_not_taken(aws: Callable[[str], Any]) -> None:
    iam = aws("iam")
    iam.create_role(RoleName="mine", AssumeRolePolicyDocument=ASSUME, Tags=tags("a"))
    iam.create_role(RoleName="theirs", AssumeRolePolicyDocument=ASSUME, Tags=[{"Key": "owner", "Value": "them"}])
    role = "aws:iam/role:Role"
    assert find(role, name="mine", tags={"Name": "a"}) == ["mine"]
    assert find(role, name="missing", tags={"Name": "a"}) == []
    with pytest.raises(ForeignObjectError):
        find(role, name="theirs", tags={"Name": "a"})


def test_a_bucket_is_ours_also_before_its_tags_were_set(aws: Callable[[str], Any]) -> None:
    s3 = aws("s3")
    for name in ("half", "whole"):
        s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_bucket_tagging(Bucket="whole", Tagging={"TagSet": tags("b")})
    bucket = "aws:s3/bucket:Bucket"
    assert find(bucket, bucket="half", tags={"Name": "b"}) == ["half"]
    assert find(bucket, bucket="whole", tags={"Name": "b"}) == ["whole"]
    assert find(bucket, bucket="none") == []


def test_keys_aliases_and_log_groups(aws: Callable[[str], Any]) -> None:
    kms = aws("kms")
    given = [{"TagKey": tag["Key"], "TagValue": tag["Value"]} for tag in tags("k")]
    keys = [kms.create_key(Tags=given)["KeyMetadata"]["KeyId"] for _ in range(2)]
    kms.schedule_key_deletion(KeyId=keys[1], PendingWindowInDays=7)
    kms.create_alias(AliasName="alias/mine", TargetKeyId=keys[0])
    aws("logs").create_log_group(logGroupName="/aws/eks/mine/cluster", tags=DEFAULT)
    assert find("aws:kms/key:Key", tags={"Name": "k"}) == [keys[0]]
    assert find("aws:kms/alias:Alias", name="alias/mine") == ["alias/mine"]
    assert find("aws:kms/alias:Alias", name="alias/min") == []
    group = "aws:cloudwatch/logGroup:LogGroup"
    assert find(group, name="/aws/eks/mine/cluster") == ["/aws/eks/mine/cluster"]
    assert find(group, name="/aws/eks/mine") == []


def test_routes_and_associations_are_found_in_their_table(aws: Callable[[str], Any]) -> None:
    ec2 = aws("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    route, link = "aws:ec2/route:Route", "aws:ec2/routeTableAssociation:RouteTableAssociation"
    assert find(route, routeTableId=table, destinationCidrBlock="0.0.0.0/0") == []
    assert find(link, routeTableId=table, subnetId=subnet) == []
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    id = ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)["AssociationId"]
    # 1080289494 is what the official provider's ids of default routes end in.
    assert find(route, routeTableId=table, destinationCidrBlock="0.0.0.0/0") == [f"r-{table}1080289494"]
    assert find(link, routeTableId=table, subnetId=subnet) == [id]


def test_a_type_without_a_key_says_so() -> None:
    with pytest.raises(NoNaturalKeyError, match=r"aws:mq/broker:Broker"):
        find("aws:mq/broker:Broker", name="q")
    with pytest.raises(NoNaturalKeyError, match=r"random:index/randomId:RandomId"):
        find("random:index/randomId:RandomId")


def test_a_kubernetes_object_without_kubeconfig_says_so() -> None:
    with pytest.raises(NoNaturalKeyError, match="kubeconfig"):
        find("kubernetes:core/v1:Namespace", metadata={"name": "training"})


KUBECONFIG = '{"apiVersion": "v1", "kind": "Config"}'
ACCOUNT = "kubernetes:core/v1:ServiceAccount"


class Cluster:
    """An API server with one object."""

    def __init__(self, *managers: str) -> None:
        fields = [{"manager": manager, "operation": "Apply"} for manager in managers]
        self.metadata = {"name": "a", "namespace": "n"} | ({"managedFields": fields} if fields else {})

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any]:
        assert (api_version, kind, name, namespace) == ("v1", "ServiceAccount", "a", "n")
        return {"metadata": self.metadata}


@pytest.mark.parametrize(
    ("managers", "more", "kept"),
    [
        (["kwok", "pulumi-kubernetes-1"], {"automountServiceAccountToken": False}, "pulumi-kubernetes-1"),
        ([], {}, None),
    ],
    ids=["owner of fields", "bare name"],
)
def test_an_object_of_the_killed_engine_is_taken_with_the_name_it_owns_it_by(
    managers: list[str], more: dict[str, Any], kept: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Kube, "from_kubeconfig", lambda *_: Cluster(*managers))
    inputs = {"metadata": {"name": "a", "namespace": "n"}} | more
    # JSON among a provider's arguments comes decoded.
    around = Surroundings({"kubeconfig": json.loads(KUBECONFIG)}, frozenset())
    assert find(ACCOUNT, around, **inputs) == ["n/a"]
    pending = Pending(Urn(f"urn:pulumi:dev::p::{ACCOUNT}::a"), "creating", inputs, "")
    assert lookup.remembered(pending, "n/a", around) == ({"__fieldManager": kept} if kept else {})


@pytest.mark.parametrize(("managers", "says"), [(["kubectl"], "made by kubectl"), ([], "made by another")])
def test_an_object_that_somebody_else_made_is_not_taken(
    managers: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Kube, "from_kubeconfig", lambda *_: Cluster(*managers))
    around = Surroundings({"kubeconfig": KUBECONFIG}, frozenset())
    with pytest.raises(ForeignObjectError, match=says):
        find(ACCOUNT, around, metadata={"name": "a", "namespace": "n", "labels": {"app": "a"}})
