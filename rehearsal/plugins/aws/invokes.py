"""Functions: what a program asks AWS without making anything."""

from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.plugins.aws.account import Account
from rehearsal.plugins.servicer import PluginError

Function = Callable[[Account, Mapping[str, Any]], dict[str, Any]]

SUFFIXES = {  # partition -> DNS suffix
    "aws": "amazonaws.com",
    "aws-cn": "amazonaws.com.cn",
    "aws-us-gov": "amazonaws.com",
}


def _caller(account: Account, _: Mapping[str, Any]) -> dict[str, Any]:
    reply = account.call("sts", "get_caller_identity")
    return {"accountId": reply["Account"], "arn": reply["Arn"], "userId": reply["UserId"], "id": reply["Account"]}


def _session_context(account: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The role behind an assumed-role session; any other ARN is its own issuer."""
    arn = arguments["arn"]
    resource = arn.split(":", 5)[-1].split("/")
    if resource[0] != "assumed-role":
        return {"arn": arn, "id": arn, "issuerArn": arn, "issuerId": "", "issuerName": "", "sessionName": ""}
    _, name, session = resource
    role = account.call("iam", "get_role", {"RoleName": name})["Role"]
    return {
        "arn": arn,
        "id": arn,
        "issuerArn": role["Arn"],
        "issuerId": role["RoleId"],
        "issuerName": name,
        "sessionName": session,
    }


def _partition(account: Account, _: Mapping[str, Any]) -> dict[str, Any]:
    suffix = SUFFIXES[account.partition]
    reverse = ".".join(reversed(suffix.split(".")))
    return {"dnsSuffix": suffix, "id": account.partition, "partition": account.partition, "reverseDnsPrefix": reverse}


def _zones(account: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """All zones of the region that fit, in the order of their names."""
    found = _find(account, arguments)
    names, ids = set(arguments.get("excludeNames") or ()), set(arguments.get("excludeZoneIds") or ())
    kept = [zone for zone in found if zone["ZoneName"] not in names and zone["ZoneId"] not in ids]
    kept.sort(key=lambda zone: str(zone["ZoneName"]))
    region = arguments.get("region") or account.region
    return {
        **arguments,
        "groupNames": sorted({zone.get("GroupName", "") for zone in kept}),
        "id": region,
        "names": [zone["ZoneName"] for zone in kept],
        "region": region,
        "zoneIds": [zone["ZoneId"] for zone in kept],
    }


def _zone(account: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The one zone with this name or id; raises PluginError if there is none or more than one."""
    found = _find(account, arguments)
    wanted = arguments.get("name") or arguments.get("zoneId") or "these filters"
    if len(found) != 1:
        raise PluginError(f"{len(found)} availability zones fit {wanted}; exactly one has to")
    zone = found[0]
    region = zone.get("RegionName") or account.region
    return {
        "filters": arguments.get("filters"),
        "groupName": zone.get("GroupName", ""),
        "id": zone["ZoneName"],
        "name": zone["ZoneName"],
        "nameSuffix": zone["ZoneName"].removeprefix(region),
        "networkBorderGroup": zone.get("NetworkBorderGroup", ""),
        "optInStatus": zone.get("OptInStatus", ""),
        "parentZoneId": zone.get("ParentZoneId", ""),
        "parentZoneName": zone.get("ParentZoneName", ""),
        "region": region,
        "state": zone.get("State", ""),
        "zoneId": zone["ZoneId"],
        "zoneType": zone.get("ZoneType", ""),
    }


def _clusters(account: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The names of the region's EKS clusters (terraform-provider-aws, internal/service/eks/clusters_data_source.go)."""
    region = arguments.get("region") or account.region
    pages = account.pages("eks", "list_clusters", {}, region)
    return {"id": region, "region": region, "names": [name for page in pages for name in page["clusters"]]}


def _log_groups(account: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The log groups whose names begin so (terraform-provider-aws, internal/service/logs/groups_data_source.go)."""
    region, prefix = arguments.get("region") or account.region, arguments.get("logGroupNamePrefix")
    wanted = {"logGroupNamePrefix": prefix} if prefix else {}
    pages = account.pages("logs", "describe_log_groups", wanted, region)
    found = [group for page in pages for group in page["logGroups"]]
    return {
        **arguments,
        "id": region,
        "region": region,
        "arns": [str(each["arn"]).removesuffix(":*") for each in found],
        "logGroupNames": [each["logGroupName"] for each in found],
    }


def _parameter(account: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter, or one of its versions (NAME:VERSION). Id and name are without the version, as AWS answers; what a
    SecureString holds is in `value` alone (terraform-provider-aws, internal/service/ssm/parameter_data_source.go).
    """
    name, region = str(arguments["name"]), arguments.get("region") or account.region
    decrypted = arguments.get("withDecryption", True)
    request = {"Name": name, "WithDecryption": decrypted}
    try:
        found = account.call("ssm", "get_parameter", request, region)["Parameter"]
    except PluginError as error:
        raise PluginError(f"reading SSM Parameter ({name}): {error}") from error
    return {
        "id": found["Name"],
        "arn": found["ARN"],
        "name": found["Name"],
        "region": region,
        "type": found["Type"],
        "version": found["Version"],
        "value": found["Value"],
        "insecureValue": None if found["Type"] == "SecureString" else found["Value"],
        "withDecryption": decrypted,
    }


def _find(account: Account, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    filters = [{"Name": each["name"], "Values": each["values"]} for each in arguments.get("filters") or ()]
    if state := arguments.get("state"):
        filters.append({"Name": "state", "Values": [state]})
    request: dict[str, Any] = {"Filters": filters} if filters else {}
    if arguments.get("allAvailabilityZones"):
        request["AllAvailabilityZones"] = True
    for name, member in (("name", "ZoneNames"), ("zoneId", "ZoneIds")):
        if arguments.get(name):
            request[member] = [arguments[name]]
    found: list[dict[str, Any]] = account.call(
        "ec2", "describe_availability_zones", request, arguments.get("region") or ""
    )["AvailabilityZones"]
    return found


INVOKES: dict[str, Function] = {
    "aws:index/getCallerIdentity:getCallerIdentity": _caller,
    "aws:iam/getSessionContext:getSessionContext": _session_context,
    "aws:index/getPartition:getPartition": _partition,
    "aws:eks/getClusters:getClusters": _clusters,
    "aws:cloudwatch/getLogGroups:getLogGroups": _log_groups,
    "aws:ssm/getParameter:getParameter": _parameter,
    "aws:index/getAvailabilityZones:getAvailabilityZones": _zones,
    "aws:index/getAvailabilityZone:getAvailabilityZone": _zone,
}
