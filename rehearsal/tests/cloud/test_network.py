"""VPC parts: what EC2 refuses to make, and what it refuses to delete. Each of these passes on plain moto."""

from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import Cloud, refused, until
from rehearsal.tests.cloud.world import Network, make_network, remove_network


@pytest.fixture
def network(cloud: Cloud) -> Iterator[Network]:
    """A network that the test leaves as it found it, or the VPC's delete fails."""
    made = make_network(cloud)
    yield made
    remove_network(cloud, made)


def test_a_vpc_with_anything_in_it_stays(ec2: Any, network: Network) -> None:
    """Subnets, gateways, groups, tables and endpoints each keep it."""
    refused(ec2.delete_vpc, "DependencyViolation", "has dependencies", VpcId=network.vpc)
    bare = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=bare)
    refused(ec2.delete_vpc, "DependencyViolation", VpcId=bare)
    refused(ec2.delete_internet_gateway, "DependencyViolation", InternetGatewayId=gateway)
    ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=bare)
    ec2.delete_internet_gateway(InternetGatewayId=gateway)
    group = ec2.create_security_group(GroupName="g", Description="d", VpcId=bare)["GroupId"]
    refused(ec2.delete_vpc, "DependencyViolation", VpcId=bare)
    ec2.delete_security_group(GroupId=group)
    table = ec2.create_route_table(VpcId=bare)["RouteTable"]["RouteTableId"]
    refused(ec2.delete_vpc, "DependencyViolation", VpcId=bare)
    ec2.delete_route_table(RouteTableId=table)
    endpoint = ec2.create_vpc_endpoint(VpcId=bare, ServiceName="com.amazonaws.us-east-1.s3")["VpcEndpoint"]
    refused(ec2.delete_vpc, "DependencyViolation", VpcId=bare)
    ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint["VpcEndpointId"]])
    refused(ec2.delete_vpc, "DependencyViolation", VpcId=bare)
    until(lambda: not ec2.describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [bare]}])["VpcEndpoints"])
    ec2.delete_vpc(VpcId=bare)
    acls = ec2.describe_network_acls(Filters=[{"Name": "vpc-id", "Values": [bare]}])["NetworkAcls"]
    assert acls == []


def test_a_subnet_with_an_interface_stays(ec2: Any, network: Network) -> None:
    """Whoever made the interface."""
    subnet = network.subnets[0]
    interface = ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    refused(ec2.delete_subnet, "DependencyViolation", subnet, SubnetId=subnet)
    ec2.delete_network_interface(NetworkInterfaceId=interface)


def test_a_deleted_subnet_leaves_its_route_table(ec2: Any, network: Network) -> None:
    """EC2 takes the association away with the subnet, so the table can go next."""
    subnet = ec2.create_subnet(VpcId=network.vpc, CidrBlock="10.0.9.0/24")["Subnet"]["SubnetId"]
    table = ec2.create_route_table(VpcId=network.vpc)["RouteTable"]["RouteTableId"]
    ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)
    refused(ec2.delete_route_table, "DependencyViolation", RouteTableId=table)
    ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_route_table(RouteTableId=table)


def test_zones_are_those_of_the_region(ec2: Any, network: Network) -> None:
    """By name or by id; an id is turned into its name."""
    made = ec2.create_subnet(VpcId=network.vpc, CidrBlock="10.0.8.0/24", AvailabilityZoneId="use1-az4")["Subnet"]
    named = ec2.describe_availability_zones(ZoneIds=["use1-az4"])["AvailabilityZones"][0]["ZoneName"]
    assert (made["AvailabilityZone"], made["MapPublicIpOnLaunch"]) == (named, False)
    ec2.delete_subnet(SubnetId=made["SubnetId"])
    arguments = {"VpcId": network.vpc, "CidrBlock": "10.0.8.0/24"}
    refused(ec2.create_subnet, "InvalidParameterValue", AvailabilityZone="eu-west-1a", **arguments)
    refused(ec2.create_subnet, "InvalidParameterValue", AvailabilityZoneId="euw1-az1", **arguments)


def test_a_nat_gateway_takes_and_holds(ec2: Any, network: Network) -> None:
    """PENDING first; its address cannot be released or taken; the gateway cannot be detached; the subnet stays."""
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=network.vpc)
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    made = ec2.create_nat_gateway(SubnetId=network.subnets[0], AllocationId=address)["NatGateway"]
    nat = made["NatGatewayId"]
    assert made["State"] == "pending"
    until(lambda: _nat_state(ec2, nat) == "available")
    association = ec2.describe_addresses(AllocationIds=[address])["Addresses"][0]["AssociationId"]
    refused(ec2.release_address, "InvalidIPAddress.InUse", AllocationId=address)
    refused(ec2.disassociate_address, "AuthFailure", AssociationId=association)
    refused(ec2.detach_internet_gateway, "DependencyViolation", InternetGatewayId=gateway, VpcId=network.vpc)
    refused(ec2.delete_subnet, "DependencyViolation", SubnetId=network.subnets[0])
    ec2.delete_nat_gateway(NatGatewayId=nat)
    refused(ec2.release_address, "InvalidIPAddress.InUse", AllocationId=address)
    until(lambda: _nat_state(ec2, nat) == "deleted")
    ec2.release_address(AllocationId=address)
    ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=network.vpc)
    ec2.delete_internet_gateway(InternetGatewayId=gateway)


def test_a_nat_gateway_without_internet_fails(ec2: Any, network: Network) -> None:
    """As in life, after a while and not at once."""
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = ec2.create_nat_gateway(SubnetId=network.subnets[0], AllocationId=address)["NatGateway"]["NatGatewayId"]
    until(lambda: _nat_state(ec2, nat) == "failed")
    failed = ec2.describe_nat_gateways(NatGatewayIds=[nat])["NatGateways"][0]
    assert failed["FailureCode"] == "Gateway.NotAttached"
    ec2.release_address(AllocationId=address)


def test_routes_lead_somewhere(ec2: Any, network: Network) -> None:
    """To gateways that exist, in the same network; the main table is the VPC's."""
    table = ec2.create_route_table(VpcId=network.vpc)["RouteTable"]["RouteTableId"]
    target = {"RouteTableId": table, "DestinationCidrBlock": "0.0.0.0/0"}
    refused(ec2.create_route, "InvalidNatGatewayID.NotFound", NatGatewayId="nat-0123456789abcdef0", **target)
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    refused(ec2.create_route, "InvalidParameterValue", "different networks", GatewayId=gateway, **target)
    ec2.delete_internet_gateway(InternetGatewayId=gateway)
    other = ec2.create_route_table(VpcId=network.vpc)["RouteTable"]["RouteTableId"]
    ec2.associate_route_table(RouteTableId=table, SubnetId=network.subnets[0])
    refused(ec2.associate_route_table, "Resource.AlreadyAssociated", RouteTableId=other, SubnetId=network.subnets[0])
    main = next(row for row in _tables(ec2, network) if any(link.get("Main") for link in row["Associations"]))
    refused(ec2.delete_route_table, "DependencyViolation", RouteTableId=main["RouteTableId"])
    link = next(row for row in _tables(ec2, network) if row["RouteTableId"] == table)["Associations"][0]
    ec2.disassociate_route_table(AssociationId=link["RouteTableAssociationId"])
    ec2.delete_route_table(RouteTableId=table)
    ec2.delete_route_table(RouteTableId=other)


def test_endpoints_are_of_services_that_exist(ec2: Any, network: Network) -> None:
    """In this region; and gateway endpoints have no private DNS."""
    refused(ec2.create_vpc_endpoint, "InvalidServiceName", VpcId=network.vpc, ServiceName="com.amazonaws.eu-west-1.s3")
    refused(ec2.create_vpc_endpoint, "InvalidServiceName", VpcId=network.vpc, ServiceName="com.amazonaws.us-east-1.ec2")
    table = ec2.create_route_table(VpcId=network.vpc)["RouteTable"]["RouteTableId"]
    made = ec2.create_vpc_endpoint(VpcId=network.vpc, ServiceName="com.amazonaws.us-east-1.s3", RouteTableIds=[table])[
        "VpcEndpoint"
    ]
    assert (made["VpcEndpointType"], made["PrivateDnsEnabled"], made["RouteTableIds"]) == ("Gateway", False, [table])
    other = ec2.create_route_table(VpcId=network.vpc)["RouteTable"]["RouteTableId"]
    moved = {"AddRouteTableIds": [other], "RemoveRouteTableIds": [table]}
    ec2.modify_vpc_endpoint(VpcEndpointId=made["VpcEndpointId"], **moved)
    routed = [row["RouteTableId"] for row in _tables(ec2, network) if made["VpcEndpointId"] in str(row["Routes"])]
    assert routed == [other]
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made["VpcEndpointId"]])
    assert made["VpcEndpointId"] not in str(_tables(ec2, network))
    ec2.delete_route_table(RouteTableId=other)
    endpoint: dict[str, Any] = {"VpcEndpointIds": [made["VpcEndpointId"]]}
    until(lambda: not ec2.describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [network.vpc]}])["VpcEndpoints"])
    refused(ec2.describe_vpc_endpoints, "InvalidVpcEndpointId.NotFound", **endpoint)
    ec2.delete_route_table(RouteTableId=table)


def test_an_interface_endpoint_holds_its_group(ec2: Any, network: Network) -> None:
    """Until it is deleted; moto gives its interfaces the default group."""
    group = ec2.create_security_group(GroupName="endpoint", Description="d", VpcId=network.vpc)["GroupId"]
    ec2.modify_vpc_attribute(VpcId=network.vpc, EnableDnsHostnames={"Value": True})
    request = {"VpcId": network.vpc, "ServiceName": "com.amazonaws.us-east-1.sts", "VpcEndpointType": "Interface"}
    made = ec2.create_vpc_endpoint(**request, SubnetIds=[network.subnets[0]], SecurityGroupIds=[group])["VpcEndpoint"]
    refused(ec2.delete_security_group, "DependencyViolation", GroupId=group)
    refused(ec2.delete_subnet, "DependencyViolation", SubnetId=network.subnets[0])
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made["VpcEndpointId"]])
    vpc = [{"Name": "vpc-id", "Values": [network.vpc]}]
    until(lambda: not ec2.describe_vpc_endpoints(Filters=vpc)["VpcEndpoints"])
    ec2.delete_security_group(GroupId=group)


def test_a_group_in_use_or_named_by_another_stays(ec2: Any, network: Network) -> None:
    """By an interface, by another group's rule; not by its own."""
    ours, theirs = (
        ec2.create_security_group(GroupName=name, Description="d", VpcId=network.vpc)["GroupId"]
        for name in ("ours", "theirs")
    )
    pair = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": ours}]}
    ec2.authorize_security_group_ingress(GroupId=ours, IpPermissions=[pair])
    named = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": ours, "Description": "again"}]}
    refused(ec2.authorize_security_group_ingress, "InvalidPermission.Duplicate", GroupId=ours, IpPermissions=[named])
    rule = ec2.authorize_security_group_ingress(GroupId=theirs, IpPermissions=[pair])["SecurityGroupRules"][0]
    refused(ec2.delete_security_group, "DependencyViolation", "dependent object", GroupId=ours)
    ec2.revoke_security_group_ingress(GroupId=theirs, SecurityGroupRuleIds=[rule["SecurityGroupRuleId"]])
    interface = ec2.create_network_interface(SubnetId=network.subnets[0], Groups=[ours])["NetworkInterface"]
    refused(ec2.delete_security_group, "DependencyViolation", GroupId=ours)
    ec2.delete_network_interface(NetworkInterfaceId=interface["NetworkInterfaceId"])
    ec2.delete_security_group(GroupId=ours)
    ec2.delete_security_group(GroupId=theirs)


def test_a_rule_that_names_a_group_keeps_its_words(ec2: Any, network: Network) -> None:
    """Description and protocol read back and change; moto drops the one and refuses the other without ports."""
    group = ec2.create_security_group(GroupName="words", Description="d", VpcId=network.vpc)["GroupId"]
    pair = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group, "Description": "efa"}]}
    made = ec2.authorize_security_group_egress(GroupId=group, IpPermissions=[pair])["SecurityGroupRules"][0]
    assert made["Description"] == "efa"
    change = {"IpProtocol": "-1", "ReferencedGroupId": group, "Description": "efa, both ways"}
    rules = [{"SecurityGroupRuleId": made["SecurityGroupRuleId"], "SecurityGroupRule": change}]
    ec2.modify_security_group_rules(GroupId=group, SecurityGroupRules=rules)
    shown = ec2.describe_security_group_rules(SecurityGroupRuleIds=[made["SecurityGroupRuleId"]])["SecurityGroupRules"]
    assert (shown[0]["Description"], shown[0]["ReferencedGroupInfo"]["GroupId"]) == ("efa, both ways", group)
    ec2.delete_security_group(GroupId=group)


def test_interfaces_take_only_groups_of_their_vpc(ec2: Any, network: Network) -> None:
    """Moto makes a group of any id that it is given."""
    subnet = network.subnets[0]
    refused(ec2.create_network_interface, "InvalidGroup.NotFound", SubnetId=subnet, Groups=["sg-0123456789abcdef0"])
    default = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"][0]["VpcId"]
    other = ec2.create_security_group(GroupName="elsewhere", Description="d", VpcId=default)["GroupId"]
    refused(ec2.create_network_interface, "InvalidParameter", "different networks", SubnetId=subnet, Groups=[other])
    ec2.delete_security_group(GroupId=other)


def test_a_full_subnet_says_so(ec2: Any, network: Network) -> None:
    """A /28 has eleven addresses."""
    subnet = ec2.create_subnet(VpcId=network.vpc, CidrBlock="10.0.7.0/28")["Subnet"]["SubnetId"]
    made = [ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"] for _ in range(11)]
    assert len({each["PrivateIpAddress"] for each in made}) == 11
    refused(ec2.create_network_interface, "InsufficientFreeAddressesInSubnet", SubnetId=subnet)
    for each in made:
        ec2.delete_network_interface(NetworkInterfaceId=each["NetworkInterfaceId"])
    ec2.delete_subnet(SubnetId=subnet)


def test_tags_go_with_their_resource_and_aws_keeps_its_prefix(ec2: Any, network: Network) -> None:
    """Moto remembers tags of what is gone."""
    spec = [{"ResourceType": "security-group", "Tags": [{"Key": "stack", "Value": "dev"}]}]
    arguments: dict[str, Any] = {"GroupName": "tagged", "Description": "d", "VpcId": network.vpc}
    group = ec2.create_security_group(TagSpecifications=spec, **arguments)["GroupId"]
    forbidden = [{"Key": "aws:eks:cluster-name", "Value": "x"}]
    refused(ec2.create_tags, "InvalidParameterValue", "reserved", Resources=[group], Tags=forbidden)
    ec2.delete_security_group(GroupId=group)
    assert ec2.describe_tags(Filters=[{"Name": "resource-id", "Values": [group]}])["Tags"] == []


def _nat_state(ec2: Any, nat: str) -> str:
    return str(ec2.describe_nat_gateways(NatGatewayIds=[nat])["NatGateways"][0]["State"])


def _tables(ec2: Any, network: Network) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [network.vpc]}])[
        "RouteTables"
    ]
    return found


def test_an_interface_endpoint_needs_names_and_a_zone_for_each_subnet(ec2: Any, network: Network) -> None:
    """A service's own name leads to one endpoint, in a VPC that gives its hosts names; a zone has one subnet of it."""
    zone = ec2.describe_subnets(SubnetIds=[network.subnets[0]])["Subnets"][0]["AvailabilityZone"]
    beside = ec2.create_subnet(VpcId=network.vpc, CidrBlock="10.0.7.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"]
    wanted: dict[str, Any] = {
        "VpcId": network.vpc,
        "ServiceName": "com.amazonaws.us-east-1.sts",
        "VpcEndpointType": "Interface",
        "SubnetIds": [network.subnets[0]],
        "PrivateDnsEnabled": True,
    }
    both = {**wanted, "SubnetIds": [network.subnets[0], beside]}
    refused(ec2.create_vpc_endpoint, "DuplicateSubnetsInSameZone", **both)
    ec2.modify_vpc_attribute(VpcId=network.vpc, EnableDnsHostnames={"Value": False})
    refused(ec2.create_vpc_endpoint, "InvalidParameter", "enableDnsHostnames", **wanted)
    ec2.modify_vpc_attribute(VpcId=network.vpc, EnableDnsHostnames={"Value": True})
    made = ec2.create_vpc_endpoint(**wanted)["VpcEndpoint"]["VpcEndpointId"]
    refused(ec2.create_vpc_endpoint, "InvalidParameter", "conflicting DNS domain for sts.us-east-1", **wanted)
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made])
    until(lambda: not ec2.describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [network.vpc]}])["VpcEndpoints"])
    ec2.delete_subnet(SubnetId=beside)
