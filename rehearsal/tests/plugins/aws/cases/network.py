"""A VPC and what is in it."""

import base64

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import TAGGED, Case, Inputs
from rehearsal.tests.plugins.aws.world import World


def efa_template(world: World) -> Inputs:
    """Two network cards with EFA, as a training node has them."""
    cards = [
        {
            "deviceIndex": min(card, 1),
            "networkCardIndex": card,
            "interfaceType": "efa",
            "securityGroups": [world.group.id],
            "deleteOnTermination": "true",
        }
        for card in range(2)
    ]
    return {
        "networkInterfaces": cards,
        "metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 2},
        "blockDeviceMappings": [
            {"deviceName": "/dev/xvda", "ebs": {"volumeSize": 200, "volumeType": "gp3", "encrypted": "true"}}
        ],
        "tagSpecifications": [{"resourceType": "instance", "tags": {"pool": "training"}}],
        "userData": base64.b64encode(b"MIME-Version: 1.0\n").decode(),
        "updateDefaultVersion": True,
    }


CASES = (
    Case(
        w.VPC,
        lambda _: {"cidrBlock": "10.7.0.0/16", "enableDnsHostnames": True},
        {"enableDnsHostnames": False, "tags": {"a": "b"}},
        {"enableDnsHostnames": "update", "tags": "add", "tagsAll.a": "add"},
        {"cidrBlock": "10.8.0.0/16"},
        ("cidrBlock",),
        outputs=("arn", "defaultSecurityGroupId", "mainRouteTableId", "ownerId"),
    ),
    Case(
        w.SUBNET,
        lambda world: {"vpcId": world.vpc.id, "cidrBlock": "10.0.77.0/24", "availabilityZoneId": "usw2-az2"},
        {"mapPublicIpOnLaunch": True},
        {"mapPublicIpOnLaunch": "update"},
        {"cidrBlock": "10.0.78.0/24"},
        ("cidrBlock",),
        outputs=("arn", "availabilityZone"),
        refused={"InvalidSubnet.Range": {"cidrBlock": "192.168.0.0/24"}},
    ),
    Case(
        w.GATEWAY,
        lambda world: {"vpcId": world.make(w.VPC, "vpc", {"cidrBlock": "10.9.0.0/16"}).id},
        lambda world: {"vpcId": world.make(w.VPC, "vpc", {"cidrBlock": "10.9.0.0/16"}).id},
        {"vpcId": "update"},
    ),
    Case(
        w.EIP,
        lambda _: {"domain": "vpc"},
        *TAGGED,
        outputs=("publicIp",),
    ),
    Case(
        w.NAT,
        lambda world: {
            "subnetId": (world.gateway and world.subnets[0]).id,
            "allocationId": world.make(w.EIP, "eip", {"domain": "vpc"}).id,
        },
        *TAGGED,
        {"connectivityType": "private"},
        ("connectivityType",),
        outputs=("publicIp", "networkInterfaceId"),
    ),
    Case(w.TABLE, lambda world: {"vpcId": world.vpc.id}, *TAGGED),
    Case(
        w.ROUTE,
        lambda world: {
            "routeTableId": world.table.id,
            "destinationCidrBlock": "192.0.2.0/24",
            "gatewayId": world.gateway.id,
        },
        lambda world: {"gatewayId": None, "natGatewayId": world.nat.id},
        {"natGatewayId": "add"},
        {"destinationCidrBlock": "198.51.100.0/24"},
        ("destinationCidrBlock",),
        lambda state: f"{state.outputs['routeTableId']}_192.0.2.0/24",
        outputs=("state", "origin"),
    ),
    Case(
        w.TABLE_ASSOCIATION,
        lambda world: {"routeTableId": world.table.id, "subnetId": world.subnets[1].id},
        lambda world: {"routeTableId": world.other_table.id},
        {"routeTableId": "update"},
        lambda world: {"subnetId": world.subnets[0].id},
        ("subnetId",),
        lambda state: f"{state.outputs['subnetId']}/{state.outputs['routeTableId']}",
        outputs=(),
    ),
    Case(
        w.ENDPOINT,
        lambda world: {
            "vpcId": world.vpc.id,
            "serviceName": "com.amazonaws.us-west-2.s3",
            "routeTableIds": [world.table.id],
        },
        lambda world: {"routeTableIds": [world.table.id, world.other_table.id]},
        {"routeTableIds[1]": "add"},
        {"serviceName": "com.amazonaws.us-west-2.dynamodb"},
        ("serviceName",),
        outputs=("arn", "prefixListId", "state"),
    ),
    Case(
        w.FLOW_LOG,
        lambda world: {
            "vpcId": world.vpc.id,
            "trafficType": "ALL",
            "logDestination": world.make(w.LOG_GROUP, "flows", {"name": w.name("/flows")}).outputs["arn"],
            "iamRoleArn": world.role("vpc-flow-logs.amazonaws.com").outputs["arn"],
        },
        *TAGGED,
        {"trafficType": "REJECT"},
        ("trafficType",),
        outputs=("arn", "logFormat"),
        refused={"Unable to assume given IAM role": {"iamRoleArn": "arn:aws:iam::123456789012:role/nobody"}},
    ),
    Case(
        w.GROUP,
        lambda world: {"vpcId": world.vpc.id, "description": "efa"},
        *TAGGED,
        {"description": "other"},
        ("description",),
        outputs=("arn", "name"),
    ),
    Case(
        w.INGRESS,
        lambda world: {
            "securityGroupId": world.group.id,
            "ipProtocol": "tcp",
            "fromPort": 988,
            "toPort": 1023,
            "cidrIpv4": "10.0.0.0/16",
            "description": "lustre",
        },
        {"toPort": 1024},
        {"toPort": "update"},
        lambda world: {"securityGroupId": world.vpc.outputs["defaultSecurityGroupId"]},
        ("securityGroupId",),
        outputs=("arn", "securityGroupRuleId"),
    ),
    Case(
        w.EGRESS,
        lambda world: {
            "securityGroupId": world.group.id,
            "ipProtocol": "-1",
            "referencedSecurityGroupId": world.group.id,
            "description": "efa",
        },
        {"description": "self"},
        {"description": "update"},
    ),
    Case(
        w.TEMPLATE,
        efa_template,
        {"metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1}},
        {"metadataOptions.httpPutResponseHopLimit": "update"},
        {"name": "another"},
        ("name",),
        outputs=("arn", "latestVersion", "defaultVersion", "name"),
    ),
    Case(
        w.PLACEMENT,
        lambda _: {"strategy": "cluster"},
        *TAGGED,
        {"strategy": "spread"},
        ("strategy",),
        outputs=("arn", "placementGroupId"),
    ),
)
