"""Rules about what AWS refuses or lets everybody do: addresses, keys of disks, trust, buckets, logs, budgets."""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, ip_network
from typing import Any

from policy.documents import ROLE, as_list, statements
from policy.graph import UNKNOWN, Graph, Resource
from policy.keeping import BUCKET, KEY, principals
from policy.network import SUBNET, subnets_of
from policy.pools import TEMPLATE, Pool, pools
from policy.reach import CLUSTER
from policy.references import behind, target
from policy.rule import Finding, rule

VPC = "aws:ec2/vpc:Vpc"
MORE_RANGES = "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation"
KEPT_OF_SUBNET = 5
"""Addresses of each subnet that AWS keeps: network, router, DNS, one for later, broadcast."""

LOG_DAYS = (0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653)
"""Days that CloudWatch keeps a log for; 0 is for ever."""


def _range(value: Any) -> IPv4Network | None:
    try:
        found = ip_network(str(value), strict=False)
    except ValueError:
        return None
    return found if isinstance(found, IPv4Network) else None


@rule(
    source="VPC guide: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html (InvalidSubnet.Range, "
    "InvalidSubnet.Conflict, five addresses kept); EKS API: KubernetesNetworkConfigRequest.serviceIpv4Cidr",
    remedy="ranges within the VPC's that share no address; Services in a private range of /12 to /24 outside the VPC",
)
def ranges_do_not_overlap(graph: Graph) -> Iterator[Finding]:
    """Subnets lie within their VPC and share no address, and neither does the range of Services (NW01)."""
    seen: dict[str, list[tuple[IPv4Network, str]]] = {}
    for subnet in graph.of_type(SUBNET):
        vpc, own = target(graph, subnet, "vpcId", VPC), _range(subnet.inputs.get("cidrBlock"))
        if vpc is None or own is None:
            continue
        others = seen.setdefault(vpc.urn, [])
        if clash := next((name for each, name in others if each.overlaps(own)), None):
            yield subnet.name, f"has {own}, which shares addresses with {clash}"
        others.append((own, subnet.name))
        ranges = _ranges(graph, vpc)
        if ranges and not any(own.subnet_of(each) for each in ranges):
            yield subnet.name, f"has {own}, which lies outside of {', '.join(map(str, ranges))} of its VPC"
    for cluster in graph.of_type(CLUSTER):
        services = _range((cluster.inputs.get("kubernetesNetworkConfig") or {}).get("serviceIpv4Cidr"))
        for vpc in graph.of_type(VPC) if services else ():
            if services and any(services.overlaps(each) for each in _ranges(graph, vpc)):
                yield cluster.name, f"gives Services {services}, which shares addresses with {vpc.name}"
        if services and not (services.is_private and 12 <= services.prefixlen <= 24):
            yield cluster.name, f"gives Services {services}; EKS takes private ranges of /12 to /24"


def _ranges(graph: Graph, vpc: Resource) -> list[IPv4Network]:
    """All ranges of a VPC; none where one of them is not known yet."""
    more = [each for each in graph.of_type(MORE_RANGES) if target(graph, each, "vpcId", VPC) in (vpc, None)]
    found = [_range(each.inputs.get("cidrBlock")) for each in (vpc, *more)]
    return [each for each in found if each] if all(found) else []


@rule(
    source="EC2 guide: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html (EFA with ENA has an address, "
    "EFA-only has none); CreateNodegroup: Ec2SubnetInsufficientFreeAddresses",
    remedy="subnets with an address for each interface of each node, and five more that AWS keeps",
)
def subnets_hold_their_nodes(graph: Graph) -> Iterator[Finding]:
    """A node group's subnets have an address for every interface of its nodes."""
    needed: dict[str, int] = {}
    for pool in pools(graph):
        subnets = subnets_of(graph, pool.group)
        if len(subnets) == 1:
            needed[subnets[0].urn] = needed.get(subnets[0].urn, 0) + _nodes(pool) * _addresses(pool)
    for subnet in graph.of_type(SUBNET):
        own = _range(subnet.inputs.get("cidrBlock"))
        room = own.num_addresses - KEPT_OF_SUBNET if own else 0
        if own and needed.get(subnet.urn, 0) > room:
            yield subnet.name, f"has {room:,} addresses for nodes whose interfaces take {needed[subnet.urn]:,}"


def _nodes(pool: Pool) -> int:
    size = (pool.group.inputs.get("scalingConfig") or {}).get("maxSize")
    return size if isinstance(size, int) else 1


def _addresses(pool: Pool) -> int:
    listed = pool.settings.get("networkInterfaces") or [{}]
    return sum(each.get("interfaceType") != "efa-only" for each in listed if isinstance(each, Mapping))


@rule(
    source="EC2 Auto Scaling guide: https://docs.aws.amazon.com/autoscaling/ec2/userguide/"
    "key-policy-requirements-EBS-encryption.html: Client.InternalError, Client error on launch",
    remedy="in the key's policy, statements for .../AWSServiceRoleForAutoScaling (kms:CreateGrant among them), or the "
    "template's disks with EBS' own key: leave kmsKeyId out",
)
def keys_of_disks_let_nodes_start(graph: Graph) -> Iterator[Finding]:
    """The key of a template's disks lets EC2 Auto Scaling use it: else no node of the group starts."""
    for template in graph.of_type(TEMPLATE):
        for each in as_list(template.inputs.get("blockDeviceMappings")):
            named = (each.get("ebs") or {}).get("kmsKeyId") if isinstance(each, Mapping) else None
            for key in behind(graph, template, "blockDeviceMappings", named, KEY) if named else ():
                document = key.inputs.get("policy")
                given = [] if document in (None, UNKNOWN) else statements(document)
                if document != UNKNOWN and not any("AWSServiceRoleForAutoScaling" in str(one) for one in given):
                    yield template.name, f"encrypts a disk with {key.name}, which EC2 Auto Scaling may not use"


@rule(
    source="IAM guide: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html: "
    "a principal * without a condition is everybody, of any account",
    remedy="name the service or the ARN that takes the role, or reads the bucket",
)
def nobody_is_everybody(graph: Graph) -> Iterator[Finding]:
    """No role is trusted to, no bucket is open to, and no bucket is closed to everybody without a condition (Y10)."""
    for role in graph.of_type(ROLE):
        if any(_of_everybody(one, "Allow") for one in _statements(role.inputs.get("assumeRolePolicy"))):
            yield role.name, "can be taken by everybody, of any account"
    for policy in graph.of_type("aws:s3/bucketPolicy:BucketPolicy"):
        for one in _statements(policy.inputs.get("policy")):
            if _of_everybody(one, "Allow"):
                yield policy.name, "lets everybody in, which S3's block of public access refuses (AccessDenied)"
                continue
            whole = any("/" not in str(each) for each in as_list(one.get("Resource")))
            if whole and _of_everybody(one, "Deny") and {"s3:*", "*"} & set(map(str, as_list(one.get("Action")))):
                yield policy.name, "denies everything to everybody: only the account's root user can take it back"


def _statements(document: Any) -> list[Mapping[str, Any]]:
    return [] if document in (None, UNKNOWN) else list(statements(document))


def _of_everybody(statement: Mapping[str, Any], effect: str) -> bool:
    everybody = "*" in principals(statement, "AWS")
    return everybody and statement.get("Effect") == effect and not statement.get("Condition")


@rule(
    source="S3 guide: https://docs.aws.amazon.com/AmazonS3/latest/userguide/Versioning.html; CloudWatch Logs API: "
    "PutRetentionPolicy, retentionInDays; AWS Budgets API: Notification with 1 to 11 subscribers; Cost Explorer: "
    "TagKeyValue is user:KEY$VALUE or aws:KEY$VALUE",
    remedy="status: Enabled; a number of days that CloudWatch has; an address or a topic; user:KEY$VALUE",
)
def records_are_kept_and_told(graph: Graph) -> Iterator[Finding]:
    """A protected bucket keeps old versions, logs are kept as long as CloudWatch can, and budgets tell somebody."""
    for each in graph.of_type(
        "aws:s3/bucketVersioning:BucketVersioning", "aws:s3/bucketVersioningV2:BucketVersioningV2"
    ):
        kept = [one for one in behind(graph, each, "bucket", each.inputs.get("bucket"), BUCKET) if one.protect]
        status = (each.inputs.get("versioningConfiguration") or {}).get("status")
        if kept and status not in ("Enabled", UNKNOWN):
            yield each.name, f"has versioning {status} for {kept[0].name}: what is overwritten is lost"
    for each in graph.of_type("aws:cloudwatch/logGroup:LogGroup"):
        if (days := each.inputs.get("retentionInDays", 0)) not in (*LOG_DAYS, UNKNOWN):
            yield each.name, f"keeps its log {days} days, which CloudWatch refuses"
    for each in graph.of_type("aws:budgets/budget:Budget"):
        for one in as_list(each.inputs.get("notifications")):
            told = (
                [one.get(key) for key in ("subscriberEmailAddresses", "subscriberSnsTopicArns")]
                if one != UNKNOWN
                else [1]
            )
            if not any(told):
                yield each.name, f"tells nobody at {one.get('threshold')} {one.get('thresholdType')}: it is refused"
        for one in as_list(each.inputs.get("costFilters")):
            for value in as_list(one.get("values")) if one != UNKNOWN and one.get("name") == "TagKeyValue" else ():
                if value != UNKNOWN and not (str(value).startswith(("user:", "aws:")) and "$" in str(value)):
                    yield each.name, f"counts costs with the tag {value}, which no cost has"
