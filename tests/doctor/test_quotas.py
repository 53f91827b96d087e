"""Quotas: what the account allows, what others hold, what the stack needs."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from doctor.account import Account
from doctor.case import Case
from doctor.results import Result, Status
from doctor.use import taken
from rehearsal.tests.cloud.conftest import Cloud, until
from rehearsal.tests.cloud.world import make_role
from tests.doctor.conftest import OTHER_TAGS, OWN_TAGS, REGION, Call, Run, case, client

P_INSTANCES = "Running On-Demand P instances"
SetQuota = Callable[[str, str, float], None]


@pytest.fixture
def set_quota(cloud: Cloud) -> Iterator[SetQuota]:
    """Sets a quota of the account for the length of a test."""
    with ExitStack() as after:

        def order(service: str, code: str, value: float) -> None:
            cloud.call("PUT", f"quotas/{REGION}/{service}/{code}", {"value": value})
            after.callback(cloud.call, "PUT", f"quotas/{REGION}/{service}/{code}", {})

        yield order


def named(name: str, told: list[Result]) -> Result:
    return next(result for result in told if result.subject == name)


def test_a_stack_that_has_room(examined: Run) -> None:
    """Each quota that the plan needs is asked for, once."""
    told = examined("quota", case())
    assert {result.status for result in told} == {Status.OK}
    assert [result.subject for result in told] == [need.quota.name for need in case().plan.quotas]
    assert "32 vCPU needed (2 x 16 of p5.4xlarge), 2,304 vCPU allowed" in named(P_INSTANCES, told).sentence


@pytest.mark.parametrize(
    ("service", "code", "name", "value", "needed"),
    [
        ("ec2", "L-417A185B", P_INSTANCES, 31, "32 vCPU needed"),
        ("ec2", "L-DB2E81BA", "Running On-Demand G and VT instances", 0, "16 vCPU needed"),
        ("ec2", "L-0263D0A3", "EC2-VPC Elastic IPs", 0, "1 needed"),
        ("vpc", "L-F678F1CE", "VPCs per Region", 1, "1 needed"),
        ("eks", "L-1194D53C", "Clusters", 0, "1 needed"),
        ("fsx", "L-AD2FC696", "Lustre Scratch storage capacity", 1199, "1,200 GiB needed"),
    ],
)
def test_a_quota_that_is_too_small(
    examined: Run, set_quota: SetQuota, service: str, code: str, name: str, value: float, needed: str
) -> None:
    """It alone fails, with both numbers and the request to make."""
    set_quota(service, code, value)
    told = examined("quota", case())
    wrong = named(name, told)
    assert [result for result in told if result.status is not Status.OK] == [wrong]
    assert wrong.status is Status.FAIL
    assert needed in wrong.sentence
    assert f"{value:,} " in wrong.sentence
    assert f"--service-code {service} --quota-code {code} --desired-value" in str(wrong.remedy)


def test_exactly_enough_is_enough(examined: Run, set_quota: SetQuota) -> None:
    """32 of 32."""
    set_quota("ec2", "L-417A185B", 32)
    assert named(P_INSTANCES, examined("quota", case())).status is Status.OK


def test_a_default_where_no_value_was_applied(examined: Run, cloud: Cloud, calls: list[Call]) -> None:
    """Service Quotas knows some quotas by their default only: here 0, because the account's own value is hidden."""
    cloud.call(
        "POST", "faults", {"action": "GetServiceQuota", "code": "NoSuchResourceException", "status": 400, "times": 2}
    )
    told = examined("quota", case())
    assert [operation for _, operation, _ in calls].count("GetAWSDefaultServiceQuota") == 2
    wrong = named(P_INSTANCES, told)
    assert wrong.status is Status.FAIL
    assert "0 vCPU allowed" in wrong.sentence


def test_a_code_that_service_quotas_does_not_know(examined: Run) -> None:
    """A wrong row of the catalogue is no fault of the account."""
    sick = case()
    needs = [replace(need, quota=replace(need.quota, code="L-00000000")) for need in sick.plan.quotas[:1]]
    (told,) = examined("quota", replace(sick, plan=replace(sick.plan, quotas=tuple(needs))))
    assert told.status is Status.UNKNOWN
    assert "L-00000000 of ec2" in told.sentence
    assert "catalogue/quotas.py" in str(told.remedy)


def test_a_quota_without_a_code(examined: Run) -> None:
    """It cannot be asked for, and the person can look it up."""
    changes = {"pools.1.instanceType": "p6-b200.48xlarge", "pools.1.capacity": "spot"}
    told = named("the P Spot Instance Requests of the family", examined("quota", case(changes)))
    assert told.status is Status.UNKNOWN
    assert "384 vCPU" in told.sentence


def test_blocks_are_bought_already(examined: Run) -> None:
    """Their quota counts when they are bought: it is not asked for."""
    block = {"id": "cr-0123456789abcdef0", "zone": "use2-az1", "start": "2026-11-20", "end": "2026-11-27"}
    changes = {
        "pools.1.instanceType": "p5.48xlarge",
        "pools.1.capacity": "capacity-block",
        "pools.1.reservation": block,
    }
    blocked = case(changes)
    assert any("Capacity Blocks" in need.quota.name for need in blocked.plan.quotas)
    assert not any("Capacity Blocks" in result.subject for result in examined("quota", blocked))


def test_use_that_cannot_be_seen(examined: Run, cloud: Cloud, set_quota: SetQuota) -> None:
    """Enough for the stack alone is not known to be enough; too little for the stack alone fails all the same."""
    fault = {"action": "DescribeInstances", "code": "UnauthorizedOperation", "status": 403}
    cloud.call("POST", "faults", fault)
    set_quota("ec2", "L-417A185B", 16)
    told = examined("quota", case())
    assert named(P_INSTANCES, told).status is Status.FAIL
    unseen = named("Running On-Demand G and VT instances", told)
    assert unseen.status is Status.UNKNOWN
    assert "16 vCPU needed" in unseen.sentence
    assert "grant ec2:DescribeInstances" in str(unseen.remedy)
    assert named("VPCs per Region", told).status is Status.OK


def held(cloud_case: Case, quota: str) -> float:
    """What others hold of a quota of the stack."""
    need = next(need for need in cloud_case.plan.quotas if need.quota.name == quota)
    return taken(need.quota, cloud_case, Account(cloud_case.settings.platform, attempts=1))


def tagged(kind: str, tags: list[dict[str, str]]) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": tags}]


@contextmanager
def network(ec2: Any, tags: list[dict[str, str]], zone: str = "us-east-2a") -> Iterator[tuple[str, str]]:
    """A VPC with one subnet, both with these tags."""
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16", TagSpecifications=tagged("vpc", tags))["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(
        VpcId=vpc, CidrBlock="10.9.0.0/24", AvailabilityZone=zone, TagSpecifications=tagged("subnet", tags)
    )["Subnet"]["SubnetId"]
    yield vpc, subnet
    ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=vpc)


@contextmanager
def instances(ec2: Any, subnet: str, type_: str, tags: list[dict[str, str]], **more: Any) -> Iterator[None]:
    """Two instances of a type."""
    started = ec2.run_instances(
        ImageId="ami-0123456789abcdef0",
        InstanceType=type_,
        MinCount=2,
        MaxCount=2,
        SubnetId=subnet,
        TagSpecifications=tagged("instance", tags),
        **more,
    )
    yield
    ec2.terminate_instances(InstanceIds=[each["InstanceId"] for each in started["Instances"]])


@pytest.mark.parametrize(
    ("type_", "more", "vcpu"),
    [
        ("p5.4xlarge", {}, 32),
        ("p4d.24xlarge", {}, 192),
        ("g6e.xlarge", {}, 0),
        ("p5.4xlarge", {"InstanceMarketOptions": {"MarketType": "spot"}}, 0),
    ],
)
def test_instances_of_others_count(cloud: Cloud, type_: str, more: dict[str, Any], vcpu: int) -> None:
    """By default vCPU of the type, those of the same quota and way of buying only; the stack's own do not."""
    ec2 = client(cloud, "ec2")
    with network(ec2, OTHER_TAGS) as (_, subnet):
        with instances(ec2, subnet, type_, OTHER_TAGS, **more), instances(ec2, subnet, "p5.4xlarge", OWN_TAGS):
            assert held(case(), P_INSTANCES) == vcpu
        assert held(case(), P_INSTANCES) == 0


@pytest.mark.parametrize(
    ("type_", "vcpu"), [("m7i.xlarge", 8), ("im4gn.large", 4), ("trn1.2xlarge", 0), ("inf2.xlarge", 0)]
)
def test_the_standard_quota_is_that_of_some_families(cloud: Cloud, set_quota: SetQuota, type_: str, vcpu: int) -> None:
    """What begins otherwise has a quota of its own, whether the catalogue knows it or not."""
    set_quota("ec2", "L-1945791B", 8)
    ec2 = client(cloud, "ec2")
    with network(ec2, OTHER_TAGS, "us-east-2c") as (_, subnet), instances(ec2, subnet, type_, OTHER_TAGS):
        assert held(case(), "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances") == vcpu


def test_others_fill_a_quota_up(examined: Run, cloud: Cloud, set_quota: SetQuota) -> None:
    """Enough for the stack, and not beside what runs: what to request is the sum."""
    set_quota("ec2", "L-417A185B", 63)
    ec2 = client(cloud, "ec2")
    with network(ec2, OTHER_TAGS) as (_, subnet), instances(ec2, subnet, "p5.4xlarge", OTHER_TAGS):
        told = named(P_INSTANCES, examined("quota", case()))
    assert told.status is Status.FAIL
    assert "32 vCPU held by others" in told.sentence
    assert "--desired-value 64" in str(told.remedy)


def test_networks_addresses_and_gateways_of_others_count(cloud: Cloud) -> None:
    """NAT gateways in the GPU zone only; interfaces wherever they are, but in the stack's own VPC."""
    ec2 = client(cloud, "ec2")
    names = (
        "VPCs per Region",
        "EC2-VPC Elastic IPs",
        "NAT gateways per Availability Zone",
        "Network interfaces per Region",
    )

    def counts() -> list[float]:
        return [held(case(), name) for name in names]

    before = counts()

    @contextmanager
    def gateway(tags: list[dict[str, str]], zone: str) -> Iterator[None]:
        with network(ec2, tags, zone) as (vpc, subnet):
            way = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
            ec2.attach_internet_gateway(InternetGatewayId=way, VpcId=vpc)
            address = ec2.allocate_address(Domain="vpc", TagSpecifications=tagged("elastic-ip", tags))["AllocationId"]
            made = ec2.create_nat_gateway(
                SubnetId=subnet, AllocationId=address, TagSpecifications=tagged("natgateway", tags)
            )["NatGateway"]["NatGatewayId"]
            yield
            ec2.delete_nat_gateway(NatGatewayId=made)
            until(lambda: _gone(ec2, made))
            ec2.release_address(AllocationId=address)
            ec2.detach_internet_gateway(InternetGatewayId=way, VpcId=vpc)
            ec2.delete_internet_gateway(InternetGatewayId=way)

    with gateway(OTHER_TAGS, "us-east-2a"), gateway(OTHER_TAGS, "us-east-2b"), gateway(OWN_TAGS, "us-east-2a"):
        assert [after - early for early, after in zip(before, counts(), strict=True)] == [2, 2, 1, 2]


def _gone(ec2: Any, gateway: str) -> bool:
    shown = ec2.describe_nat_gateways(NatGatewayIds=[gateway])["NatGateways"]
    return not shown or shown[0]["State"] == "deleted"


def test_volumes_of_others_count(cloud: Cloud) -> None:
    """Of type gp3, in TiB."""
    ec2 = client(cloud, "ec2")

    def volume(kind: str, gib: int, tags: list[dict[str, str]]) -> str:
        made = ec2.create_volume(
            AvailabilityZone="us-east-2a", Size=gib, VolumeType=kind, TagSpecifications=tagged("volume", tags)
        )
        return str(made["VolumeId"])

    ids = [volume("gp3", 512, OTHER_TAGS), volume("gp2", 512, OTHER_TAGS), volume("gp3", 1024, OWN_TAGS)]
    assert held(case(), "Storage for General Purpose SSD (gp3) volumes, in TiB") == 0.5
    for each in ids:
        ec2.delete_volume(VolumeId=each)


def test_file_systems_of_others_count(cloud: Cloud) -> None:
    """Scratch and persistent ones apart."""
    ec2, fsx = client(cloud, "ec2"), client(cloud, "fsx")
    wanted = {"FileSystemType": "LUSTRE", "LustreConfiguration": {"DeploymentType": "SCRATCH_2"}}
    persistent = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 125}
    with network(ec2, OTHER_TAGS) as (_, subnet):
        made = [
            fsx.create_file_system(**wanted, SubnetIds=[subnet], StorageCapacity=2400, Tags=OTHER_TAGS),
            fsx.create_file_system(**wanted, SubnetIds=[subnet], StorageCapacity=4800, Tags=OWN_TAGS),
            fsx.create_file_system(
                **{**wanted, "LustreConfiguration": persistent}, SubnetIds=[subnet], StorageCapacity=1200
            ),
        ]
        assert held(case(), "Lustre Scratch storage capacity") == 2400
        assert held(case(stack="prod"), "Lustre Persistent_2 storage capacity") == 1200
        for each in made:
            fsx.delete_file_system(FileSystemId=each["FileSystem"]["FileSystemId"])
        until(lambda: fsx.describe_file_systems()["FileSystems"] == [])


def test_clusters_of_others_count(cloud: Cloud) -> None:
    """By their tags, which a list of names does not have."""
    ec2, eks = client(cloud, "ec2"), client(cloud, "eks")
    role = make_role(cloud, "doctor-control-plane", "eks.amazonaws.com")
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.9.{number}.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"]
        for number, zone in enumerate(("us-east-2a", "us-east-2b"))
    ]
    for name, tags in (("gpucluster-dev", OWN_TAGS), ("gpucluster-prod", OTHER_TAGS), ("theirs", [])):
        eks.create_cluster(
            name=name,
            version="1.35",
            roleArn=role,
            resourcesVpcConfig={"subnetIds": subnets},
            tags={tag["Key"]: tag["Value"] for tag in tags},
        )
    assert held(case(), "Clusters") == 2
    for name in eks.list_clusters()["clusters"]:
        eks.delete_cluster(name=name)
    until(lambda: eks.list_clusters()["clusters"] == [])
    for subnet in subnets:
        ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=vpc)
    cloud.client("iam").delete_role(RoleName="doctor-control-plane")


def test_a_cluster_that_goes_away_in_between_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was listed, and is not there when its tags are asked for."""
    account = Account(case().settings.platform, attempts=1)
    monkeypatch.setattr(account, "every", lambda *_: ["gone"])
    need = next(need for need in case().plan.quotas if need.quota.name == "Clusters")
    assert taken(need.quota, case(), account) == 0
