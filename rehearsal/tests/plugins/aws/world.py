"""What the types under test stand on: one network, roles, a key, a cluster; made once per test process."""

import functools
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3

from rehearsal.tests.plugins.driver import Driver, State

VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
GATEWAY = "aws:ec2/internetGateway:InternetGateway"
RANGE = "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation"
EIP = "aws:ec2/eip:Eip"
NAT = "aws:ec2/natGateway:NatGateway"
TABLE = "aws:ec2/routeTable:RouteTable"
ROUTE = "aws:ec2/route:Route"
TABLE_ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
FLOW_LOG = "aws:ec2/flowLog:FlowLog"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
KEY = "aws:kms/key:Key"
ALIAS = "aws:kms/alias:Alias"
ROLE = "aws:iam/role:Role"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
CLUSTER = "aws:eks/cluster:Cluster"
ENTRY = "aws:eks/accessEntry:AccessEntry"
ACCESS = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
ADDON = "aws:eks/addon:Addon"
NODES = "aws:eks/nodeGroup:NodeGroup"
POD_IDENTITY = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
BUCKET = "aws:s3/bucket:Bucket"
VERSIONING = "aws:s3/bucketVersioning:BucketVersioning"
ENCRYPTION = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
PUBLIC = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
LIFECYCLE = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
BUCKET_POLICY = "aws:s3/bucketPolicy:BucketPolicy"
OWNERSHIP = "aws:s3/bucketOwnershipControls:BucketOwnershipControls"

CERTIFICATE = "aws:acm/certificate:Certificate"
CERTIFICATE_VALIDATION = "aws:acm/certificateValidation:CertificateValidation"
RECORD = "aws:route53/record:Record"
QUEUE = "aws:sqs/queue:Queue"
QUEUE_POLICY = "aws:sqs/queuePolicy:QueuePolicy"
RULE = "aws:cloudwatch/eventRule:EventRule"
TARGET = "aws:cloudwatch/eventTarget:EventTarget"
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
ROTATION = "aws:secretsmanager/secretRotation:SecretRotation"
TOPIC = "aws:sns/topic:Topic"
TOPIC_SUBSCRIPTION = "aws:sns/topicSubscription:TopicSubscription"
TOPIC_POLICY = "aws:sns/topicPolicy:TopicPolicy"
FUNCTION = "aws:lambda/function:Function"
PERMISSION = "aws:lambda/permission:Permission"
SCHEDULE = "aws:scheduler/schedule:Schedule"
PARAMETER = "aws:ssm/parameter:Parameter"
BUDGET = "aws:budgets/budget:Budget"
MONITOR = "aws:costexplorer/anomalyMonitor:AnomalyMonitor"
SUBSCRIPTION = "aws:costexplorer/anomalySubscription:AnomalySubscription"

ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
VIEW = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"

fresh = itertools.count(1)


def name(stem: str) -> str:
    """A name no other object has."""
    return f"{stem}{next(fresh)}"


def trust(service: str) -> str:
    """A trust policy, in a formatting that nobody would keep."""
    statement = {"Effect": "Allow", "Action": ["sts:AssumeRole"], "Principal": {"Service": service}}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}, indent=2)


@dataclass
class World:
    """Objects shared by the tests of one process; nobody changes them."""

    aws: Driver

    def make(self, type: str, stem: str, inputs: Mapping[str, Any]) -> State:
        """A new object."""
        return self.aws.create(type, name(stem), inputs)

    @functools.cached_property
    def vpc(self) -> State:
        return self.make(VPC, "vpc", {"cidrBlock": "10.0.0.0/16", "enableDnsHostnames": True})

    @functools.cached_property
    def subnets(self) -> list[State]:
        zones = ("us-west-2a", "us-west-2b")
        return [
            self.make(
                SUBNET,
                "subnet",
                {"vpcId": self.vpc.id, "cidrBlock": f"10.0.{index}.0/24", "availabilityZone": zone},
            )
            for index, zone in enumerate(zones)
        ]

    @functools.cached_property
    def gateway(self) -> State:
        return self.make(GATEWAY, "igw", {"vpcId": self.vpc.id})

    @functools.cached_property
    def nat(self) -> State:
        assert self.gateway
        address = self.make(EIP, "eip", {"domain": "vpc"})
        return self.make(NAT, "nat", {"subnetId": self.subnets[0].id, "allocationId": address.id})

    @functools.cached_property
    def zone(self) -> str:
        """A public zone, which no stack makes."""
        made = (
            boto3.Session()
            .client("route53", region_name="us-east-1")
            .create_hosted_zone(Name="llm.example.com", CallerReference=name("zone"))
        )
        return str(made["HostedZone"]["Id"]).rpartition("/")[2]

    @functools.cached_property
    def certificate(self) -> State:
        """One that is requested."""
        names = {"domainName": "issued.llm.example.com", "subjectAlternativeNames": ["issued.llm.example.com"]}
        return self.make(CERTIFICATE, "certificate", {**names, "validationMethod": "DNS"})

    @functools.cached_property
    def issued(self) -> State:
        """The same, whose record stands."""
        option = self.certificate.outputs["domainValidationOptions"][0]
        record = {"zoneId": self.zone, "name": option["resourceRecordName"], "type": "CNAME", "ttl": 300}
        self.make(RECORD, "record", {**record, "records": [option["resourceRecordValue"]]})
        return self.certificate

    @functools.cached_property
    def table(self) -> State:
        return self.make(TABLE, "rt", {"vpcId": self.vpc.id})

    @functools.cached_property
    def other_table(self) -> State:
        return self.make(TABLE, "rt", {"vpcId": self.vpc.id})

    @functools.cached_property
    def group(self) -> State:
        group = self.make(GROUP, "sg", {"vpcId": self.vpc.id})
        everything = {"securityGroupId": group.id, "referencedSecurityGroupId": group.id, "ipProtocol": "-1"}
        self.make(INGRESS, "in", everything)
        self.make(EGRESS, "out", {**everything, "referencedSecurityGroupId": None, "cidrIpv4": "0.0.0.0/0"})
        return group

    @functools.cached_property
    def key(self) -> State:
        return self.make(KEY, "key", {})

    def role(self, service: str, *policies: str) -> State:
        """A role with AWS-managed policies attached."""
        role = self.make(ROLE, "role", {"assumeRolePolicy": trust(service)})
        for policy in policies:
            self.make(ATTACHMENT, "attached", {"role": role.id, "policyArn": f"arn:aws:iam::aws:policy/{policy}"})
        return role

    @functools.cached_property
    def cluster_role(self) -> State:
        return self.role("eks.amazonaws.com", "AmazonEKSClusterPolicy")

    @functools.cached_property
    def node_role(self) -> State:
        policies = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly")
        return self.role("ec2.amazonaws.com", *policies)

    @functools.cached_property
    def pod_role(self) -> State:
        document = json.loads(trust("pods.eks.amazonaws.com"))
        document["Statement"][0]["Action"].append("sts:TagSession")
        return self.make(ROLE, "pods", {"assumeRolePolicy": json.dumps(document)})

    @functools.cached_property
    def other_pod_role(self) -> State:
        return self.make(ROLE, "pods", {"assumeRolePolicy": self.pod_role.outputs["assumeRolePolicy"]})

    @functools.cached_property
    def cluster(self) -> State:
        return self.make(CLUSTER, "eks", self.cluster_inputs())

    @functools.cached_property
    def entry(self) -> dict[str, Any]:
        """What names an access entry."""
        named = {"clusterName": self.cluster.id, "principalArn": self.other_pod_role.outputs["arn"]}
        self.make(ENTRY, "entry", named)
        return named

    def cluster_inputs(self) -> dict[str, Any]:
        """A cluster as the program makes one."""
        return {
            "roleArn": self.cluster_role.outputs["arn"],
            "version": "1.35",
            "vpcConfig": {"subnetIds": [subnet.id for subnet in self.subnets], "endpointPrivateAccess": True},
            "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False},
            "bootstrapSelfManagedAddons": False,
            "enabledClusterLogTypes": ["api", "audit"],
        }

    @functools.cached_property
    def template(self) -> State:
        return self.make(TEMPLATE, "lt", {"metadataOptions": {"httpTokens": "required"}})

    @functools.cached_property
    def bucket(self) -> State:
        return self.make(BUCKET, "bucket", {})
