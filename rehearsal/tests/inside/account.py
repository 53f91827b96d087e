"""An AWS account on the stand-in, furnished step by step through the public API, as a program would."""

import base64
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from rehearsal.images.identity import SETTLING
from rehearsal.tests.cloud.conftest import start

REGION = "us-west-2"
ZONE = f"{REGION}a"
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly")
RELEASE = "1.36.0-20260728"


def until(condition: Callable[[], Any], seconds: float, what: str) -> Any:
    """The first true value of a condition; fails the test if there is none in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s: {what}")


class Account:
    """The stand-in as a process of its own, and what was made in it."""

    def __init__(self, directory: Path) -> None:
        self.process, cloud = start(directory)
        self.own, self.url = cloud.account, cloud.url
        self.ec2, self.eks, self.iam, self.fsx, self.s3 = (
            self.own.client(name, REGION) for name in ("ec2", "eks", "iam", "fsx", "s3")
        )

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)

    def control(self, method: str, path: str, body: object = None) -> Any:
        answer = self.own.ask(method, path, body)
        assert answer.status == 200, answer.data
        return json.loads(answer.data)

    def network(self) -> None:
        """A VPC with a public and a private subnet, NAT, and a second zone for the control plane."""
        self.vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        for name in ("EnableDnsSupport", "EnableDnsHostnames"):
            self.ec2.modify_vpc_attribute(VpcId=self.vpc, **{name: {"Value": True}})
        self.public, self.private = self._subnet("10.0.0.0/24", ZONE), self._subnet("10.0.16.0/20", ZONE)
        self.second = self._subnet("10.0.1.0/24", f"{REGION}b")
        gateway = self.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        self.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=self.vpc)
        self._route(self.public, GatewayId=gateway)
        address = self.ec2.allocate_address(Domain="vpc")["AllocationId"]
        nat = self.ec2.create_nat_gateway(SubnetId=self.public, AllocationId=address)["NatGateway"]["NatGatewayId"]
        self._route(self.private, NatGatewayId=nat)

    def _subnet(self, block: str, zone: str) -> str:
        made = self.ec2.create_subnet(VpcId=self.vpc, CidrBlock=block, AvailabilityZone=zone)
        return str(made["Subnet"]["SubnetId"])

    def _route(self, subnet: str, **target: str) -> None:
        table = self.ec2.create_route_table(VpcId=self.vpc)["RouteTable"]["RouteTableId"]
        self.ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", **target)
        self.ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)

    def role(self, name: str, service: str, policies: tuple[str, ...], actions: tuple[str, ...] = ()) -> str:
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": service},
            "Action": list(actions or ("sts:AssumeRole",)),
        }
        trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        arn = self.iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
        for policy in policies:
            self.iam.attach_role_policy(RoleName=name, PolicyArn=f"arn:aws:iam::aws:policy/{policy}")
        return str(arn)

    def cluster(self, name: str) -> None:
        """An EKS cluster, CREATING: somebody has to give it a control plane."""
        role = self.role(f"{name}-cluster", "eks.amazonaws.com", ("AmazonEKSClusterPolicy",))
        self.node_role = self.role(f"{name}-node", "ec2.amazonaws.com", NODE_POLICIES)
        made = self.eks.create_cluster(
            name=name,
            roleArn=role,
            version="1.36",
            resourcesVpcConfig={"subnetIds": [self.private, self.second], "endpointPrivateAccess": True},
            accessConfig={"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False},
            bootstrapSelfManagedAddons=False,
        )["cluster"]
        self.name, self.cluster_group = name, made["resourcesVpcConfig"]["clusterSecurityGroupId"]

    def template(self, name: str, instance_type: str, groups: list[str] | None = None, efa: int = 0) -> Any:
        """A launch template with one interface per EFA device, or a plain one."""
        used = groups if groups is not None else [self.cluster_group]
        interfaces = [
            {
                "DeviceIndex": 0 if index == 0 else 1,
                "NetworkCardIndex": index,
                "InterfaceType": "efa" if efa else "interface",
                "Groups": used,
            }
            for index in range(max(1, efa))
        ]
        data = {"InstanceType": instance_type, "NetworkInterfaces": interfaces, "UserData": user_data()}
        made = self.ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)["LaunchTemplate"]
        return {"id": made["LaunchTemplateId"], "version": "1"}

    def nodegroup(
        self, name: str, size: int, template: Any, ami: str, taints: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.eks.create_nodegroup(
            clusterName=self.name,
            nodegroupName=name,
            subnets=[self.private],
            nodeRole=self.node_role,
            amiType=ami,
            releaseVersion=RELEASE,
            launchTemplate=template,
            scalingConfig={"minSize": 0, "maxSize": max(size, 1), "desiredSize": size},
            taints=[{"key": key, "value": value, "effect": "NO_SCHEDULE"} for key, value in taints],
        )

    def lustre(self, groups: list[str]) -> dict[str, Any]:
        """An available FSx for Lustre file system in the private subnet."""
        made = self.fsx.create_file_system(
            FileSystemType="LUSTRE",
            StorageCapacity=1200,
            SubnetIds=[self.private],
            SecurityGroupIds=groups,
            LustreConfiguration={"DeploymentType": "SCRATCH_2"},
        )["FileSystem"]

        def available() -> dict[str, Any] | None:
            found = self.fsx.describe_file_systems(FileSystemIds=[made["FileSystemId"]])["FileSystems"][0]
            return found if found["Lifecycle"] == "AVAILABLE" else None

        system: dict[str, Any] = until(available, 60, "the file system is available")
        return system

    def reader(self, name: str, bucket: str, service_account: tuple[str, str], settled: bool = True) -> None:
        """A role that may read a bucket, by pod identity of a service account: if `settled`, its next pod has it."""
        arn = self.role_of_pods(name)
        statements = [
            {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": f"arn:aws:s3:::{bucket}"},
            {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"},
        ]
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        self.iam.put_role_policy(RoleName=name, PolicyName="read", PolicyDocument=policy)
        self.associate(arn, service_account, settled)

    def role_of_pods(self, name: str) -> str:
        """A role that pod identity may assume, without rights."""
        return self.role(name, "pods.eks.amazonaws.com", (), ("sts:AssumeRole", "sts:TagSession"))

    def associate(self, role: str, service_account: tuple[str, str], settled: bool = True) -> None:
        """Pod identity of a service account (namespace, name): if `settled`, its next pod has it."""
        namespace, account = service_account
        self.eks.create_pod_identity_association(
            clusterName=self.name, namespace=namespace, serviceAccount=account, roleArn=role
        )
        effective = datetime.now(UTC) + SETTLING + timedelta(seconds=1)
        assert not settled or until(lambda: datetime.now(UTC) > effective, 10, "the association is effective")

    def bucket(self, name: str, *keys: str) -> None:
        """A bucket with small objects."""
        self.s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
        for key in keys:
            self.s3.put_object(Bucket=name, Key=key, Body=b"{}")

    def status(self, name: str) -> str:
        body = self.eks.describe_nodegroup(clusterName=self.name, nodegroupName=name)
        return str(body["nodegroup"]["status"])

    def addon(self, name: str, **arguments: Any) -> None:
        self.eks.create_addon(clusterName=self.name, addonName=name, **arguments)

    def addon_status(self, name: str) -> str:
        return str(self.eks.describe_addon(clusterName=self.name, addonName=name)["addon"]["status"])


def user_data() -> str:
    """MIME user data with a NodeConfig that makes a RAID of the local NVMe."""
    config = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"instance": {"localStorage": {"strategy": "RAID0"}}},
    }
    text = (
        'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n'
        f"--//\nContent-Type: application/node.eks.aws\n\n{yaml.safe_dump(config)}\n--//--\n"
    )
    return base64.b64encode(text.encode()).decode()
