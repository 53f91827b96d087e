"""A whole cluster made and unmade by hand: the account is as it was, and a wrong order is refused on the way."""

from typing import Any

from rehearsal.tests.cloud.conftest import Cloud, refused, until
from rehearsal.tests.cloud.world import (
    ADMIN,
    DEPLOYER,
    MIME,
    Network,
    cluster_request,
    encoded,
    gone,
    make_network,
    make_role,
)

ROLES = {
    "whole-cluster": ("eks.amazonaws.com", "AmazonEKSClusterPolicy"),
    "whole-node": ("ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy"),
}


class Whole:
    """What one stack makes, in the order it is made; `remove` takes it away in the other order."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self.ec2, self.eks, self.fsx = (cloud.client(name) for name in ("ec2", "eks", "fsx"))
        for name, (service, policy) in ROLES.items():
            make_role(cloud, name, service)
            cloud.client("iam").attach_role_policy(RoleName=name, PolicyArn=f"arn:aws:iam::aws:policy/{policy}")
        self.key = str(cloud.client("kms").create_key()["KeyMetadata"]["Arn"])
        self.network = make_network(cloud)
        self.way_out = self._way_out(self.network)
        cloud.client("logs").create_log_group(logGroupName="/aws/eks/whole/cluster")
        self._make_cluster()
        self.group = self._make_group()
        self.instance = self._make_nodes()
        self.system = self._make_storage()
        cloud.client("s3").create_bucket(Bucket="whole-checkpoints")

    def _way_out(self, network: Network) -> dict[str, str]:
        """Internet gateway, NAT gateway, route table, S3 endpoint."""
        ec2 = self.ec2
        gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=network.vpc)
        address = ec2.allocate_address(Domain="vpc")["AllocationId"]
        nat = ec2.create_nat_gateway(SubnetId=network.subnets[0], AllocationId=address)["NatGateway"]["NatGatewayId"]
        table = ec2.create_route_table(VpcId=network.vpc)["RouteTable"]["RouteTableId"]
        ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=nat)
        link = ec2.associate_route_table(RouteTableId=table, SubnetId=network.subnets[1])["AssociationId"]
        service = "com.amazonaws.us-east-1.s3"
        endpoint = ec2.create_vpc_endpoint(VpcId=network.vpc, ServiceName=service, RouteTableIds=[table])["VpcEndpoint"]
        return {
            "gateway": gateway,
            "address": address,
            "nat": nat,
            "table": table,
            "link": link,
            "endpoint": endpoint["VpcEndpointId"],
        }

    def _make_cluster(self) -> None:
        request = cluster_request(
            "whole",
            "arn:aws:iam::123456789012:role/whole-cluster",
            self.network,
            encryptionConfig=[{"resources": ["secrets"], "provider": {"keyArn": self.key}}],
            logging={"clusterLogging": [{"types": ["audit"], "enabled": True}]},
        )
        self.eks.create_cluster(**request)
        self.eks.create_access_entry(clusterName="whole", principalArn=DEPLOYER)
        scope = {"clusterName": "whole", "principalArn": DEPLOYER, "policyArn": ADMIN}
        self.eks.associate_access_policy(**scope, accessScope={"type": "cluster"})
        self.eks.create_addon(clusterName="whole", addonName="coredns")

    def _make_group(self) -> str:
        """Nodes and storage share one group here; it lets everything of its own pass."""
        made = str(self.ec2.create_security_group(GroupName="w", Description="d", VpcId=self.network.vpc)["GroupId"])
        own = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": made}]}
        self.ec2.authorize_security_group_ingress(GroupId=made, IpPermissions=[own])
        self.ec2.authorize_security_group_egress(GroupId=made, IpPermissions=[own])
        return made

    def _make_nodes(self) -> str:
        """A node group from a template in a placement group, and the instance its controller starts."""
        self.ec2.create_placement_group(GroupName="whole", Strategy="cluster")
        interfaces = [
            {"NetworkCardIndex": 0, "DeviceIndex": index, "InterfaceType": kind, "Groups": [self.group]}
            for index, kind in enumerate(("interface", "efa-only"))
        ]
        data: dict[str, Any] = {
            "NetworkInterfaces": interfaces,
            "Placement": {"GroupName": "whole"},
            "UserData": encoded(MIME),
            "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 100, "Encrypted": True}}],
        }
        made = self.ec2.create_launch_template(LaunchTemplateName="whole", LaunchTemplateData=data)["LaunchTemplate"]
        self.template = {"LaunchTemplateId": made["LaunchTemplateId"], "Version": "1"}
        self.eks.create_nodegroup(
            clusterName="whole",
            nodegroupName="gpu",
            subnets=[self.network.subnets[1]],
            nodeRole="arn:aws:iam::123456789012:role/whole-node",
            instanceTypes=["p5.4xlarge"],
            amiType="AL2023_x86_64_NVIDIA",
            scalingConfig={"minSize": 0, "desiredSize": 1, "maxSize": 1},
            launchTemplate={"id": made["LaunchTemplateId"], "version": "1"},
        )
        tags = [{"ResourceType": "instance", "Tags": [{"Key": "eks:nodegroup-name", "Value": "gpu"}]}]
        started = self.ec2.run_instances(
            MinCount=1,
            MaxCount=1,
            InstanceType="p5.4xlarge",
            LaunchTemplate=self.template,
            SubnetId=self.network.subnets[1],
            TagSpecifications=tags,
        )
        return str(started["Instances"][0]["InstanceId"])

    def _make_storage(self) -> str:
        made = self.fsx.create_file_system(
            FileSystemType="LUSTRE",
            StorageCapacity=1200,
            SubnetIds=[self.network.subnets[1]],
            SecurityGroupIds=[self.group],
            FileSystemTypeVersion="2.15",
            LustreConfiguration={"DeploymentType": "SCRATCH_2"},
        )
        return str(made["FileSystem"]["FileSystemId"])

    def remove(self) -> None:
        """Everything, the last made first."""
        self.cloud.client("s3").delete_bucket(Bucket="whole-checkpoints")
        self.fsx.delete_file_system(FileSystemId=self.system)
        self.eks.delete_nodegroup(clusterName="whole", nodegroupName="gpu")
        self.ec2.terminate_instances(InstanceIds=[self.instance])
        self.ec2.delete_launch_template(LaunchTemplateId=self.template["LaunchTemplateId"])
        self.ec2.delete_placement_group(GroupName="whole")
        until(lambda: self.fsx.describe_file_systems()["FileSystems"] == [])
        self.ec2.delete_security_group(GroupId=self.group)
        gone(self.cloud, "whole")
        self.cloud.client("logs").delete_log_group(logGroupName="/aws/eks/whole/cluster")
        self._remove_way_out()
        for subnet in self.network.subnets:
            self.ec2.delete_subnet(SubnetId=subnet)
        self.ec2.delete_vpc(VpcId=self.network.vpc)
        self.cloud.client("kms").schedule_key_deletion(KeyId=self.key)
        for name, (_, policy) in ROLES.items():
            self.cloud.client("iam").detach_role_policy(RoleName=name, PolicyArn=f"arn:aws:iam::aws:policy/{policy}")
            self.cloud.client("iam").delete_role(RoleName=name)

    def _remove_way_out(self) -> None:
        ec2, made = self.ec2, self.way_out
        ec2.delete_vpc_endpoints(VpcEndpointIds=[made["endpoint"]])
        ec2.disassociate_route_table(AssociationId=made["link"])
        ec2.delete_route_table(RouteTableId=made["table"])
        ec2.delete_nat_gateway(NatGatewayId=made["nat"])
        vpc = [{"Name": "vpc-id", "Values": [self.network.vpc]}]
        until(lambda: ec2.describe_nat_gateways(NatGatewayIds=[made["nat"]])["NatGateways"][0]["State"] == "deleted")
        until(lambda: ec2.describe_vpc_endpoints(Filters=vpc)["VpcEndpoints"] == [])
        ec2.release_address(AllocationId=made["address"])
        ec2.detach_internet_gateway(InternetGatewayId=made["gateway"], VpcId=self.network.vpc)
        ec2.delete_internet_gateway(InternetGatewayId=made["gateway"])


def test_the_inventory_is_the_same_before_and_after(cloud: Cloud) -> None:
    """Every kind that was made shows up, each wrong delete is refused, and nothing of it is left."""
    before = cloud.inventory()
    whole = Whole(cloud)
    during = cloud.inventory()
    grown = {kind for kind, ids in during.items() if len(ids) > len(before.get(kind, []))}
    assert grown == {
        "ec2:elastic-ip",
        "ec2:instance",
        "ec2:internet-gateway",
        "ec2:launch-template",
        "ec2:nat-gateway",
        "ec2:network-interface",
        "ec2:placement-group",
        "ec2:route-table",
        "ec2:security-group",
        "ec2:subnet",
        "ec2:volume",
        "ec2:vpc",
        "ec2:vpc-endpoint",
        "eks:access-entry",
        "eks:addon",
        "eks:cluster",
        "eks:nodegroup",
        "fsx:file-system",
        "iam:role",
        "kms:key",
        "logs:log-group",
        "s3:bucket",
    }
    refused(whole.eks.delete_cluster, "ResourceInUseException", name="whole")
    refused(whole.ec2.delete_subnet, "DependencyViolation", SubnetId=whole.network.subnets[1])
    refused(whole.ec2.delete_security_group, "DependencyViolation", GroupId=whole.group)
    refused(whole.ec2.delete_placement_group, "InvalidPlacementGroup.InUse", GroupName="whole")
    refused(whole.ec2.delete_vpc, "DependencyViolation", VpcId=whole.network.vpc)
    until(lambda: whole.fsx.describe_file_systems()["FileSystems"][0]["Lifecycle"] == "AVAILABLE")
    whole.remove()
    assert cloud.inventory() == before
