"""What most of these tests stand on: roles, a network in two zones, clusters; and the way back."""

import base64
import json
from dataclasses import dataclass
from typing import Any

from rehearsal.tests.cloud.conftest import Cloud, until

MIME = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n--x--\n"
ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
DEPLOYER = "arn:aws:iam::123456789012:role/deployer"


def encoded(text: str) -> str:
    """User data as the API takes it."""
    return base64.b64encode(text.encode()).decode()


def make_role(cloud: Cloud, name: str, service: str, *actions: str) -> str:
    """A role a service may assume; its ARN."""
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": list(actions or ("sts:AssumeRole",))}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    return str(cloud.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=policy)["Role"]["Arn"])


@dataclass(frozen=True)
class Network:
    """A VPC with one subnet in each of two zones."""

    vpc: str
    subnets: tuple[str, str]


def make_network(cloud: Cloud) -> Network:
    """The network, in us-east-1a and us-east-1b."""
    ec2 = cloud.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    ids = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{index}.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"]
        for index, zone in enumerate(("us-east-1a", "us-east-1b"))
    ]
    return Network(vpc, (ids[0], ids[1]))


def remove_network(cloud: Cloud, network: Network) -> None:
    """Subnets, then the VPC."""
    for subnet in network.subnets:
        cloud.client("ec2").delete_subnet(SubnetId=subnet)
    cloud.client("ec2").delete_vpc(VpcId=network.vpc)


def cluster_request(name: str, role: str, network: Network, **more: Any) -> dict[str, Any]:
    """CreateCluster's members as our stacks give them."""
    return {
        "name": name,
        "version": "1.35",
        "roleArn": role,
        "resourcesVpcConfig": {"subnetIds": list(network.subnets)},
        "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False},
        "bootstrapSelfManagedAddons": False,
        **more,
    }


def gone(cloud: Cloud, name: str) -> None:
    """Delete a cluster and wait until it is not found."""
    eks = cloud.client("eks")
    eks.delete_cluster(name=name)
    until(lambda: name not in eks.list_clusters()["clusters"])
