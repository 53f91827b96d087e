"""A VPC that somebody else made: that it is what the stack file says, and leads where nodes have to ask."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from doctor.account import AbsentError, Account
from doctor.case import Case
from doctor.results import Result, Status, judged
from planner.types import Subnet

CHECK = "network"
_ANYWHERE = "0.0.0.0/0"
_FILE = "gpucluster:platform.network.existing"
Wrong = tuple[Status, str, str]


def existing(case: Case, account: Account) -> Iterable[Result]:
    """The VPC, each of its subnets, and the endpoints in it. A stack with a VPC of its own has nothing to ask."""
    vpc_id = case.plan.vpc.existing
    if vpc_id is None:
        return
    try:
        (told,) = account.every("ec2", "DescribeVpcs", "Vpcs", VpcIds=[vpc_id])
    except AbsentError:
        remedy = f"name one of this account and region in {_FILE}.vpcId"
        sentence = f"the account has no such VPC in {case.region}"
        yield Result(check=CHECK, status=Status.FAIL, subject=vpc_id, sentence=sentence, remedy=remedy)
        return
    yield judged(CHECK, vpc_id, "stands, with names by DNS", list(_of_vpc(case, account, told)))
    inside = [{"Name": "vpc-id", "Values": [vpc_id]}]
    endpoints = account.every("ec2", "DescribeVpcEndpoints", "VpcEndpoints", Filters=inside)
    tables = account.every("ec2", "DescribeRouteTables", "RouteTables", Filters=inside)
    found = {each["SubnetId"]: each for each in account.every("ec2", "DescribeSubnets", "Subnets", Filters=inside)}
    for identity, places in _places(case).items():
        fine = f"{places[0].cidr} in {places[0].zone_id}, as {' and '.join(each.role for each in places)}"
        if identity not in found:
            wrong = [(Status.FAIL, f"{vpc_id} has no such subnet", f"correct its id in {_FILE}.subnets")]
        else:
            wrong = [*_of_subnet(found[identity], places), *_routes(case, tables, endpoints, identity, places)]
        yield judged(CHECK, identity, fine, wrong)
    yield from _services(case, endpoints)


def _places(case: Case) -> dict[str, list[Subnet]]:
    """Each subnet once, with the roles that it plays."""
    places: dict[str, list[Subnet]] = {}
    for subnet in case.plan.subnets:
        places.setdefault(str(subnet.existing), []).append(subnet)
    return places


def _of_vpc(case: Case, account: Account, told: Mapping[str, Any]) -> Iterator[Wrong]:
    """EKS user guide, network requirements: the VPC answers names, and gives instances theirs."""
    ranges = [each["CidrBlock"] for each in told.get("CidrBlockAssociationSet", ())] or [told["CidrBlock"]]
    planned = case.settings.platform.vpc_cidr
    if planned not in ranges:
        sentence = f"its range is {', '.join(ranges)}, and {planned} stands in the stack file"
        yield Status.FAIL, sentence, "correct gpucluster:platform.vpcCidr"
    for key, attribute in (("EnableDnsSupport", "enableDnsSupport"), ("EnableDnsHostnames", "enableDnsHostnames")):
        answer = account.get("ec2", "DescribeVpcAttribute", VpcId=told["VpcId"], Attribute=attribute)
        if not answer[key]["Value"]:
            ask = key[0].lower() + key[1:]
            remedy = (
                f"have its owner turn it on (aws ec2 modify-vpc-attribute --vpc-id {told['VpcId']} --{_words(ask)})"
            )
            yield Status.FAIL, f"{ask} is off, and nodes would not find their cluster", remedy


def _words(camel: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in camel)


def _of_subnet(told: Mapping[str, Any], places: list[Subnet]) -> Iterator[Wrong]:
    """Where it is, its range, and whether what the plan puts there has room beside what others have in it."""
    planned, free = places[0], told["AvailableIpAddressCount"]
    for what, found, wanted in (
        ("zone", told.get("AvailabilityZoneId"), planned.zone_id),
        ("range", told["CidrBlock"], planned.cidr),
    ):
        if found != wanted:
            sentence = f"its {what} is {found}, and {wanted} stands in the stack file"
            yield Status.FAIL, sentence, f"correct it in {_FILE}.subnets"
    needed = sum(each.needed for each in places)
    if free < needed:
        sentence = f"{free:,} addresses are free, and the plan needs up to {needed:,}, existing nodes included"
        yield Status.WARN, sentence, "have addresses freed before the first deployment, or name a larger subnet"


def _routes(
    case: Case,
    tables: list[Mapping[str, Any]],
    endpoints: list[Mapping[str, Any]],
    identity: str,
    places: list[Subnet],
) -> Iterator[Wrong]:
    """A way out where the stack file says that there is one, and the way to S3."""
    table = _table(tables, identity)
    routes = table.get("Routes", ())
    ways: list[Mapping[str, Any]] = [each for each in routes if each.get("DestinationCidrBlock") == _ANYWHERE]
    way = ways[0] if ways else {}
    target = str(next((way[key] for key in ("NatGatewayId", "TransitGatewayId", "GatewayId") if way.get(key)), ""))
    to_internet, roles = target.startswith("igw-"), {each.role for each in places}
    if "public" in roles and not to_internet:
        yield Status.FAIL, "no internet gateway is in its routes, as a public subnet has", "name a subnet that has one"
    if not roles - {"public"}:
        return
    if case.plan.vpc.leads_out and (not way or way.get("State") == "blackhole" or to_internet):
        lacking = "only an internet gateway, which nodes without public addresses cannot use" if to_internet else "none"
        remedy = f"have a route to a NAT or transit gateway added, or say {_FILE}.leadsOut: false"
        yield Status.FAIL, f"of ways to the Internet its routes have {lacking}", remedy
    gateways = [each for each in endpoints if each["VpcEndpointType"] == "Gateway"]
    if not any(
        each["ServiceName"].endswith(".s3") and table.get("RouteTableId") in each.get("RouteTableIds", ())
        for each in gateways
    ):
        remedy = "have a gateway endpoint of S3 added to its route table: it costs nothing"
        out = case.plan.vpc.leads_out
        cost = "so weights and checkpoints are paid for at the NAT gateway" if out else "so S3 is not reached"
        yield Status.WARN if out else Status.FAIL, f"its routes do not lead to S3 inside, {cost}", remedy


def _table(tables: list[Mapping[str, Any]], identity: str) -> Mapping[str, Any]:
    """The subnet's own route table, or the VPC's main one (VPC user guide, "Subnet route tables")."""
    main: Mapping[str, Any] = {}
    for table in tables:
        for each in table.get("Associations", ()):
            if each.get("SubnetId") == identity:
                return table
            main = table if each.get("Main") else main
    return main


def _services(case: Case, endpoints: list[Mapping[str, Any]]) -> Iterator[Result]:
    """Endpoints that the file counts on are there; those that the stack makes are not there already."""
    by_service: dict[str, Mapping[str, Any]] = {}
    for each in endpoints:
        if each["VpcEndpointType"] == "Interface" and each.get("PrivateDnsEnabled") and not case.own(each.get("Tags")):
            by_service[each["ServiceName"].removeprefix(f"com.amazonaws.{case.region}.")] = each
    for service in case.plan.vpc.endpoints_there:
        wrong = []
        if service not in by_service:
            sentence = "the VPC has no endpoint of it that answers its own name"
            wrong = [(Status.FAIL, sentence, f"move {service} to gpucluster:platform.network.endpoints")]
        yield judged(CHECK, service, "has an endpoint in the VPC", wrong)
    for service in case.plan.vpc.endpoints:
        if service in by_service:
            sentence = f"the VPC has {by_service[service]['VpcEndpointId']} of it, and a second of its name is refused"
            wrong = [(Status.FAIL, sentence, f"move {service} to {_FILE}.endpoints")]
            yield judged(CHECK, service, "", wrong)
