"""What controllers of a cluster made in the account: it carries the cluster's name, and no tag of a stack's.

Load balancers cost by the hour. Security groups and interfaces cost nothing, but hold the network that is to go.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from sweep.things import STACK, Account, Found, Owner, Tags, pairs

CLUSTER_OF_CONTROLLER = "elbv2.k8s.aws/cluster"
"""The tag of what the AWS Load Balancer Controller makes; its value is the cluster's name."""
CLUSTER_OF_CLOUD_PROVIDER = "kubernetes.io/cluster/"
"""How the tag of what the cloud provider makes begins; the cluster's name follows.

Source: cloud-provider-aws pkg/providers/v1/tags.go. For a Service without a class or annotations it makes a Classic
Load Balancer, which elbv2 does not list (EKS user guide, "Route TCP and UDP traffic with Network Load Balancers").
"""
CLUSTER_OF_CNI = "cluster.k8s.amazonaws.com/name"
"""The tag of interfaces that the VPC CNI makes for pods (amazon-vpc-cni-k8s, pkg/awsutils); its value is the name."""
NODE_OF_CNI = "node.k8s.amazonaws.com/instance_id"
"""The tag of such an interface whose value is the instance that it was made for (amazon-vpc-cni-k8s, README)."""
CLUSTERS_OWN = "aws:eks:cluster-name"
"""On the security group that EKS makes for a cluster. It goes with the cluster unless a rule of another group names it,
such as that of the file system's."""
FREE = frozenset({"security group", "interface"})
"""Kinds that cost nothing, and hold the network that is to go."""
_PRICES = {"network": "nlb", "application": "alb"}
"""By Type (API reference of Elastic Load Balancing, LoadBalancer). The third, gateway, no controller makes."""
_MOST = 20
"""The most that either DescribeTags takes."""


def look(account: Account, owners: Mapping[str, Owner], standing: Collection[str] = ()) -> Iterator[Found]:
    """Everything of the clusters that `owners` has by their names, of which some are `standing`."""
    yield from _load_balancers(account, owners)
    yield from _classic(account, owners)
    if owners:
        yield from _security_groups(account, owners, standing)
        yield from interfaces(account, owners)


def _load_balancers(account: Account, owners: Mapping[str, Owner]) -> Iterator[Found]:
    for page in account.pages("elbv2", "describe_load_balancers"):
        made = {each["LoadBalancerArn"]: each for each in page["LoadBalancers"]}
        for arns in _batches(list(made)):
            for each in account.call("elbv2", "describe_tags", ResourceArns=arns)["TagDescriptions"]:
                if owner := owners.get(cluster_in(pairs(each["Tags"]))):
                    arn = each["ResourceArn"]
                    state, price = made[arn]["State"]["Code"], _PRICES.get(made[arn]["Type"], made[arn]["Type"])
                    yield Found(kind="load balancer", id=arn, owner=owner, state=state, price=price)


def _classic(account: Account, owners: Mapping[str, Owner]) -> Iterator[Found]:
    """They have no state, and their name is their id."""
    for page in account.pages("elb", "describe_load_balancers"):
        for names in _batches([each["LoadBalancerName"] for each in page["LoadBalancerDescriptions"]]):
            for each in account.call("elb", "describe_tags", LoadBalancerNames=names)["TagDescriptions"]:
                if owner := owners.get(cluster_in(pairs(each["Tags"]))):
                    name = each["LoadBalancerName"]
                    yield Found(kind="classic load balancer", id=name, owner=owner, state="active", price="clb")


def _security_groups(account: Account, owners: Mapping[str, Owner], standing: Collection[str]) -> Iterator[Found]:
    """Those of load balancers, and EKS' own of a cluster that is gone; the stack's own are in its state."""
    keys = [CLUSTER_OF_CONTROLLER, *(f"{CLUSTER_OF_CLOUD_PROVIDER}{name}" for name in owners)]
    for begin in range(0, len(keys), 200):  # the most values that a filter takes
        filters = [{"Name": "tag-key", "Values": keys[begin : begin + 200]}]
        for page in account.pages("ec2", "describe_security_groups", Filters=filters):
            for each in page["SecurityGroups"]:
                tags = pairs(each.get("Tags", []))
                owner = owners.get(cluster_in(tags))
                if owner and STACK not in tags and tags.get(CLUSTERS_OWN, "") not in standing:
                    yield Found(kind="security group", id=each["GroupId"], owner=owner, state="there")


def interfaces(account: Account, owners: Mapping[str, Owner]) -> Iterator[Found]:
    """Those that no machine has, `within` the instance that each was made for: mostly of nodes that died before the CNI
    could remove them, and for a moment one that a node is about to take.
    """
    filters = [{"Name": "status", "Values": ["available"]}, {"Name": "tag-key", "Values": [CLUSTER_OF_CNI]}]
    for page in account.pages("ec2", "describe_network_interfaces", Filters=filters):
        for each in page["NetworkInterfaces"]:
            tags = pairs(each.get("TagSet", []))
            if owner := owners.get(tags.get(CLUSTER_OF_CNI, "")):
                name, node = each["NetworkInterfaceId"], tags.get(NODE_OF_CNI, "")
                yield Found(kind="interface", id=name, owner=owner, state=each["Status"], within=node)


def release(account: Account, group: str) -> None:
    """Revoke the rules of other groups that name this one, for which EC2 refuses to delete it."""
    for words, rules, operation in (
        ("ip-permission.group-id", "IpPermissions", "revoke_security_group_ingress"),
        ("egress.ip-permission.group-id", "IpPermissionsEgress", "revoke_security_group_egress"),
    ):
        for page in account.pages("ec2", "describe_security_groups", Filters=[{"Name": words, "Values": [group]}]):
            for each in page["SecurityGroups"]:
                named = [
                    {key: rule[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in rule}
                    | {"UserIdGroupPairs": [{"GroupId": group}]}
                    for rule in each.get(rules, ())
                    if group in [pair.get("GroupId") for pair in rule.get("UserIdGroupPairs", ())]
                ]
                if named and each["GroupId"] != group:
                    account.call("ec2", operation, GroupId=each["GroupId"], IpPermissions=named)


def cluster_in(tags: Tags) -> str:
    """The cluster whose controllers made a thing with such tags; empty if they name none."""
    named = (key.removeprefix(CLUSTER_OF_CLOUD_PROVIDER) for key in tags if key.startswith(CLUSTER_OF_CLOUD_PROVIDER))
    return tags.get(CLUSTER_OF_CONTROLLER) or next(named, "")


def _batches(names: list[str]) -> Iterable[list[str]]:
    return (names[begin : begin + _MOST] for begin in range(0, len(names), _MOST))
