"""Hand-made facts for the quick tests: machines from EC2's data, hosts, security groups."""

from typing import Any

from rehearsal.cloud.offerings import load_lazily
from rehearsal.cloud.seen.hardware import Machine, machine
from rehearsal.cloud.seen.network import End, Groups, Routes
from rehearsal.eks.join import Situation
from rehearsal.kubelet.hosts import Host

CLUSTER_GROUP, OWN_GROUP, EFA_GROUP = "sg-cluster", "sg-own", "sg-efa"
NODE_ROLE = "arn:aws:iam::123456789012:role/node"
POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly")


def type_of(name: str) -> Machine:
    load_lazily()
    from moto.ec2.models.instance_types import INSTANCE_TYPES

    return machine(INSTANCE_TYPES[name])


def group(name: str, ingress: list[Any] | None = None, egress: list[Any] | None = None) -> dict[str, Any]:
    return {"GroupId": name, "IpPermissions": ingress or [], "IpPermissionsEgress": egress or []}


def all_from(name: str) -> dict[str, Any]:
    return {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": name}], "IpRanges": []}


ALL_OUT = {"IpProtocol": "-1", "UserIdGroupPairs": [], "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
GROUPS = Groups.of(
    [
        group(CLUSTER_GROUP, [all_from(CLUSTER_GROUP)], [ALL_OUT]),
        group(OWN_GROUP, [], [ALL_OUT]),
        group(EFA_GROUP, [all_from(EFA_GROUP)], [all_from(EFA_GROUP)]),
    ]
)
NAT_TABLE = {
    "VpcId": "vpc-1",
    "Associations": [{"SubnetId": "subnet-1"}],
    "Routes": [{"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1"}],
}
CLUSTER = {
    "resourcesVpcConfig": {
        "clusterSecurityGroupId": CLUSTER_GROUP,
        "securityGroupIds": [],
        "subnetIds": ["subnet-1"],
        "endpointPrivateAccess": True,
    }
}


def host(instance_type: str = "p5.4xlarge", **more: Any) -> Host:
    values: dict[str, Any] = {
        "node": "ip-10-0-0-5.ec2.internal",
        "instance_id": "i-1",
        "machine": type_of(instance_type),
        "nodegroup": "train",
        "ami_type": "AL2023_x86_64_NVIDIA",
        "image_id": "ami-1",
        "template": ("lt-1", "3"),
        "subnet": "subnet-1",
        "vpc": "vpc-1",
        "zone": "us-west-2a",
        "zone_id": "usw2-az1",
        "role": NODE_ROLE,
        "primary": End((CLUSTER_GROUP,), ("10.0.0.5",)),
        "public": False,
        "efa_interfaces": 1,
        "hop_limit": 1,
        "pod_interfaces": 3,
    }
    return Host(**{**values, **more})


def situation(**more: Any) -> Situation:
    """An instance that joins, unless something is changed."""
    values: dict[str, Any] = {
        "host": host(),
        "cluster": CLUSTER,
        "groups": GROUPS,
        "routes": Routes([NAT_TABLE]),
        "dns_support": True,
        "dns_hostnames": True,
        "role_policies": POLICIES,
        "cni_identity": False,
        "access_entry_type": "EC2_LINUX",
        "control_plane_addresses": ("10.0.0.4",),
    }
    return Situation(**{**values, **more})
