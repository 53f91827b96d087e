"""The things of an account: of a lab that is over, of a stack that runs, of a protected one, and what is nobody's."""

from collections.abc import Mapping
from typing import Any

from tests.sweep.conftest import listed, tags
from tests.sweep.inventory import Inventory, Thing

LAB, PROD, GUARDED = tags("lab"), tags("prod", "2027-01-01"), tags("safe", **{"gpucluster:protect": "true"})
CLUSTER = "gpucluster-lab"
OF_CLOUD, OF_CONTROLLER = {f"kubernetes.io/cluster/{CLUSTER}": "owned"}, {"elbv2.k8s.aws/cluster": CLUSTER}
ARN = "arn:aws:elasticloadbalancing:us-east-2:123456789012:loadbalancer/net"


def ec2(key: str, name: str, state: str | None, of: Mapping[str, str] | None, **more: Any) -> Thing:
    """As EC2 tells of a thing: without any key where it has no tags."""
    told = {"Tags": listed(of)} if of is not None else {}
    return {key: name, **({"State": state} if state else {}), **told, **more}


def instance(name: str, state: str, kind: str, of: Mapping[str, str] | None, **more: Any) -> Thing:
    return ec2("InstanceId", name, None, of, InstanceType=kind, **more) | {"State": {"Name": state}}


def reserved(name: str, state: str, of: Mapping[str, str] | None, available: int, **more: Any) -> Thing:
    told = {"InstanceType": "p5.48xlarge", "AvailableInstanceCount": available, "TotalInstanceCount": 9}
    return ec2("CapacityReservationId", name, state, of, **told, **more)


def endpoint(name: str, state: str, kind: str, of: Mapping[str, str] | None, interfaces: int) -> Thing:
    wires = [f"eni-{each}" for each in range(interfaces)]
    return ec2("VpcEndpointId", name, state, of, VpcEndpointType=kind, NetworkInterfaceIds=wires)


def lustre(name: str, of: Mapping[str, str], **how: Any) -> Thing:
    told = {"FileSystemType": "LUSTRE", "Lifecycle": "AVAILABLE", "StorageCapacity": 1200, "LustreConfiguration": how}
    return {"FileSystemId": name, "Tags": listed(of), **told}


def rule(group: str) -> Thing:
    return {"IpProtocol": "tcp", "FromPort": 988, "ToPort": 988, "UserIdGroupPairs": [{"GroupId": group}]}


def security(name: str, of: Mapping[str, str], into: str = "", out: str = "") -> Thing:
    told = {"IpPermissions": [rule(into)] if into else [], "IpPermissionsEgress": [rule(out)] if out else []}
    return {"GroupId": name, "Tags": listed(of), **told}


def balancer(name: str, of: Mapping[str, str], state: str = "active", kind: str = "network") -> Thing:
    return {"LoadBalancerArn": f"{ARN}/{name}", "Type": kind, "State": {"Code": state}, "BalancerTags": of}


def interface(name: str, state: str, of: Mapping[str, str]) -> Thing:
    return {"NetworkInterfaceId": name, "Status": state, "TagSet": listed(of)}


def account() -> Inventory:
    """A lab that is over, a stack that runs, a protected one, and what is nobody's; more than two of what has pages."""
    made = Inventory()
    held: dict[str, list[Thing]] = {}
    held["eks list_clusters"] = [
        {"name": "payroll", "status": "ACTIVE"},
        {"name": CLUSTER, "status": "ACTIVE", "tags": LAB},
        {"name": "gpucluster-prod", "status": "UPDATING", "tags": PROD, "deletionProtection": True},
    ]
    held["eks list_nodegroups"] = [
        {"clusterName": CLUSTER, "nodegroupName": "training", "status": "DEGRADED"},
        {"clusterName": "payroll", "nodegroupName": "theirs", "status": "ACTIVE"},
        {"clusterName": CLUSTER, "nodegroupName": "system", "status": "ACTIVE"},
        {"clusterName": CLUSTER, "nodegroupName": "spare", "status": "DELETE_FAILED"},
    ]
    held["ec2 describe_instances"] = [
        instance("i-gone", "terminated", "g6.xlarge", LAB),
        instance("i-spot", "running", "g6.xlarge", LAB, InstanceLifecycle="spot"),
        instance("i-new", "pending", "g6.xlarge", LAB),
        instance("i-stopping", "stopping", "g6.xlarge", LAB),
        instance("i-off", "stopped", "g6.xlarge", LAB),
        instance("i-odd", "running", "x9.huge", PROD),
        instance("i-nobodys", "running", "g6.xlarge", None),
    ]
    held["ec2 describe_volumes"] = [
        ec2("VolumeId", "vol-free", "available", LAB, Size=50),
        ec2("VolumeId", "vol-safe", "in-use", GUARDED, Size=8),
        ec2("VolumeId", "vol-none", "available", None, Size=1),
        ec2("VolumeId", "vol-other", "available", {"gpucluster:stack": "lab"}, Size=1),
    ]
    held["ec2 describe_capacity_reservations"] = [
        reserved("cr-block", "active", LAB, 1, ReservationType="capacity-block"),
        reserved("cr-held", "active", LAB, 2, ReservationType="default"),
        reserved("cr-soon", "pending", LAB, 3),
        reserved("cr-over", "cancelled", LAB, 4),
    ]
    held["ec2 describe_nat_gateways"] = [
        ec2("NatGatewayId", f"nat-{state}", state, LAB) for state in ("available", "deleted", "failed", "pending")
    ]
    held["ec2 describe_vpc_endpoints"] = [
        endpoint("vpce-s3", "available", "Gateway", LAB, 0),
        endpoint("vpce-ecr", "Available", "Interface", LAB, 2),
        *(endpoint(f"vpce-{each}", each, "Interface", LAB, 1) for each in ("Deleted", "failed", "rejected", "Expired")),
    ]
    held["ec2 describe_addresses"] = [
        ec2("AllocationId", "eipalloc-free", None, LAB),
        ec2("AllocationId", "eipalloc-used", None, PROD, AssociationId="eipassoc-1"),
    ]
    held["ec2 describe_security_groups"] = [
        security("sg-cloud", OF_CLOUD, into="sg-cloud"),
        security("sg-controller", OF_CONTROLLER),
        security("sg-eks", OF_CLOUD | {"aws:eks:cluster-name": CLUSTER}, into="sg-files"),
        security("sg-files", OF_CLOUD | LAB, into="sg-eks", out="sg-eks"),
        security("sg-theirs", {"kubernetes.io/cluster/payroll": "owned"}),
    ]
    held["ec2 describe_network_interfaces"] = [
        interface("eni-left", "available", {"cluster.k8s.amazonaws.com/name": CLUSTER}),
        interface("eni-used", "in-use", {"cluster.k8s.amazonaws.com/name": CLUSTER}),
        interface("eni-theirs", "available", {"cluster.k8s.amazonaws.com/name": "payroll"}),
        interface("eni-other", "available", LAB),
    ]
    held["fsx describe_file_systems"] = [
        lustre("fs-00scratch", LAB, DeploymentType="SCRATCH_2"),
        lustre("fs-00lasting", LAB, DeploymentType="PERSISTENT_2", PerUnitStorageThroughput=125),
        {"FileSystemId": "fs-000000zfs", "FileSystemType": "OPENZFS", "Lifecycle": "CREATING", "StorageCapacity": 64}
        | {"Tags": listed(LAB)},
        {"FileSystemId": "fs-00theirs", "FileSystemType": "OPENZFS", "Lifecycle": "AVAILABLE", "StorageCapacity": 64},
    ]
    held["efs describe_file_systems"] = [
        {"FileSystemId": name, "LifeCycleState": "available", "SizeInBytes": {"Value": 3 * 2**29}, **told}
        | dict.fromkeys(("OwnerId", "CreationToken", "PerformanceMode"), "x")
        | {"CreationTime": 0, "NumberOfMountTargets": 1}
        for name, told in (("fs-homes", {"Tags": listed(LAB)}), ("fs-none", {"Tags": []}))
    ]
    held["elbv2 describe_load_balancers"] = [
        *(balancer(f"theirs-{each}", {"Name": "x"}) for each in range(25)),
        balancer("of-lab", OF_CONTROLLER, "provisioning"),
        balancer("too", OF_CLOUD, kind="application"),
    ]
    held["elb describe_load_balancers"] = [
        {"LoadBalancerName": "classic", "BalancerTags": OF_CLOUD},
        {"LoadBalancerName": "theirs", "BalancerTags": {"Name": "x"}},
        {"LoadBalancerName": "payrolls", "BalancerTags": {"kubernetes.io/cluster/payroll": "owned"}},
    ]
    made.things |= held
    return made


FOUND = """\
cluster gpucluster-lab of lab: ACTIVE, price eks
cluster gpucluster-prod of prod: UPDATING, price eks; its deletion protection is on
node group training of lab: DEGRADED; in gpucluster-lab
node group system of lab: ACTIVE; in gpucluster-lab
node group spare of lab: DELETE_FAILED; in gpucluster-lab
instance i-spot of lab: running, price g6.xlarge spot
instance i-new of lab: pending, price g6.xlarge
instance i-stopping of lab: stopping
instance i-off of lab: stopped
instance i-odd of prod: running, price x9.huge
volume vol-free of lab: available, price gp3-gib x 50
volume vol-safe of safe: in-use, price gp3-gib x 8
capacity reservation cr-held of lab: active, price p5.48xlarge x 2
capacity reservation cr-soon of lab: pending, price p5.48xlarge x 3
NAT gateway nat-available of lab: available, price nat
NAT gateway nat-pending of lab: pending, price nat
endpoint vpce-ecr of lab: available, price endpoint x 2
address eipalloc-free of lab: free, price address
address eipalloc-used of prod: in-use, price address
file system fs-00scratch of lab: AVAILABLE, price fsx-SCRATCH_2-gib x 1200
file system fs-00lasting of lab: AVAILABLE, price fsx-PERSISTENT_2-125-gib x 1200; it is persistent, so its data is kept
file system fs-000000zfs of lab: CREATING, price fsx-OPENZFS-gib x 64; it is persistent, so its data is kept
home file system fs-homes of lab: available, price efs-gb-month x 1.5; it holds home directories, which are kept
load balancer of-lab of lab: provisioning, price nlb
load balancer too of lab: active, price alb
classic load balancer classic of lab: active, price clb
security group sg-cloud of lab: there
security group sg-controller of lab: there
interface eni-left of lab: available"""
"""What `said` tells of all that is found of it, in order."""
