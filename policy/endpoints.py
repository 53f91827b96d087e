"""Rules about what a VPC gives its nodes: names, and a way to the object store that costs nothing."""

from collections.abc import Iterator

from policy.graph import Graph, Resource
from policy.network import ROUTE_TABLE, SUBNET, subnets_of, ways_out
from policy.pools import pools
from policy.reach import CLUSTER
from policy.references import before, behind, target
from policy.rule import Finding, rule

VPC = "aws:ec2/vpc:Vpc"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
LINK = "aws:ec2/routeTableAssociation:RouteTableAssociation"
ENDPOINT_TABLE = "aws:ec2/vpcEndpointRouteTableAssociation:VpcEndpointRouteTableAssociation"


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html: without DNS hostnames and "
    "DNS resolution nodes cannot register; FSx for Lustre is mounted by such a name",
    remedy="set enableDnsHostnames: true on the VPC, and leave enableDnsSupport on",
)
def names_are_resolved(graph: Graph) -> Iterator[Finding]:
    """A cluster's VPC resolves names and gives its machines some: the API server and file systems have only names."""
    for cluster in graph.of_type(CLUSTER):
        named = (cluster.inputs.get("vpcConfig") or {}).get("subnetIds") or []
        subnets = {one.urn: one for each in named for one in behind(graph, cluster, "vpcConfig", each, SUBNET)}
        found = [target(graph, each, "vpcId", VPC) for each in subnets.values()]
        for vpc in {each.urn: each for each in found if each}.values():
            for key, usual in (("enableDnsSupport", True), ("enableDnsHostnames", False)):
                if vpc.inputs.get(key, usual) is False:
                    yield vpc.name, f"has {key} off: nodes of {cluster.name} cannot register"


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html, worker nodes fail "
    "to join: a node that boots without a way to EKS and ECR gives up, and its group ends as CREATE_FAILED",
    remedy="let the node group depend on the route to everywhere and on the association of its subnets' route table",
)
def nodes_wait_for_their_way_out(graph: Graph) -> Iterator[Finding]:
    """A node group is made after the routes of its subnets, and goes before them."""
    for pool in pools(graph):
        there = before(graph, pool.group)
        needed: dict[str, str] = {}
        for subnet in subnets_of(graph, pool.group):
            for link in graph.of_type(LINK):
                if subnet.urn in {each.urn for each in subnets_of(graph, link, "subnetId")}:
                    needed[link.urn] = link.name
            needed |= {each.urn: each.name for each in ways_out(graph, subnet)}
        if late := sorted(name for urn, name in needed.items() if urn not in there):
            yield pool.group.name, f"may start its nodes before {', '.join(late)}"


def _tables(graph: Graph, each: Resource, key: str) -> set[str]:
    named = each.inputs.get(key) or []
    found = [
        one
        for id_ in (named if isinstance(named, list) else [named])
        for one in behind(graph, each, key, id_, ROUTE_TABLE)
    ]
    return {one.urn for one in found}


@rule(
    source="VPC guide: https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-endpoints-s3.html: a gateway endpoint is "
    "a route, free of charge; what misses it goes through NAT and is billed by the GB",
    remedy="put the route tables of the node groups' subnets into the endpoint's routeTableIds",
)
def nodes_reach_s3_by_its_endpoint(graph: Graph) -> Iterator[Finding]:
    """A gateway endpoint for S3 is in the route tables of the nodes: weights and checkpoints are terabytes."""
    links = graph.of_type(LINK)
    subnets = {one.urn: one for pool in pools(graph) for one in subnets_of(graph, pool.group)}
    for endpoint in graph.of_type(ENDPOINT):
        name = str(endpoint.inputs.get("serviceName"))
        if endpoint.inputs.get("vpcEndpointType", "Gateway") != "Gateway" or not name.endswith(".s3"):
            continue
        tables = _tables(graph, endpoint, "routeTableIds")
        for each in graph.of_type(ENDPOINT_TABLE):
            if endpoint in behind(graph, each, "vpcEndpointId", each.inputs.get("vpcEndpointId"), ENDPOINT):
                tables |= _tables(graph, each, "routeTableId")
        for subnet in subnets.values():
            own = {
                urn
                for link in links
                if subnet.urn in {each.urn for each in subnets_of(graph, link, "subnetId")}
                for urn in _tables(graph, link, "routeTableId")
            }
            same = target(graph, subnet, "vpcId", VPC) == target(graph, endpoint, "vpcId", VPC)
            if same and own and not own & tables:
                yield endpoint.name, f"is in no route table of {subnet.name}: its nodes reach S3 through NAT, by the GB"
