"""An account of its own in which an expired lab, one that still runs, and things of nobody's lie side by side."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import REGION, Cloud, as_user, running, until
from rehearsal.tests.cloud.world import Network, cluster_request, make_network, make_role
from sweep.account import AwsAccount

TODAY = date(2026, 11, 23)
OVER, NOT_YET = "2026-11-22", "2026-11-23"


@pytest.fixture(scope="package")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running_cloud(tmp_path_factory.mktemp("cloud")) as made:
        yield made


@contextmanager
def running_cloud(directory: Path) -> Iterator[Cloud]:
    """An account with the roles that a lab needs."""
    with running(directory, "--alone") as made:
        for role, service in (("sweep-cluster", "eks.amazonaws.com"), ("sweep-node", "ec2.amazonaws.com")):
            make_role(made, role, service)
        yield made


@pytest.fixture(autouse=True)
def environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Credentials and endpoint as a user sets them, where a test has an account; faults end with the test."""
    made: Cloud | None = request.getfixturevalue("cloud") if "cloud" in request.fixturenames else None
    if made:
        as_user(made, monkeypatch)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    yield
    if made:
        made.call("DELETE", "faults")


@pytest.fixture
def account(cloud: Cloud) -> AwsAccount:
    return AwsAccount(attempts=1)


@pytest.fixture(scope="package")
def network(cloud: Cloud) -> Network:
    return lab_network(cloud)


def lab_network(cloud: Cloud) -> Network:
    """A network with a way out."""
    made, ec2 = make_network(cloud), cloud.client("ec2")
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=made.vpc)
    return made


def tags(stack: str, expiry: str = OVER, **more: str) -> dict[str, str]:
    """As the program tags what it makes."""
    return {"gpucluster:project": "gpucluster", "gpucluster:stack": stack, "expiry": expiry, **more}


def listed(tags_: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags_.items()]


@dataclass(frozen=True)
class Lab:
    """A lab in an account, made by the services' calls as `up` and the controllers in the cluster make it."""

    cloud: Cloud
    network: Network
    stack: str
    tags: dict[str, str]

    def cluster(self) -> None:
        eks = self.cloud.client("eks")
        role = "arn:aws:iam::123456789012:role/sweep-cluster"
        name = f"gpucluster-{self.stack}"
        eks.create_cluster(**cluster_request(name, role, self.network, tags=self.tags))
        until(lambda: eks.describe_cluster(name=name)["cluster"]["status"] == "ACTIVE")
        eks.create_nodegroup(
            clusterName=name,
            nodegroupName="training",
            subnets=list(self.network.subnets),
            nodeRole="arn:aws:iam::123456789012:role/sweep-node",
            instanceTypes=["m7i.large"],
            scalingConfig={"minSize": 0, "desiredSize": 1, "maxSize": 1},
        )

    def nat_gateway(self) -> None:
        ec2 = self.cloud.client("ec2")
        address = ec2.allocate_address(Domain="vpc", TagSpecifications=self._spec("elastic-ip"))["AllocationId"]
        ec2.create_nat_gateway(
            SubnetId=self.network.subnets[0], AllocationId=address, TagSpecifications=self._spec("natgateway")
        )

    def endpoint(self) -> None:
        """A service of AWS inside the network: one interface in one zone."""
        self.cloud.client("ec2").create_vpc_endpoint(
            VpcId=self.network.vpc,
            ServiceName=f"com.amazonaws.{REGION}.ecr.api",
            VpcEndpointType="Interface",
            SubnetIds=[self.network.subnets[0]],
            PrivateDnsEnabled=False,
            TagSpecifications=self._spec("vpc-endpoint"),
        )

    def held(self) -> None:
        """What a pool holds on demand."""
        self.cloud.client("ec2").create_capacity_reservation(
            InstanceType="m7i.large",
            InstancePlatform="Linux/UNIX",
            AvailabilityZone="us-east-1a",
            InstanceCount=2,
            TagSpecifications=self._spec("capacity-reservation"),
        )

    def volume(self) -> None:
        self.cloud.client("ec2").create_volume(
            AvailabilityZone="us-east-1a", Size=50, VolumeType="gp3", TagSpecifications=self._spec("volume")
        )

    def instance(self) -> None:
        """One that belongs to no node group."""
        self.cloud.client("ec2").run_instances(
            ImageId="ami-12345678",
            InstanceType="m7i.large",
            MinCount=1,
            MaxCount=1,
            SubnetId=self.network.subnets[0],
            TagSpecifications=self._spec("instance"),
        )

    def load_balancer(self) -> None:
        made = [{"Key": f"kubernetes.io/cluster/gpucluster-{self.stack}", "Value": "owned"}]
        self.cloud.client("elbv2").create_load_balancer(
            Name=f"k8s-{self.stack}", Subnets=list(self.network.subnets), Type="network", Tags=made
        )

    def classic_load_balancer(self) -> None:
        """As the cloud provider makes one for a Service that says nothing else, with its security group."""
        owned = {"Key": f"kubernetes.io/cluster/gpucluster-{self.stack}", "Value": "owned"}
        self.cloud.client("elb").create_load_balancer(
            LoadBalancerName=f"a-{self.stack}",
            Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 30080}],
            Subnets=list(self.network.subnets),
            Tags=[owned],
        )
        self.cloud.client("ec2").create_security_group(
            GroupName=f"k8s-elb-a-{self.stack}",
            Description="for the load balancer",
            VpcId=self.network.vpc,
            TagSpecifications=[{"ResourceType": "security-group", "Tags": [owned]}],
        )

    def cluster_group(self) -> str:
        """The group that EKS made for a cluster and could not remove, as rules of a group of the stack's name it."""
        ec2, name = self.cloud.client("ec2"), f"gpucluster-{self.stack}"
        made = [
            {"Key": "aws:eks:cluster-name", "Value": name},
            {"Key": f"kubernetes.io/cluster/{name}", "Value": "owned"},
        ]
        groups = [
            str(
                ec2.create_security_group(
                    GroupName=f"{stem}-{self.stack}",
                    Description="d",
                    VpcId=self.network.vpc,
                    TagSpecifications=[{"ResourceType": "security-group", "Tags": tags}],
                )["GroupId"]
            )
            for stem, tags in (("eks-cluster-sg", made), ("lustre-nodes", listed(self.tags)))
        ]
        rule = {"IpProtocol": "tcp", "FromPort": 988, "ToPort": 988, "UserIdGroupPairs": [{"GroupId": groups[0]}]}
        ec2.authorize_security_group_ingress(GroupId=groups[1], IpPermissions=[rule])
        ec2.authorize_security_group_egress(GroupId=groups[1], IpPermissions=[rule])
        return groups[0]

    def interface(self) -> None:
        """One that the VPC CNI made for pods of a node that died."""
        named = {"Key": "cluster.k8s.amazonaws.com/name", "Value": f"gpucluster-{self.stack}"}
        self.cloud.client("ec2").create_network_interface(
            SubnetId=self.network.subnets[0],
            TagSpecifications=[{"ResourceType": "network-interface", "Tags": [named]}],
        )

    def file_system(self, **lustre: Any) -> None:
        fsx = self.cloud.client("fsx")
        made = fsx.create_file_system(
            FileSystemType="LUSTRE",
            StorageType="SSD",
            StorageCapacity=1200,
            FileSystemTypeVersion="2.15",
            SubnetIds=[self.network.subnets[0]],
            SecurityGroupIds=[self._lustre_group()],
            LustreConfiguration=lustre or {"DeploymentType": "SCRATCH_2"},
            Tags=listed(self.tags),
        )["FileSystem"]["FileSystemId"]
        until(lambda: self._state(made) == "AVAILABLE")

    def everything(self) -> None:
        self.cluster()
        self.nat_gateway()
        self.endpoint()
        self.held()
        self.volume()
        self.load_balancer()
        self.classic_load_balancer()
        self.interface()
        self.file_system()

    def _spec(self, kind: str) -> list[dict[str, Any]]:
        return [{"ResourceType": kind, "Tags": listed(self.tags)}]

    def _state(self, system: str) -> str:
        found = self.cloud.client("fsx").describe_file_systems(FileSystemIds=[system])["FileSystems"]
        return str(found[0]["Lifecycle"])

    def _lustre_group(self) -> str:
        ec2 = self.cloud.client("ec2")
        name = f"lustre-{self.stack}"
        made = str(ec2.create_security_group(GroupName=name, Description="d", VpcId=self.network.vpc)["GroupId"])
        rule = {"IpProtocol": "tcp", "FromPort": 988, "ToPort": 988, "UserIdGroupPairs": [{"GroupId": made}]}
        ec2.authorize_security_group_ingress(GroupId=made, IpPermissions=[rule])
        return made
