"""Which request of AWS carries the inputs of which resource type, and under which names."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The request that carries a type's inputs.

    `below` is the member under which most inputs stand, `names` gives members their paths where the name differs, and
    `elsewhere` are inputs that other requests carry or the provider keeps to itself.
    """

    service: str
    operation: str
    names: Mapping[str, str] = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()
    below: str = ""


REQUESTS: Mapping[str, Request] = {
    "aws:ec2/vpc:Vpc": Request(
        service="ec2", operation="CreateVpc", elsewhere=("tags", "enableDnsHostnames", "enableDnsSupport")
    ),
    "aws:ec2/subnet:Subnet": Request(service="ec2", operation="CreateSubnet", elsewhere=("tags",)),
    "aws:ec2/internetGateway:InternetGateway": Request(
        service="ec2", operation="AttachInternetGateway", elsewhere=("tags",)
    ),
    "aws:ec2/eip:Eip": Request(service="ec2", operation="AllocateAddress", elsewhere=("tags",)),
    "aws:ec2/natGateway:NatGateway": Request(service="ec2", operation="CreateNatGateway", elsewhere=("tags",)),
    "aws:ec2/routeTable:RouteTable": Request(service="ec2", operation="CreateRouteTable", elsewhere=("tags",)),
    "aws:ec2/route:Route": Request(service="ec2", operation="CreateRoute"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Request(service="ec2", operation="AssociateRouteTable"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Request(service="ec2", operation="CreateVpcEndpoint", elsewhere=("tags",)),
    "aws:ec2/securityGroup:SecurityGroup": Request(
        service="ec2",
        operation="CreateSecurityGroup",
        names={"name": "GroupName"},
        elsewhere=("tags", "revokeRulesOnDelete"),
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": Request(
        service="ec2",
        operation="AuthorizeSecurityGroupIngress",
        names={"securityGroupId": "GroupId"},
        elsewhere=("tags", "referencedSecurityGroupId"),
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": Request(
        service="ec2",
        operation="AuthorizeSecurityGroupEgress",
        names={"securityGroupId": "GroupId"},
        elsewhere=("tags", "referencedSecurityGroupId"),
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": Request(
        service="ec2",
        operation="CreateLaunchTemplate",
        below="LaunchTemplateData",
        names={"name": "/LaunchTemplateName", "networkInterfaces.securityGroups": "Groups"},
        elsewhere=("tags", "updateDefaultVersion"),
    ),
    "aws:ec2/placementGroup:PlacementGroup": Request(
        service="ec2", operation="CreatePlacementGroup", names={"name": "GroupName"}, elsewhere=("tags",)
    ),
    "aws:kms/key:Key": Request(
        service="kms", operation="CreateKey", elsewhere=("tags", "enableKeyRotation", "deletionWindowInDays")
    ),
    "aws:kms/alias:Alias": Request(service="kms", operation="CreateAlias", names={"name": "AliasName"}),
    "aws:iam/role:Role": Request(
        service="iam",
        operation="CreateRole",
        names={"name": "RoleName", "assumeRolePolicy": "AssumeRolePolicyDocument"},
        elsewhere=("tags",),
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Request(
        service="iam", operation="AttachRolePolicy", names={"role": "RoleName"}
    ),
    "aws:iam/rolePolicy:RolePolicy": Request(
        service="iam",
        operation="PutRolePolicy",
        names={"role": "RoleName", "name": "PolicyName", "policy": "PolicyDocument"},
    ),
    "aws:cloudwatch/logGroup:LogGroup": Request(
        service="logs",
        operation="CreateLogGroup",
        names={"name": "logGroupName"},
        elsewhere=("tags", "retentionInDays", "skipDestroy"),
    ),
    "aws:eks/cluster:Cluster": Request(
        service="eks",
        operation="CreateCluster",
        names={"vpcConfig": "resourcesVpcConfig", "enabledClusterLogTypes": "logging.clusterLogging[].types"},
    ),
    "aws:eks/accessEntry:AccessEntry": Request(service="eks", operation="CreateAccessEntry"),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Request(
        service="eks", operation="AssociateAccessPolicy"
    ),
    "aws:eks/addon:Addon": Request(
        service="eks",
        operation="CreateAddon",
        names={"resolveConflictsOnCreate": "resolveConflicts"},
        elsewhere=("resolveConflictsOnUpdate",),
    ),
    "aws:eks/nodeGroup:NodeGroup": Request(
        service="eks",
        operation="CreateNodegroup",
        names={"nodeRoleArn": "nodeRole", "subnetIds": "subnets"},
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Request(
        service="eks", operation="CreatePodIdentityAssociation"
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": Request(
        service="fsx",
        operation="CreateFileSystem",
        below="LustreConfiguration",
        names={
            name: f"/{name[0].upper()}{name[1:]}"
            for name in (
                "storageCapacity",
                "storageType",
                "subnetIds",
                "securityGroupIds",
                "kmsKeyId",
                "fileSystemTypeVersion",
                "tags",
            )
        },
        elsewhere=("skipFinalBackup",),
    ),
    "aws:s3/bucket:Bucket": Request(service="s3", operation="CreateBucket", elsewhere=("tags", "forceDestroy")),
    "aws:s3/bucketVersioning:BucketVersioning": Request(service="s3", operation="PutBucketVersioning"),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": Request(
        service="s3",
        operation="PutBucketEncryption",
        below="ServerSideEncryptionConfiguration",
        names={
            "bucket": "/Bucket",
            "rules.applyServerSideEncryptionByDefault.sseAlgorithm": "SSEAlgorithm",
            "rules.applyServerSideEncryptionByDefault.kmsMasterKeyId": "KMSMasterKeyID",
        },
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": Request(
        service="s3",
        operation="PutPublicAccessBlock",
        below="PublicAccessBlockConfiguration",
        names={"bucket": "/Bucket"},
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": Request(
        service="s3",
        operation="PutBucketLifecycleConfiguration",
        below="LifecycleConfiguration",
        names={"bucket": "/Bucket", "rules.id": "ID"},
    ),
    "aws:s3/bucketPolicy:BucketPolicy": Request(service="s3", operation="PutBucketPolicy"),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": Request(
        service="s3",
        operation="PutBucketOwnershipControls",
        below="OwnershipControls",
        names={"bucket": "/Bucket", "rule": "Rules"},
    ),
}
"""Which request carries which type. A leading '/' in a name means beside `below`, not under it."""
