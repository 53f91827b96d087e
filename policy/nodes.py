"""Rules about EKS nodes: how they are bought, how they are wired, what they boot and what they bring."""

from collections.abc import Iterator
from itertools import groupby

from policy.graph import UNKNOWN, Graph
from policy.images import boots, joins
from policy.pools import NODE_GROUP, Pool, pools
from policy.rule import Finding, rule

EC2_INTERFACES = "EC2 guide: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
EKS_TEMPLATES = "EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"

RESERVED = ("kubernetes.io", "k8s.io", "eks.amazonaws.com")
"""Ends of prefixes of labels that CreateNodegroup refuses: Label cannot contain reserved prefixes."""

MOST_BEHIND = 3
"""Minor versions that a kubelet may be behind its API server."""


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html; "
    "terraform-aws-eks issue 3661",
    remedy="leave placement out of the template, let capacityType, marketType and reservation id say the same, "
    "and put the group into one subnet, of the block's zone",
)
def blocks_are_bought_whole(graph: Graph) -> Iterator[Finding]:
    """A capacity block has no placement group, one subnet and one reservation, in template and node group alike."""
    for pool in pools(graph):
        if not pool.is_block:
            continue
        market = (pool.settings.get("instanceMarketOptions") or {}).get("marketType")
        if (pool.settings.get("placement") or {}).get("groupName"):
            yield pool.name, "puts a capacity block, which is in an UltraCluster already, into a placement group"
        if market != "capacity-block":
            yield pool.name, f"has the market type {market} although its node group is a CAPACITY_BLOCK"
        if pool.group.inputs.get("capacityType") != "CAPACITY_BLOCK":
            yield pool.group.name, f"has the capacity type {pool.group.inputs.get('capacityType')} for a capacity block"
        if not _reservation(pool):
            yield pool.name, "uses a capacity block but names no reservation"
        if pool.group.inputs.get("instanceTypes"):
            yield pool.group.name, "lists instance types, which EKS refuses for a capacity block"
        if pool.subnets not in (None, 1):
            yield pool.group.name, f"has {pool.subnets} subnets; a block is in one zone"


@rule(
    source="EC2 guide: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html; "
    "EFA is not routed between zones, EC2 guide: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html",
    remedy="one subnet for each node group with EFA, and a placement group of the strategy cluster of its own",
)
def efa_nodes_stand_together(graph: Graph) -> Iterator[Finding]:
    """Nodes with EFA are in one zone, and in one cluster placement group unless they are in a block or reservation.

    Reserved instances are where the reservation was made; a launch into another group does not find them.
    """
    groups = {each.inputs.get("name") or each.name: each for each in graph.of_type(PLACEMENT)}
    for pool in pools(graph):
        named = (pool.settings.get("placement") or {}).get("groupName")
        if named and named != UNKNOWN:
            if named not in groups:
                yield pool.name, f"names the placement group {named}, which nothing creates"
            elif (strategy := groups[named].inputs.get("strategy")) != "cluster":
                yield groups[named].name, f"has the strategy {strategy}; nodes of {pool.group.name} need cluster"
        if not pool.efa:
            continue
        if pool.subnets not in (None, 1):
            yield pool.group.name, f"has EFA and {pool.subnets} subnets; EFA does not cross zones"
        if not named and not pool.is_block and not _reservation(pool) and int(_size(pool)) > 1:
            yield pool.name, "has EFA and no placement group, so its nodes may be far apart"


def _reservation(pool: Pool) -> str | None:
    """The capacity reservation that the nodes are to start in."""
    target = (pool.settings.get("capacityReservationSpecification") or {}).get("capacityReservationTarget")
    found: str | None = (target or {}).get("capacityReservationId")
    return found


def _size(pool: Pool) -> int:
    return int((pool.group.inputs.get("scalingConfig") or {}).get("maxSize") or 0)


@rule(
    source=f"{EC2_INTERFACES}; EC2 API: InstanceNetworkInterfaceSpecification, AssociatePublicIpAddress",
    remedy="card 0, device 0 of type interface, once; EFA on card 0 is device 1, on each other card device 0; no "
    "public address where there are several",
)
def primary_interface(graph: Graph) -> Iterator[Finding]:
    """A node has one interface with an address on card 0 as device 0, and no two in one place (NW10)."""
    for pool in pools(graph):
        interfaces = pool.interfaces(graph)
        places = [(each.card, each.device) for each in interfaces]
        first = [each for each in interfaces if (each.card, each.device) == (0, 0)]
        if interfaces and len(first) != 1:
            yield pool.name, f"has {len(first)} interfaces on card 0 as device 0; a node has exactly one"
        public = [each.get("associatePublicIpAddress") for each in pool.settings.get("networkInterfaces") or []]
        if len(public) > 1 and any(str(each).lower() == "true" for each in public):
            yield pool.name, f"asks for a public address with {len(public)} interfaces, which EC2 refuses to launch"
        if any(each.kind == "efa-only" for each in first):
            yield pool.name, "has an EFA-only interface as its first, which has no address"
        for place, same in groupby(sorted(places)):
            if place != (0, 0) and len(list(same)) > 1:
                yield pool.name, f"has two interfaces on card {place[0]} as device {place[1]}"
        if wrong := sorted({each.device for each in interfaces if each.device > 1}):
            yield pool.name, f"has the device indices {wrong}; a card takes 0 and 1"
        cards = [each.card for each in interfaces if each.is_efa]
        if twice := sorted({card for card in cards if cards.count(card) > 1}):
            yield pool.name, f"has more than one EFA interface on the cards {twice}"


@rule(
    source="EC2 API: DescribeInstanceTypes, EfaInfo and NetworkCards; "
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_NetworkInfo.html",
    remedy="one EFA interface for each card that has EFA",
)
def interfaces_fit_their_type(graph: Graph) -> Iterator[Finding]:
    """Interfaces are on network cards that the instance type has, EFA on those with EFA (NW11)."""
    for pool in pools(graph):
        for instance in pool.instances:
            cards = {each.index: each for each in instance.cards}
            for each in pool.interfaces(graph):
                if each.card not in cards:
                    yield pool.name, f"has an interface on card {each.card}; {instance.type} has {len(cards)} cards"
                elif each.is_efa and not cards[each.card].efa:
                    yield pool.name, f"has EFA on card {each.card}, which {instance.type} has not"
            if pool.efa > instance.efa_max:
                yield pool.name, f"has {pool.efa} EFA interfaces; {instance.type} has {instance.efa_max}"


@rule(
    source=EKS_TEMPLATES,
    remedy="let the template say how an instance is, and the node group where, under which role and how many",
)
def templates_leave_the_rest_to_eks(graph: Graph) -> Iterator[Finding]:
    """A node group's template has no subnet, no profile and no spot market, and one of the two names the type."""
    for pool in pools(graph):
        settings, inputs = pool.settings, pool.group.inputs
        if any(each.get("subnetId") for each in settings.get("networkInterfaces") or []):
            yield pool.name, "names a subnet, which the node group does"
        if settings.get("iamInstanceProfile"):
            yield pool.name, "has an instance profile, which EKS makes from the node group's role"
        if (settings.get("instanceMarketOptions") or {}).get("marketType") == "spot":
            yield pool.name, "buys spot instances by itself; the node group's capacityType does"
        if settings.get("instanceType") and inputs.get("instanceTypes"):
            yield pool.group.name, "lists instance types beside the one of its template"
        if pool.template is None and inputs.get("launchTemplate"):
            yield pool.group.name, "names a launch template that nothing creates"
        if pool.template and (extra := [each for each in ("diskSize", "remoteAccess") if inputs.get(each)]):
            yield pool.group.name, f"says {' and '.join(extra)} beside its template, which EKS refuses"


@rule(
    source=f"{EKS_TEMPLATES}; https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html",
    remedy="add the cluster's own group (vpcConfig.clusterSecurityGroupId) to the groups of each interface",
)
def nodes_are_in_the_clusters_group(graph: Graph) -> Iterator[Finding]:
    """Security groups of a node include the cluster's: EKS adds it only if none is named."""
    for pool in pools(graph):
        if pool.cluster and pool.cluster.urn not in {each.urn for each in pool.groups(graph)}:
            yield pool.name, f"leaves its nodes outside of the group of {pool.cluster.name}, so that they never join"


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-user-data"
    "; EKS API: https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html, amiType",
    remedy="AL2023: MIME with a part application/node.eks.aws that holds a NodeConfig; Bottlerocket: TOML below "
    "[settings]; an image of your own: amiType CUSTOM and imageId, both or none",
)
def ami_takes_user_data(graph: Graph) -> Iterator[Finding]:
    """The user data has the format of the group's AMI, and EKS has that AMI for the architecture and version."""
    for pool in pools(graph):
        custom, image = pool.ami == "CUSTOM", bool(pool.settings.get("imageId"))
        if custom and not image:
            yield pool.name, "names no image although its node group says amiType CUSTOM"
        if image and pool.ami not in ("", "CUSTOM"):
            yield pool.name, f"names an image of its own beside amiType {pool.ami} of its node group"
        if image and pool.user_data is not None and not joins(pool.user_data):
            yield pool.name, "names an image of its own, and its NodeConfig no cluster to join"
        for instance in pool.instances:
            if not custom and pool.ami and ("ARM" in pool.ami) is not (instance.architecture == "arm64"):
                yield pool.group.name, f"boots {pool.ami} on {instance.type}, which is {instance.architecture}"
        if pool.ami.startswith("AL2_") and _minor(pool.group.inputs.get("version")) >= 33:
            yield pool.group.name, f"boots {pool.ami}, which EKS has up to Kubernetes 1.32 only"
        if pool.user_data is not None and (wrong := boots(pool.ami, pool.user_data)):
            yield pool.name, wrong
        if (text := pool.settings.get("userData")) and text != UNKNOWN and pool.user_data == text:
            yield pool.name, "has user data that is not Base64"


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/update-managed-node-group.html; Kubernetes: "
    "https://kubernetes.io/releases/version-skew-policy/",
    remedy="update the cluster first, then its node groups to its version, with an AMI release of that version",
)
def versions_follow_the_cluster(graph: Graph) -> Iterator[Finding]:
    """Nodes are of the cluster's version or up to three older, and their AMI is of their version."""
    for pool in pools(graph):
        own, release = pool.group.inputs.get("version"), str(pool.group.inputs.get("releaseVersion") or "")
        above = pool.cluster.inputs.get("version") if pool.cluster else None
        if _minor(own) and _minor(above) and not 0 <= _minor(above) - _minor(own) <= MOST_BEHIND:
            yield pool.group.name, f"is of {own} in a cluster of {above}"
        own_numbers = pool.ami.startswith("BOTTLEROCKET_")
        if not own_numbers and _minor(own) and release[:2] == "1." and _minor(release) != _minor(own):
            yield pool.group.name, f"is of {own} and boots the AMI release {release}"


def _minor(version: object) -> int:
    minor = str(version or "").partition(".")[2].partition(".")[0]
    return int(minor) if minor.isdigit() else 0


@rule(
    source="EC2 API: DescribeInstanceTypes, SupportedUsageClasses; "
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html",
    remedy="choose a capacityType in which the type is sold; minSize <= desiredSize <= maxSize; labels of a prefix of "
    "your own",
)
def types_are_sold_so(graph: Graph) -> Iterator[Finding]:
    """A node group buys its type as it is sold, and states sizes and labels that EKS takes."""
    for pool in pools(graph):
        bought = str(pool.group.inputs.get("capacityType") or "ON_DEMAND").lower().replace("_", "-")
        for instance in pool.instances:
            if bought not in instance.usage_classes:
                sold = ", ".join(sorted(instance.usage_classes))
                yield pool.group.name, f"buys {instance.type} as {bought}; it is sold as {sold}"
    for group in graph.of_type(NODE_GROUP):
        for key in group.inputs.get("labels") or {}:
            if key.partition("/")[0].endswith(RESERVED) and "/" in key:
                yield group.name, f"gives its nodes the label {key}, whose prefix EKS keeps to itself and refuses"
        scaling = group.inputs.get("scalingConfig") or {}
        least, wanted, most = (scaling.get(key) for key in ("minSize", "desiredSize", "maxSize"))
        numbers = [each for each in (least, wanted, most) if isinstance(each, int)]
        if numbers != sorted(numbers) or most == 0:
            yield group.name, f"has {least} nodes at least, {wanted} now and {most} at most"
