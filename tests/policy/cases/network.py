"""Groups, routes and endpoints that are closed, lead nowhere, or are open in another way than the shipped stacks'."""

from tests.graph.changes import MISSING, Change, both, gone, put, registered
from tests.policy.cases.case import Case

TEMPLATE = "pool-training-template"
GROUP = "networkInterfaces.{}.securityGroups"
EFA = "efa_open_to_itself"
LUSTRE = "lustre_reaches_its_nodes"
VPC = "10.64.0.0/16"
ALL_OF_LUSTRE = [
    f"lustre-group-{side}-{ports}-{way}"
    for side in ("self", "nodes")
    for ports in ("lnet", "callbacks")
    for way in ("in", "out")
]
OLDER = "aws:ec2/securityGroupRule:SecurityGroupRule"
EFA_ID = "sg-287ae12fb89a5659a"


def older(way: str) -> Change:
    """The EFA group's rule of one way as the older type of resource."""
    inputs = {"type": way, "protocol": "-1", "self": True, "securityGroupId": EFA_ID, "fromPort": 0, "toPort": 0}
    return registered(f"older-{way}", OLDER, **inputs)


def inline(key: str) -> Change:
    """The EFA group's rule of one way as a part of the group."""
    return put("efa-group", key, [{"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True}])


def by_range(range_: str) -> Change:
    """The file system's group open to a range of addresses, in and out, and no other rule of it."""
    rule = {"protocol": "tcp", "fromPort": 900, "toPort": 1100, "cidrBlocks": [range_]}
    return both(
        gone(*ALL_OF_LUSTRE), put("lustre-group-group", "ingress", [rule]), put("lustre-group-group", "egress", [rule])
    )


def routed_inline(range_: str) -> Change:
    """The private route table with its route as a part of it."""
    route = {"cidrBlock": range_, "natGatewayId": "nat-0"}
    return both(gone("network-private-default-route"), put("network-private-routes", "routes", [route]))


GROUPS = [
    Case(EFA, gone("efa-self-out"), "none of which allows all traffic out to itself"),
    Case(EFA, gone("efa-self-in"), "none of which allows all traffic in from itself"),
    Case(EFA, put("efa-self-out", "ipProtocol", "tcp"), "out to itself"),
    Case(EFA, put("efa-self-in", "referencedSecurityGroupId", "sg-0"), "in from itself"),
    Case(EFA, put("efa-self-in", "securityGroupId", "sg-0"), "in from itself"),
    Case(
        EFA,
        both(put("efa-self-out", "referencedSecurityGroupId", MISSING), put("efa-self-out", "cidrIpv4", "0.0.0.0/0")),
        "out to itself",
    ),
    Case(EFA, put(TEMPLATE, GROUP.format(7), ["sg-0"]), "share no group"),
    Case(EFA, put(TEMPLATE, GROUP.format(7), ["sg-8f08a5de3b586cb1e"]), "share cluster-control-plane", preview=False),
    Case(EFA, both(gone("efa-self-out", "efa-self-in"), older("ingress"), older("egress")), None, preview=False),
    Case(EFA, both(gone("efa-self-out", "efa-self-in"), older("ingress")), "out to itself", preview=False),
    Case(EFA, both(gone("efa-self-out", "efa-self-in"), inline("ingress"), inline("egress")), None),
    Case(EFA, both(gone("efa-self-out", "efa-self-in"), inline("egress")), "in from itself"),
]
PORTS = [
    Case(LUSTRE, gone("lustre-group-nodes-lnet-in"), "TCP 988 from pool-training-template to the file servers"),
    Case(
        LUSTRE, gone("lustre-group-nodes-callbacks-out"), "TCP 1018-1023 from a file server to pool-training-template"
    ),
    Case(LUSTRE, gone("lustre-group-to-nodes-callbacks-in"), "is not allowed into the other"),
    Case(LUSTRE, gone("lustre-group-self-lnet-out"), "TCP 988 from lustre-file-system to the file servers"),
    Case(LUSTRE, put("lustre-group-nodes-callbacks-in", "fromPort", 1021), "TCP 1018-1023"),
    Case(LUSTRE, put("lustre-group-nodes-lnet-in", "ipProtocol", "udp"), "TCP 988"),
    Case(LUSTRE, put("lustre-file-system", "securityGroupIds", ["sg-0"]), "to the file servers"),
    Case(LUSTRE, put("lustre-file-system", "securityGroupIds", ["sg-8f08a5de3b586cb1e"]), None, preview=False),
    Case(LUSTRE, by_range(VPC), None),
    Case(LUSTRE, by_range("10.0.0.0/16"), "TCP 988"),
    Case(LUSTRE, put("lustre-file-system", "efaEnabled", True), "allows all traffic from and"),
]
ROUTES = [
    Case("nodes_reach_out", gone("network-private-default-route"), "no outbound route"),
    Case(
        "nodes_reach_out",
        put("network-private-default-route", "destinationCidrBlock", "10.0.0.0/8"),
        "no outbound route",
    ),
    Case("nodes_reach_out", routed_inline("0.0.0.0/0"), None),
    Case("nodes_reach_out", routed_inline("10.0.0.0/8"), "no outbound route"),
    Case("nodes_reach_out", gone("network-subnet-gpu-use2-az1-routes"), "no outbound route"),
    Case("nodes_reach_out", put("network-subnet-gpu-use2-az1-routes", "subnetId", "subnet-0"), "no outbound route"),
    Case("nodes_reach_out", gone("network-public-default-route"), "without a route to an internet gateway"),
    Case("nodes_reach_out", put("network-nat", "subnetId", "subnet-e06377e252e19d046"), "without a route to an", False),
    Case(
        "nodes_reach_out",
        both(
            put("network-private-default-route", "natGatewayId", MISSING),
            put("network-private-default-route", "gatewayId", "igw-41e8ab837dcdb7bae"),
        ),
        "public addresses only",
        preview=False,
    ),
    Case(
        "nodes_reach_out",
        both(gone("network-private-default-route"), put("network-s3", "vpcEndpointType", "Interface")),
        None,
    ),
]
ENDPOINT = "vpcConfig.endpoint{}Access"
CONTROL_PLANE = "cluster-control-plane"
REACHED = [
    Case("cluster_is_reached_by_its_nodes", put(CONTROL_PLANE, ENDPOINT.format("Private"), False), "switched off"),
    Case(
        "cluster_is_reached_by_its_nodes",
        both(
            put(CONTROL_PLANE, ENDPOINT.format("Private"), False),
            put(CONTROL_PLANE, ENDPOINT.format("Public"), True),
            put(CONTROL_PLANE, "vpcConfig.publicAccessCidrs", ["198.18.0.0/24"]),
        ),
        "which leaves out its own nodes",
    ),
    Case(
        "cluster_is_reached_by_its_nodes",
        put(CONTROL_PLANE, "vpcConfig.subnetIds", ["subnet-ab52c47d8b7063740"]),
        "EKS needs two zones",
        preview=False,
    ),
    Case("cluster_is_reached_by_its_nodes", put(CONTROL_PLANE, ENDPOINT.format("Public"), True), None),
]

CASES = [*GROUPS, *PORTS, *ROUTES, *REACHED]
