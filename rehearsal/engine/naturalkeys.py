"""How to find an AWS object whose creation was interrupted: by its tags, or by the name the program gave it.

Ids are those of the official provider (hashicorp/terraform-provider-aws, `d.SetId` of each resource). Three tables:

* `TAGGED`: EC2 and its kin get their tags with the create call; the tags a resource would carry (the provider's default
  tags and its own, among them `Name`) find it again.
* `NAMED`: the API answers by a name in the inputs; the answer becomes the id.
* `REPEATABLE`: creating it again is the same put; nothing needs to be found.
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

Inputs = Mapping[str, Any]
Clients = Callable[[str], Any]
"""A boto3 client by service name."""

NOT_FOUND = frozenset({"404", "NoSuchEntity", "NoSuchBucket", "ResourceNotFoundException", "NotFoundException"})


@dataclass(frozen=True)
class Tagged:
    """`operation` of `service` lists objects under `listed`; `id` is the member with the id."""

    service: str
    operation: str
    listed: str
    id: str


@dataclass(frozen=True)
class Found:
    """An object that answers to the name; `tags` is empty for kinds that have none, or where they were not set yet."""

    id: str
    tags: Mapping[str, str] = field(default_factory=dict)


def _ec2(operation: str, member: str, id: str) -> Tagged:
    return Tagged("ec2", f"describe_{operation}", member, id)


TAGGED: dict[str, Tagged] = {
    "aws:ec2/eip:Eip": _ec2("addresses", "Addresses", "AllocationId"),
    "aws:ec2/internetGateway:InternetGateway": _ec2("internet_gateways", "InternetGateways", "InternetGatewayId"),
    "aws:ec2/launchTemplate:LaunchTemplate": _ec2("launch_templates", "LaunchTemplates", "LaunchTemplateId"),
    "aws:ec2/natGateway:NatGateway": _ec2("nat_gateways", "NatGateways", "NatGatewayId"),
    "aws:ec2/routeTable:RouteTable": _ec2("route_tables", "RouteTables", "RouteTableId"),
    "aws:ec2/securityGroup:SecurityGroup": _ec2("security_groups", "SecurityGroups", "GroupId"),
    "aws:ec2/subnet:Subnet": _ec2("subnets", "Subnets", "SubnetId"),
    "aws:ec2/vpc:Vpc": _ec2("vpcs", "Vpcs", "VpcId"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _ec2("vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
    "aws:fsx/lustreFileSystem:LustreFileSystem": Tagged("fsx", "describe_file_systems", "FileSystems", "FileSystemId"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _ec2(
        "security_group_rules", "SecurityGroupRules", "SecurityGroupRuleId"
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _ec2(
        "security_group_rules", "SecurityGroupRules", "SecurityGroupRuleId"
    ),
}

GOING = frozenset({"deleted", "deleting", "DELETING", "Deleted", "Deleting", "PendingDeletion"})
"""States of objects that are no more, though the API still lists them."""

REPEATABLE = frozenset(
    {
        "aws:iam/rolePolicy:RolePolicy",
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
        "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
        "aws:s3/bucketPolicy:BucketPolicy",
        "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
        "aws:s3/bucketVersioning:BucketVersioning",
    }
)


def by_tags(row: Tagged, clients: Clients, tags: Mapping[str, str]) -> list[str]:
    """Ids of the living objects that carry all of `tags`."""
    client = clients(row.service)
    paged = client.can_paginate(row.operation)
    pages = client.get_paginator(row.operation).paginate() if paged else [getattr(client, row.operation)()]
    objects = (each for page in pages for each in page[row.listed])
    return [each[row.id] for each in objects if not _going(each) and tags.items() <= _tags(each).items()]


def by_name(token: str, clients: Clients, inputs: Inputs) -> Found | None:
    """The object that the inputs name; None if there is none. KeyError for a type without a natural key."""
    find = NAMED[token]
    try:
        return find(clients, inputs)
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code in NOT_FOUND or code.endswith(".NotFound"):
            return None
        raise


def key_by_tags(clients: Clients, tags: Mapping[str, str]) -> list[str]:
    """Ids of living KMS keys with these tags (keys have no list call that shows tags)."""
    kms = clients("kms")
    found = []
    for page in kms.get_paginator("list_keys").paginate():
        for each in page["Keys"]:
            key = kms.describe_key(KeyId=each["KeyId"])["KeyMetadata"]
            if key.get("KeyManager") == "AWS" or key.get("KeyState") in GOING:
                continue
            listed = kms.list_resource_tags(KeyId=each["KeyId"])["Tags"]
            if tags.items() <= {tag["TagKey"]: tag["TagValue"] for tag in listed}.items():
                found.append(each["KeyId"])
    return found


def _role(clients: Clients, inputs: Inputs) -> Found:
    role = clients("iam").get_role(RoleName=inputs["name"])["Role"]
    return Found(role["RoleName"], _tags(role))


def _bucket(clients: Clients, inputs: Inputs) -> Found:
    s3, name = clients("s3"), inputs["bucket"]
    s3.head_bucket(Bucket=name)
    try:
        return Found(name, {tag["Key"]: tag["Value"] for tag in s3.get_bucket_tagging(Bucket=name)["TagSet"]})
    except ClientError as error:
        if error.response["Error"]["Code"] == "NoSuchTagSet":
            return Found(name)
        raise


def _alias(clients: Clients, inputs: Inputs) -> Found | None:
    pages = clients("kms").get_paginator("list_aliases").paginate()
    names = (alias["AliasName"] for page in pages for alias in page["Aliases"])
    return next((Found(name) for name in names if name == inputs["name"]), None)


def _log_group(clients: Clients, inputs: Inputs) -> Found | None:
    logs = clients("logs")
    pages = logs.get_paginator("describe_log_groups").paginate(logGroupNamePrefix=inputs["name"])
    for group in (group for page in pages for group in page["logGroups"]):
        if group["logGroupName"] == inputs["name"]:
            arn = group["arn"].removesuffix(":*")
            return Found(inputs["name"], logs.list_tags_for_resource(resourceArn=arn).get("tags", {}))
    return None


def _placement_group(clients: Clients, inputs: Inputs) -> Found | None:
    groups = clients("ec2").describe_placement_groups()["PlacementGroups"]
    living = (group for group in groups if not _going(group) and group["GroupName"] == inputs["name"])
    return next((Found(group["GroupName"], _tags(group)) for group in living), None)


_DESTINATIONS = {
    "destinationCidrBlock": "DestinationCidrBlock",
    "destinationIpv6CidrBlock": "DestinationIpv6CidrBlock",
    "destinationPrefixListId": "DestinationPrefixListId",
}


def _route(clients: Clients, inputs: Inputs) -> Found | None:
    table = inputs["routeTableId"]
    destination = next(inputs[key] for key in _DESTINATIONS if inputs.get(key))
    described = clients("ec2").describe_route_tables(RouteTableIds=[table])["RouteTables"][0]["Routes"]
    if any(destination in (route.get(member) for member in _DESTINATIONS.values()) for route in described):
        return Found(f"r-{table}{zlib.crc32(destination.encode())}")
    return None


def _route_table_association(clients: Clients, inputs: Inputs) -> Found | None:
    tables = clients("ec2").describe_route_tables(RouteTableIds=[inputs["routeTableId"]])["RouteTables"]
    links = (link for table in tables for link in table["Associations"])
    mine = (link["RouteTableAssociationId"] for link in links if link.get("SubnetId") == inputs["subnetId"])
    return next(map(Found, mine), None)


def _cluster(clients: Clients, inputs: Inputs) -> Found:
    cluster = clients("eks").describe_cluster(name=inputs["name"])["cluster"]
    return Found(cluster["name"], cluster.get("tags") or {})


def _node_group(clients: Clients, inputs: Inputs) -> Found:
    cluster, name = inputs["clusterName"], inputs["nodeGroupName"]
    group = clients("eks").describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]
    return Found(f"{cluster}:{name}", group.get("tags") or {})


def _addon(clients: Clients, inputs: Inputs) -> Found:
    cluster, name = inputs["clusterName"], inputs["addonName"]
    addon = clients("eks").describe_addon(clusterName=cluster, addonName=name)["addon"]
    return Found(f"{cluster}:{name}", addon.get("tags") or {})


def _access_entry(clients: Clients, inputs: Inputs) -> Found:
    cluster, principal = inputs["clusterName"], inputs["principalArn"]
    entry = clients("eks").describe_access_entry(clusterName=cluster, principalArn=principal)["accessEntry"]
    return Found(f"{cluster}:{principal}", entry.get("tags") or {})


def _access_policy(clients: Clients, inputs: Inputs) -> Found | None:
    cluster, principal, policy = inputs["clusterName"], inputs["principalArn"], inputs["policyArn"]
    listed = clients("eks").list_associated_access_policies(clusterName=cluster, principalArn=principal)
    linked = any(each["policyArn"] == policy for each in listed["associatedAccessPolicies"])
    return Found(f"{cluster}#{principal}#{policy}") if linked else None


def _pod_identity(clients: Clients, inputs: Inputs) -> Found | None:
    listed = clients("eks").list_pod_identity_associations(
        clusterName=inputs["clusterName"], namespace=inputs["namespace"], serviceAccount=inputs["serviceAccount"]
    )
    return next((Found(each["associationId"]) for each in listed["associations"]), None)


NAMED: dict[str, Callable[[Clients, Inputs], Found | None]] = {
    "aws:cloudwatch/logGroup:LogGroup": _log_group,
    "aws:ec2/placementGroup:PlacementGroup": _placement_group,
    "aws:ec2/route:Route": _route,
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _route_table_association,
    "aws:eks/accessEntry:AccessEntry": _access_entry,
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": _access_policy,
    "aws:eks/addon:Addon": _addon,
    "aws:eks/cluster:Cluster": _cluster,
    "aws:eks/nodeGroup:NodeGroup": _node_group,
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": _pod_identity,
    "aws:iam/role:Role": _role,
    "aws:kms/alias:Alias": _alias,
    "aws:s3/bucket:Bucket": _bucket,
}
KEY = "aws:kms/key:Key"


def _tags(item: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in item.get("Tags") or ()}


def _going(item: Mapping[str, Any]) -> bool:
    return any(item.get(member) in GOING for member in ("State", "Lifecycle"))
