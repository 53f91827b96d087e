"""RunInstances with a launch template applied as EC2 applies it; moto takes a few members and one interface from it.

Sources: EC2 user guide, "Store instance launch parameters in Amazon EC2 launch templates"; Auto Scaling user guide for
the subnet: the interfaces of a template without one are made in the subnet of the request.
"""

from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models.instances import Instance
from moto.ec2.responses import EC2Response
from moto.ec2.utils import parse_user_data

from rehearsal.cloud.account import iam
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2 import launch_rules
from rehearsal.cloud.ec2.capacity import room
from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.ec2.interfaces import require_groups
from rehearsal.cloud.ec2.reservations import check_target
from rehearsal.cloud.ec2.volumes import require_key

AMENDMENTS = Amendments()

_SELECTORS = ("LaunchTemplate", "MinCount", "MaxCount", "ClientToken", "DryRun", "SubnetId", "TagSpecifications")
DEFAULT_INSTANCE_TYPE = "m1.small"


@dataclass(slots=True)
class LaunchSpec:
    """One instance to be: the request laid over its launch template version."""

    data: dict[str, Any]
    template: Any | None
    subnet: Any
    tags: dict[str, dict[str, str]]
    facts: dict[str, Any]
    placement_group: str
    reservation: str = ""

    @property
    def interfaces(self) -> list[dict[str, Any]]:
        """The interfaces asked for, primary first; one plain interface when none are."""
        asked = self.data.get("NetworkInterfaces") or [
            {"DeviceIndex": 0, "Groups": self.data.get("SecurityGroupIds", [])}
        ]
        return sorted(asked, key=lambda each: (launch_rules.card_of(each), launch_rules.device_of(each)))


@AMENDMENTS.around(EC2Response, "run_instances")
def run_instances(_original: Any, self: Any) -> ActionResult:
    """Start as many instances as MaxCount and the account allow; a ClientToken seen before gets the same ones."""
    request = plain(self.params)
    backend = self.ec2_backend
    tokens: dict[str, Any] = backend.__dict__.setdefault("launch_tokens", {})
    token = request.get("ClientToken")
    if token in tokens:
        return ActionResult(tokens[token])
    spec = specified(backend, self.region, request)
    self.error_on_dryrun()
    most = int(request.get("MaxCount") or 1)
    count = room(backend, self.region, spec.data, int(request.get("MinCount") or most), most)
    reservation = launch(backend, self.region, spec, count)
    if token:
        tokens[token] = reservation
    return ActionResult(reservation)


@AMENDMENTS.around(Instance, "terminate")
def terminate(original: Any, self: Any) -> Any:
    """Once more is no error (EC2 API reference, TerminateInstances: "idempotent"); moto misses the interfaces then."""
    return copy(self._state) if self.state == "terminated" else original(self)


def specified(backend: Any, region: str, request: dict[str, Any]) -> LaunchSpec:
    template = _template(backend, request.get("LaunchTemplate"))
    data = dict(template.data) if template else {}
    tags = _tags(data.pop("TagSpecifications", []), request.get("TagSpecifications", []))
    data |= {key: value for key, value in request.items() if key not in _SELECTORS}
    interfaces = data.get("NetworkInterfaces") or []
    if interfaces and (data.get("SecurityGroupIds") or data.get("SecurityGroups")):
        message = "Network interfaces and an instance-level security groups may not be specified on the same request"
        raise refusal("InvalidParameterCombination", message)
    if request.get("NetworkInterfaces") and request.get("SubnetId"):
        message = "Network interfaces and an instance-level subnet ID may not be specified on the same request"
        raise refusal("InvalidParameterCombination", message)
    subnet = _subnet(backend, [each.get("SubnetId") for each in interfaces], request.get("SubnetId"))
    data["ImageId"] = data.get("ImageId") or _node_image(tags)
    data["InstanceType"] = data.get("InstanceType") or DEFAULT_INSTANCE_TYPE
    facts = launch_rules.require_instance_type(data["InstanceType"], region, subnet.availability_zone)
    placement = launch_rules.check_placement(backend, facts, data.get("Placement", {}), subnet.availability_zone)
    spec = LaunchSpec(data, template, subnet, tags, facts, placement)
    launch_rules.check_interfaces(backend, facts, spec.interfaces, subnet)
    count = int(request.get("MaxCount") or 1)
    spec.reservation = check_target(backend, data, subnet.availability_zone, count)
    require_groups(backend, data.get("SecurityGroupIds", []), subnet)
    _check_profile_and_keys(region, data)
    return spec


def _template(backend: Any, named: dict[str, Any] | None) -> Any | None:
    if not named:
        return None
    ids, names = named.get("LaunchTemplateId"), named.get("LaunchTemplateName")
    found = backend.describe_launch_templates([names] if names else None, [ids] if ids else None)
    return found[0].get_version(named.get("Version") or "$Default")


def _subnet(backend: Any, of_interfaces: list[str | None], requested: str | None) -> Any:
    named = {subnet_id for subnet_id in (*of_interfaces, requested) if subnet_id}
    if len(named) > 1:
        raise refusal(
            "InvalidParameterCombination", f"Interfaces of one launch are in different subnets: {sorted(named)}"
        )
    if named:
        return backend.get_subnet(named.pop())
    defaults = backend.get_default_subnets()
    if not defaults:
        raise refusal("MissingInput", "No subnets found for the default VPC. Please specify a subnet.")
    return next(iter(defaults.values()))


def _node_image(tags: dict[str, dict[str, str]]) -> str:
    """EKS puts its own image into the node groups' launches; everybody else must name one."""
    nodegroup = tags.get("instance", {}).get("eks:nodegroup-name")
    if nodegroup is None:
        raise refusal("MissingParameter", "The request must contain the parameter ImageId")
    return "ami-" + sha256(nodegroup.encode()).hexdigest()[:17]


def _check_profile_and_keys(region: str, data: dict[str, Any]) -> None:
    profile = data.get("IamInstanceProfile") or {}
    names = {each.name for each in iam().instance_profiles.values()} | {
        each.arn for each in iam().instance_profiles.values()
    }
    wanted = profile.get("Name") or profile.get("Arn")
    if wanted and wanted not in names:
        raise refusal("InvalidParameterValue", f"Value ({wanted}) for parameter iamInstanceProfile.name is invalid.")
    for mapping in data.get("BlockDeviceMappings", []):
        require_key(region, mapping.get("Ebs", {}).get("KmsKeyId"))


def _tags(of_template: list[dict[str, Any]], of_request: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    tags: dict[str, dict[str, str]] = {}
    for specification in (*of_template, *of_request):
        rows = specification.get("Tags", [])
        tags.setdefault(specification["ResourceType"], {}).update({row["Key"]: row.get("Value", "") for row in rows})
    return tags


def launch(backend: Any, region: str, spec: LaunchSpec, count: int) -> Any:
    data = spec.data
    primary = spec.interfaces[0]
    user_data = data.get("UserData")
    options: dict[str, Any] = {
        "instance_type": data["InstanceType"],
        "is_instance_type_default": False,
        "region_name": region,
        "subnet_id": spec.subnet.id,
        "key_name": data.get("KeyName"),
        "ebs_optimized": data.get("EbsOptimized", False),
        "nics": [
            {
                **primary,
                "SubnetId": spec.subnet.id,
                "DeviceIndex": 0,
                "DeleteOnTermination": _dies(primary),
                "AssociatePublicIpAddress": _public(primary, spec),
            }
        ],
        "tags": spec.tags,
        "lifecycle": (data.get("InstanceMarketOptions") or {}).get("MarketType"),
        "metadata_options": data.get("MetadataOptions") or {},
        "disable_api_termination": data.get("DisableApiTermination", False),
        "monitoring_state": "enabled" if (data.get("Monitoring") or {}).get("Enabled") else "disabled",
    }
    mappings = [_mapping(each) for each in data.get("BlockDeviceMappings", []) if "Ebs" in each]
    if mappings:
        options["block_device_mappings"] = mappings
    encoded = parse_user_data(user_data) if isinstance(user_data, str) else user_data
    reservation = backend.run_instances(data["ImageId"], count, encoded, [], **options)
    for instance in reservation.instances:
        _finish(backend, instance, spec)
    return reservation


def _finish(backend: Any, instance: Any, spec: LaunchSpec) -> None:
    """What moto leaves out of an instance: its further interfaces, placement and the template's marks."""
    primary, *others = spec.interfaces
    _shape(instance.nics[0], primary, spec)
    for index, asked in enumerate(others, start=1):
        interface = backend.create_network_interface(
            spec.subnet,
            None,
            group_ids=asked.get("Groups") or [],
            description=asked.get("Description"),
            delete_on_termination=_dies(asked),
        )
        instance.attach_eni(interface, index)
        interface.device_index = launch_rules.device_of(asked)
        _shape(interface, asked, spec)
    instance.security_groups = list(instance.nics[0]._group_set)
    if profile := spec.data.get("IamInstanceProfile"):
        backend.associate_iam_instance_profile(instance.id, profile.get("Name"), profile.get("Arn"))
    placement = spec.data.get("Placement") or {}
    instance.placement.group_name = spec.placement_group
    instance.placement.tenancy = placement.get("Tenancy", "default")
    instance.taken_from = spec.reservation
    if spec.template is not None:
        marks = {"id": spec.template.template.id, "version": str(spec.template.number)}
        instance.add_tags({f"aws:ec2launchtemplate:{key}": value for key, value in marks.items()})


def _shape(interface: Any, asked: dict[str, Any], spec: LaunchSpec) -> None:
    """Type, card and tags; an efa-only interface has no address."""
    interface.interface_type = launch_rules.kind_of(asked)
    interface.network_card_index = launch_rules.card_of(asked)
    interface.add_tags(spec.tags.get("network-interface", {}))
    if interface.interface_type == "efa-only":
        for address in interface.private_ip_addresses:
            interface.subnet.del_subnet_ip(address["PrivateIpAddress"])
        interface.private_ip_addresses = []
        interface.private_ip_address = None


def _dies(asked: dict[str, Any]) -> bool:
    """Interfaces made by a launch go with their instance unless the request says no."""
    return bool(asked.get("DeleteOnTermination", True))


def _public(primary: dict[str, Any], spec: LaunchSpec) -> bool:
    """A public address is what the request says, else what the subnet says; with several interfaces there is none.

    Source: EC2 user guide, "Assign a public IPv4 address at launch". moto heeds the subnet only without interfaces.
    """
    asked = primary.get("AssociatePublicIpAddress")
    given = spec.subnet.map_public_ip_on_launch if asked is None else asked
    return len(spec.interfaces) == 1 and str(given).lower() == "true"


def _mapping(asked: dict[str, Any]) -> dict[str, Any]:
    return {**asked, "Ebs": {"DeleteOnTermination": True, **asked["Ebs"]}}


def plain(value: Any) -> Any:
    """Moto's case-folding dictionaries as plain ones, by the API's member names."""
    if hasattr(value, "original_dict"):
        return {key: plain(item) for key, item in value.original_dict().items()}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value
