"""Rules about the network: what EFA and Lustre need of security groups, how nodes reach what they are made of."""

from collections.abc import Iterator

from policy.graph import Graph, Resource
from policy.pools import pools
from policy.reach import CLUSTER, EVERYWHERE, Reach, groups_of
from policy.references import behind, target
from policy.rule import Finding, rule

FILE_SYSTEM = "aws:fsx/lustreFileSystem:LustreFileSystem"
SUBNET = "aws:ec2/subnet:Subnet"
ROUTE_TABLE = "aws:ec2/routeTable:RouteTable"
NAT = "aws:ec2/natGateway:NatGateway"
GATEWAY = "aws:ec2/internetGateway:InternetGateway"

LUSTRE_PORTS = ((988, 988), (1018, 1023))


@rule(
    source="EC2 guide: Get started with EFA, an EFA-enabled security group; "
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html",
    remedy='one group on every EFA interface, with a rule in and a rule out of the protocol "-1" that name the group '
    "itself; a range of addresses does not do",
)
def efa_open_to_itself(graph: Graph) -> Iterator[Finding]:
    """All EFA interfaces of a node are in one security group that allows all traffic from and to itself."""
    reach = Reach.of(graph)
    for pool in pools(graph):
        cards = [{group.urn: group for group in each.groups} for each in pool.interfaces(graph) if each.is_efa]
        shared = [each for urn, each in (cards[0] if cards else {}).items() if all(urn in one for one in cards)]
        open_ways = [reach.ways_to_itself(each.urn) for each in shared]
        if not cards or {"in", "out"} in open_ways:
            continue
        names = ", ".join(sorted(each.name for each in shared)) or "no group"
        lacking = [WORDS[way] for way in ("in", "out") if not any(way in each for each in open_ways)]
        yield pool.name, f"has EFA interfaces that share {names}, none of which allows all traffic {_both(lacking)}"


WORDS = {"in": "in from itself", "out": "out to itself"}


def _both(words: list[str]) -> str:
    return " and ".join(words or WORDS.values())


@rule(
    source="FSx for Lustre guide: https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html",
    remedy="TCP 988 and 1018-1023, in and out, from the file system's group to itself and both ways between it and the "
    "nodes' group; with efaEnabled everything instead",
)
def lustre_reaches_its_nodes(graph: Graph) -> Iterator[Finding]:
    """Lustre's ports are open between nodes and file servers, both ways, and among file servers."""
    reach = Reach.of(graph)
    for system in graph.of_type(FILE_SYSTEM):
        servers = {each.urn for each in groups_of(graph, system, "securityGroupIds", _ids(system, "securityGroupIds"))}
        if system.inputs.get("efaEnabled") and {"in", "out"} not in [reach.ways_to_itself(each) for each in servers]:
            yield system.name, "has EFA and no security group that allows all traffic from and to itself"
        sides = [(system.name, servers)]
        for pool in pools(graph):
            sides.append((pool.name, {each.urn for each in pool.groups(graph)}))
        for name, nodes in sides:
            for ports in LUSTRE_PORTS:
                shown = "-".join(str(each) for each in dict.fromkeys(ports))
                pairs = [(name, nodes, "the file servers", servers), ("a file server", servers, name, nodes)]
                for one, here, other, there in pairs if nodes is not servers else pairs[:1]:
                    for lacking in reach.missing(here, there, ports):
                        yield system.name, f"TCP {shown} from {one} to {other} is not allowed {lacking}"


def _ids(each: Resource, key: str) -> list[str]:
    value = each.inputs.get(key) or []
    return [value] if isinstance(value, str) else list(value)


def subnets_of(graph: Graph, each: Resource, key: str = "subnetIds") -> list[Resource]:
    """The subnets that a resource names, in their order, once each."""
    found = {one.urn: one for id_ in _ids(each, key) for one in behind(graph, each, key, id_, SUBNET)}
    return list(found.values())


def zones_of(subnets: list[Resource]) -> set[str]:
    """Zones of subnets: their ids, or their names where these are given."""
    return {str(each.inputs.get("availabilityZoneId") or each.inputs.get("availabilityZone")) for each in subnets}


@rule(
    source="VPC guide: https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-scenarios.html; "
    "EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html",
    remedy="associate the subnet with a route table whose 0.0.0.0/0 goes to a NAT gateway in a public subnet, or give "
    "the VPC interface endpoints for all that a node calls",
)
def nodes_reach_out(graph: Graph) -> Iterator[Finding]:
    """A node's subnet has a route to registries and the AWS API: a NAT gateway in a public subnet, or endpoints."""
    endpoints = [each for each in graph.of_type("aws:ec2/vpcEndpoint:VpcEndpoint") if _is_interface(each)]
    public = {subnet.urn for subnet in graph.of_type(SUBNET) if _leads(graph, subnet, "gatewayId", GATEWAY)}
    for subnet in {one.urn: one for pool in pools(graph) for one in subnets_of(graph, pool.group)}.values():
        if not (routes := ways_out(graph, subnet)):
            if not endpoints:
                yield subnet.name, "has nodes but no outbound route: no 0.0.0.0/0 in its route table"
            continue
        if subnet.urn in public and not subnet.inputs.get("mapPublicIpOnLaunch"):
            yield subnet.name, "routes its nodes to an internet gateway, which serves public addresses only"
        for nat in (each for route in routes for each in [target(graph, route, "natGatewayId", NAT)] if each):
            beside = subnets_of(graph, nat, "subnetId")
            if nat.inputs.get("connectivityType") == "private":
                yield nat.name, "is private, and so leads to other networks and not to registries and the AWS API"
            elif not {each.urn for each in beside} & public:
                yield nat.name, "is in a subnet without a route to an internet gateway"


def _is_interface(each: Resource) -> bool:
    return each.inputs.get("vpcEndpointType") == "Interface"


def ways_out(graph: Graph, subnet: Resource) -> list[Resource]:
    """Routes to everywhere in the tables of a subnet, each with where it goes; inline ones are their table."""
    found: list[Resource] = []
    for link in graph.of_type("aws:ec2/routeTableAssociation:RouteTableAssociation"):
        table = target(graph, link, "routeTableId", ROUTE_TABLE)
        if table is None or subnet.urn not in {each.urn for each in subnets_of(graph, link, "subnetId")}:
            continue
        if any(each.get("cidrBlock") == EVERYWHERE for each in table.inputs.get("routes") or []):
            found.append(table)
        for route in graph.of_type("aws:ec2/route:Route"):
            owner = target(graph, route, "routeTableId", ROUTE_TABLE)
            if owner and owner.urn == table.urn and route.inputs.get("destinationCidrBlock") == EVERYWHERE:
                found.append(route)
    return found


def _leads(graph: Graph, subnet: Resource, key: str, kind: str) -> bool:
    """Whether a route to everywhere of the subnet goes to a resource of this kind."""
    for route in ways_out(graph, subnet):
        inline = [each.get(key) for each in route.inputs.get("routes") or []]
        if target(graph, route, key, kind) or any(
            behind(graph, route, "routes", each, kind) for each in inline if each
        ):
            return True
    return False


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html; "
    "https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html",
    remedy="subnets in two zones or more; endpointPrivateAccess on wherever the public endpoint is off or narrowed",
)
def cluster_is_reached_by_its_nodes(graph: Graph) -> Iterator[Finding]:
    """The control plane is in two zones, and nodes can reach its endpoint."""
    for cluster in graph.of_type(CLUSTER):
        config = cluster.inputs.get("vpcConfig") or {}
        named = [
            one for each in config.get("subnetIds") or [] for one in behind(graph, cluster, "vpcConfig", each, SUBNET)
        ]
        if named and len(zones := zones_of(named)) < 2:
            yield cluster.name, f"has subnets in {', '.join(zones)} only; EKS needs two zones"
        private, public = config.get("endpointPrivateAccess"), config.get("endpointPublicAccess", True)
        cidrs = config.get("publicAccessCidrs") or [EVERYWHERE]
        if not private and not public:
            yield cluster.name, "has its endpoint switched off, private and public"
        elif not private and EVERYWHERE not in cidrs:
            yield cluster.name, f"opens its API to {', '.join(cidrs)} only, which leaves out its own nodes"
