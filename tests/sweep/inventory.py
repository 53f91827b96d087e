"""An account in memory with everything that a sweep asks about, of several stacks, and beside it what is nobody's.

Each request and each answer is held against botocore's own model of the service, so that a stand-in cannot answer a
question that AWS would refuse, nor with a word that AWS does not have. Filters select as the API references say.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from tests.sweep.conftest import listed

Thing = dict[str, Any]
_FILTERS: Mapping[str, Callable[[Thing], set[str]]] = {
    "tag-key": lambda it: {each["Key"] for each in it.get("Tags") or it.get("TagSet") or ()},
    "instance-state-name": lambda it: {it["State"]["Name"]},
    "instance-id": lambda it: {it["InstanceId"]},
    "status": lambda it: {it["Status"]},
    "state": lambda it: {it["State"]},
    "ip-permission.group-id": lambda it: _named(it, "IpPermissions"),
    "egress.ip-permission.group-id": lambda it: _named(it, "IpPermissionsEgress"),
}
"""What each filter looks at, besides `tag:KEY` (EC2 API reference, the filters of the Describe calls)."""
_LISTS = {
    "ec2 describe_instances": "Instances",
    "ec2 describe_volumes": "Volumes",
    "ec2 describe_capacity_reservations": "CapacityReservations",
    "ec2 describe_nat_gateways": "NatGateways",
    "ec2 describe_vpc_endpoints": "VpcEndpoints",
    "ec2 describe_addresses": "Addresses",
    "ec2 describe_security_groups": "SecurityGroups",
    "ec2 describe_network_interfaces": "NetworkInterfaces",
    "fsx describe_file_systems": "FileSystems",
    "efs describe_file_systems": "FileSystems",
    "elbv2 describe_load_balancers": "LoadBalancers",
    "elb describe_load_balancers": "LoadBalancerDescriptions",
    "logs describe_log_groups": "logGroups",
    "s3 list_buckets": "Buckets",
    "secretsmanager list_secrets": "SecretList",
}
TOLD_APART = frozenset({"BalancerTags", "GroupTags"})
"""Tags that the listing leaves out, and a call of its own tells; in their place the code of its refusal."""
_DELETES = {
    "eks delete_nodegroup": ("eks list_nodegroups", "nodegroupName"),
    "eks delete_cluster": ("eks list_clusters", "name"),
    "ec2 terminate_instances": ("ec2 describe_instances", "InstanceId"),
    "ec2 delete_volume": ("ec2 describe_volumes", "VolumeId"),
    "ec2 cancel_capacity_reservation": ("ec2 describe_capacity_reservations", "CapacityReservationId"),
    "ec2 delete_nat_gateway": ("ec2 describe_nat_gateways", "NatGatewayId"),
    "ec2 delete_vpc_endpoints": ("ec2 describe_vpc_endpoints", "VpcEndpointId"),
    "ec2 release_address": ("ec2 describe_addresses", "AllocationId"),
    "ec2 delete_security_group": ("ec2 describe_security_groups", "GroupId"),
    "ec2 delete_network_interface": ("ec2 describe_network_interfaces", "NetworkInterfaceId"),
    "fsx delete_file_system": ("fsx describe_file_systems", "FileSystemId"),
    "elbv2 delete_load_balancer": ("elbv2 describe_load_balancers", "LoadBalancerArn"),
    "logs delete_log_group": ("logs describe_log_groups", "logGroupName"),
    "elb delete_load_balancer": ("elb describe_load_balancers", "LoadBalancerName"),
}
"""By operation: of which list it takes away, and by which key."""
PER_PAGE, PER_DESCRIBED_TAGS = 2, 20


class Inventory:
    """`things` by the operation that lists them, `values` of parameters by their names, `done` what was asked to be
    changed, `told` what was published, `asked` all operations by service and by AWS' own name.

    A page holds two things, so that whoever reads one page only misses most.
    """

    region = "us-east-2"

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self.things: dict[str, list[Thing]] = {each: [] for each in (*_LISTS, "eks list_clusters")}
        self.things["eks list_nodegroups"] = []
        self.values = dict(values or {})
        self.regions = ["us-east-2"]
        self.done: list[str] = []
        self.told: list[tuple[str, str, str]] = []
        self.asked: set[tuple[str, str]] = set()

    def pages(self, service: str, operation: str, **request: Any) -> Iterator[Mapping[str, Any]]:
        """All pages. Raises ValueError for what AWS does not answer in pages."""
        _paginator(service).get_paginator(_shape(service, operation).name)
        self._ask(service, operation, request)
        found = self._selected(f"{service} {operation}", request)
        for begin in range(0, max(len(found), 1), PER_PAGE):
            answer = self._listed(f"{service} {operation}", found[begin : begin + PER_PAGE])
            _hold(service, operation, answer, into=False)
            yield answer

    def call(self, service: str, operation: str, **request: Any) -> Mapping[str, Any]:
        """One answer."""
        self._ask(service, operation, request)
        answer = self._answer(f"{service} {operation}", request)
        _hold(service, operation, answer, into=False)
        return answer

    def _ask(self, service: str, operation: str, request: Mapping[str, Any]) -> None:
        self.asked.add((service, _shape(service, operation).name))
        _hold(service, operation, request, into=True)

    def _selected(self, name: str, request: Mapping[str, Any]) -> list[Thing]:
        found = self.things[name]
        if "clusterName" in request:
            found = [each for each in found if each["clusterName"] == request["clusterName"]]
        if "logGroupNamePrefix" in request:
            found = [each for each in found if each["logGroupName"].startswith(request["logGroupNamePrefix"])]
        if "BucketRegion" in request:
            found = [each for each in found if each["BucketRegion"] == request["BucketRegion"]]
        for each in request.get("Filters") or request.get("Filter") or ():
            assert 0 < len(each["Values"]) <= 200, "a filter has 200 values at most"
            found = [thing for thing in found if _seen(thing, each.get("Name") or each["Key"]) & {*each["Values"]}]
        return found

    def _listed(self, name: str, things: list[Thing]) -> Mapping[str, Any]:
        if name == "eks list_clusters":
            return {"clusters": [each["name"] for each in things]}
        if name == "eks list_nodegroups":
            return {"nodegroups": [each["nodegroupName"] for each in things]}
        shown = [{key: value for key, value in each.items() if key not in TOLD_APART} for each in things]
        return {"Reservations": [{_LISTS[name]: shown}]} if name.endswith("instances") else {_LISTS[name]: shown}

    def _answer(self, name: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        match name:
            case "ec2 describe_addresses":
                return self._listed(name, self._selected(name, request))
            case "eks describe_cluster":
                found = [each for each in self.things["eks list_clusters"] if each["name"] == request["name"]]
                if not found:
                    code = {"Code": "ResourceNotFoundException", "Message": "No cluster found"}
                    raise ClientError({"Error": code}, "DescribeCluster")
                return {"cluster": found[0]}
            case "eks describe_nodegroup":
                groups = self._selected("eks list_nodegroups", request)
                (group,) = [each for each in groups if each["nodegroupName"] == request["nodegroupName"]]
                return {"nodegroup": group}
            case "elbv2 describe_tags" | "elb describe_tags":
                return self._tags_of(name.replace("tags", "load_balancers"), request)
            case "sts get_caller_identity":
                return {"Account": "123456789012"}
            case "ec2 describe_regions":
                return {"Regions": [{"RegionName": each} for each in self.regions]}
            case "s3 get_bucket_tagging":
                return self._bucket_tags(request["Bucket"])
            case "logs list_tags_for_resource":
                groups = self.things["logs describe_log_groups"]
                (group,) = [each for each in groups if each["arn"] == f"{request['resourceArn']}:*"]
                return {"tags": group.get("GroupTags", {})}
            case "ec2 describe_capacity_reservations":
                ids = request["CapacityReservationIds"]
                held = [each for each in self.things[name] if each["CapacityReservationId"] in ids]
                if not held:
                    code = {"Code": "InvalidCapacityReservationId.NotFound", "Message": "none"}
                    raise ClientError({"Error": code}, "DescribeCapacityReservations")
                return self._listed(name, held)
            case "ssm get_parameter":
                if request["Name"] not in self.values:
                    raise ClientError({"Error": {"Code": "ParameterNotFound", "Message": "none"}}, "GetParameter")
                return {"Parameter": {"Name": request["Name"], "Value": self.values[request["Name"]]}}
            case "ssm put_parameter":
                assert request["Name"] in self.values
                assert request["Overwrite"] is True
                self.values[request["Name"]] = request["Value"]
                self.done.append(f"{name} {request['Name']}")
                return {}
            case "sns publish":
                self.told.append((request["TopicArn"], request["Subject"], request["Message"]))
                return {}
            case "eks update_nodegroup_config":
                return self._updated(request)
        return self._changed(name, request)

    def _bucket_tags(self, name: str) -> Mapping[str, Any]:
        (bucket,) = [each for each in self.things["s3 list_buckets"] if each["Name"] == name]
        tags = bucket.get("GroupTags", "NoSuchTagSet")
        if isinstance(tags, str):
            raise ClientError({"Error": {"Code": tags, "Message": "none"}}, "GetBucketTagging")
        return {"TagSet": listed(tags)}

    def _updated(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """EKS asks for no more than the most (UpdateNodegroupConfig, desiredSize)."""
        groups = self._selected("eks list_nodegroups", request)
        (group,) = [each for each in groups if each["nodegroupName"] == request["nodegroupName"]]
        scaling = group["scalingConfig"] | request.get("scalingConfig", {})
        assert scaling["minSize"] <= scaling["desiredSize"] <= scaling["maxSize"]
        change = request.get("taints", {})
        kept = [each for each in group["taints"] if each not in change.get("removeTaints", ())]
        group |= {"scalingConfig": scaling, "taints": [*kept, *change.get("addOrUpdateTaints", ())]}
        sizes = "/".join(str(scaling[each]) for each in ("minSize", "desiredSize", "maxSize"))
        self.done.append(f"{group['nodegroupName']} is {sizes}{' and ends pods' * bool(group['taints'])}")
        return {}

    def _tags_of(self, name: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        ((key, names),) = request.items()
        key = key.removesuffix("s").replace("Resource", "LoadBalancer")
        assert 0 < len(names) <= PER_DESCRIBED_TAGS
        told = "ResourceArn" if name.startswith("elbv2") else key
        known = {each[key]: each["BalancerTags"] for each in self.things[name]}
        return {"TagDescriptions": [{told: each, "Tags": listed(known[each])} for each in names]}

    def _changed(self, name: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        if name.startswith("ec2 revoke_security_group_"):
            key = "IpPermissions" if name.endswith("ingress") else "IpPermissionsEgress"
            (group,) = [it for it in self.things["ec2 describe_security_groups"] if it["GroupId"] == request["GroupId"]]
            for rule in request["IpPermissions"]:
                group[key].remove(rule)
            self.done.append(f"{name} {request['GroupId']}")
            return {"Return": True}
        where, key = _DELETES[name]
        wanted = request.get(key) or request[f"{key}s"]
        ids = [wanted] if isinstance(wanted, str) else wanted
        self.done += [f"{name} {each}" for each in ids]
        self._refuse(name, ids[0])
        gone = [each for each in self.things[where] if each.get(key, each.get("name")) in ids]
        gone = [each for each in gone if request.get("clusterName") in (None, each.get("clusterName"))]
        assert len(gone) == len(ids), f"there is no {ids}"
        self.things[where] = [each for each in self.things[where] if each not in gone]
        return {}

    def _refuse(self, name: str, id_: str) -> None:
        """What AWS refuses while something else is there (DeleteCluster and DeleteSecurityGroup, API references)."""
        groups = [each for each in self.things["eks list_nodegroups"] if each["clusterName"] == id_]
        if name == "eks delete_cluster" and groups:
            raise ClientError({"Error": {"Code": "ResourceInUseException", "Message": "node groups"}}, "DeleteCluster")
        others = [each for each in self.things["ec2 describe_security_groups"] if each["GroupId"] != id_]
        rules = [_named(each, key) for each in others for key in ("IpPermissions", "IpPermissionsEgress")]
        if name == "ec2 delete_security_group" and any(id_ in each for each in rules):
            raise ClientError({"Error": {"Code": "DependencyViolation", "Message": "rules"}}, "DeleteSecurityGroup")


def _seen(thing: Thing, what: str) -> set[str]:
    if what.startswith("tag:"):
        return {each["Value"] for each in thing.get("Tags", ()) if each["Key"] == what.removeprefix("tag:")}
    return _FILTERS[what](thing)


def _named(group: Thing, rules: str) -> set[str]:
    return {pair["GroupId"] for rule in group.get(rules, ()) for pair in rule.get("UserIdGroupPairs", ())}


@cache
def _service(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


@cache
def _paginator(service: str) -> Any:
    return botocore.session.get_session().get_paginator_model(service)


@cache
def _shape(service: str, operation: str) -> Any:
    model = _service(service)
    (name,) = [each for each in model.operation_names if xform_name(each) == operation]
    return model.operation_model(name)


def _hold(service: str, operation: str, told: Mapping[str, Any], *, into: bool) -> None:
    """Raise AssertionError for words that the service does not know."""
    shape = _shape(service, operation).input_shape if into else _shape(service, operation).output_shape
    if shape is not None:
        report: Any = ParamValidator().validate(told, shape)
        assert not report.has_errors(), f"{service} {operation}: {report.generate_report()}"
