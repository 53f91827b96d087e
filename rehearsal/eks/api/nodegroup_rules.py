"""What EKS refuses in a node group. Sources: EKS user guide, "Customize managed nodes with launch templates" and
"Create a managed node group for your cluster"; API reference, CreateNodegroup; the instance facts are moto's.
"""

from typing import Any

from moto.core.types import Base64EncodedString
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES

from rehearsal.cloud.account import ec2
from rehearsal.cloud.service import Refusal
from rehearsal.eks.api.checks import invalid
from rehearsal.eks.api.versions import KUBERNETES, minor, release_fits

DEFAULT_INSTANCE_TYPE = "t3.medium"
MAX_INSTANCE_TYPES = 20
VERSION_SKEW = 3
MAX_UNAVAILABLE = 100
OVERRIDE_MEMBERS = ("nodeMonitoringCondition", "nodeUnhealthyReason", "minRepairWaitTimeMins", "repairAction")


def check_scaling(scaling: dict[str, int]) -> None:
    """min <= desired <= max."""
    low, desired, high = scaling["minSize"], scaling["desiredSize"], scaling["maxSize"]
    if low > desired:
        raise invalid(f"Minimum capacity {low} can't be greater than desired size {desired}")
    if desired > high:
        raise invalid(f"desired capacity {desired} can't be greater than max size {high}")


def check_update_config(config: dict[str, Any]) -> None:
    """One of the two ways to say how many nodes may be away, 100 of them at most."""
    if ("maxUnavailable" in config) is ("maxUnavailablePercentage" in config):
        raise invalid("Exactly one of maxUnavailable and maxUnavailablePercentage has to be given in updateConfig")
    if int(config.get("maxUnavailable") or 0) > MAX_UNAVAILABLE:
        raise invalid(f"maxUnavailable is at most {MAX_UNAVAILABLE}")


def check_repair_config(config: dict[str, Any]) -> None:
    """A count or a percentage of each limit, and whole overrides (API reference, NodeRepairConfig)."""
    for limit in ("maxUnhealthyNodeThreshold", "maxParallelNodesRepaired"):
        if config.get(f"{limit}Count") and config.get(f"{limit}Percentage"):
            raise invalid(f"{limit}Count and {limit}Percentage cannot both be given in nodeRepairConfig")
    for each in config.get("nodeRepairConfigOverrides") or []:
        missing = [member for member in OVERRIDE_MEMBERS if each.get(member) is None]
        if missing:
            raise invalid(f"An override of nodeRepairConfig lacks {', '.join(missing)}")


def check_version(cluster: str, version: str, ami_type: str, release: str | None) -> None:
    """Nodes are never newer than the cluster, at most three minors older, and the AMI release is of their minor."""
    if version not in KUBERNETES or not 0 <= minor(cluster) - minor(version) <= VERSION_SKEW:
        raise invalid(f"Nodegroup Kubernetes version {version} does not fit the cluster's Kubernetes version {cluster}")
    if release and not release_fits(release, version, ami_type):
        raise invalid(f"Requested release version {release} is not valid for kubernetes version {version}")


def template_of(region: str, given: dict[str, Any]) -> Any | None:
    """The launch template version a request names, if it may be used for a managed node group."""
    named = given.get("launchTemplate")
    if not named:
        return None
    if bool(named.get("id")) == bool(named.get("name")):
        raise invalid("You must specify either the launch template ID or the launch template name, but not both")
    backend = ec2(region)
    template_id = named.get("id") or backend.launch_template_name_to_ids.get(named["name"])
    template = backend.launch_templates.get(template_id)
    if template is None:
        raise invalid(f"Launch template {named.get('id') or named.get('name')} does not exist")
    number = str(named.get("version") or template.default_version_number)
    known = {str(version.number) for version in template.versions} | {"$Latest", "$Default"}
    if number not in known:
        raise invalid(f"Launch template {template.id} has no version {number}")
    version = template.get_version(number)
    _check_template(given, version.data)
    return version


def _check_template(given: dict[str, Any], data: dict[str, Any]) -> None:
    for member in ("diskSize", "remoteAccess"):
        if given.get(member):
            raise invalid(f"{member} cannot be given with a launch template; set it in the launch template")
    if data.get("IamInstanceProfile"):
        raise _bad_template("Launch template should not specify an instance profile: EKS uses the node role")
    if data.get("InstanceInitiatedShutdownBehavior") or data.get("HibernationOptions"):
        raise _bad_template("Launch template should not specify shutdown or hibernation behaviour")
    interfaces = data.get("NetworkInterfaces", [])
    if any(interface.get("SubnetId") for interface in interfaces):
        raise _bad_template("Launch template should not specify a subnet: the node group has them")
    if interfaces and (data.get("SecurityGroupIds") or data.get("SecurityGroups")):
        raise _bad_template("Launch template should not specify security groups and network interfaces with groups")
    capacity_block = given.get("capacityType") == "CAPACITY_BLOCK"
    market = data.get("InstanceMarketOptions", {}).get("MarketType")
    if market and not (capacity_block and market == "capacity-block"):
        raise _bad_template(f"Launch template should not specify market type {market}")
    if capacity_block and market != "capacity-block":
        raise _bad_template("Capacity type CAPACITY_BLOCK needs market type capacity-block in the launch template")
    chosen = given.get("amiType", "CUSTOM") != "CUSTOM" or given.get("version") or given.get("releaseVersion")
    if data.get("ImageId") and chosen:
        raise invalid("You cannot specify amiType, version or releaseVersion with an image in your launch template")


def instance_types(given: dict[str, Any], template: Any | None) -> list[str]:
    """The node group's types: from the request or from the template, never from both."""
    listed = given.get("instanceTypes") or []
    in_template = template.data.get("InstanceType") if template else None
    if listed and in_template:
        raise invalid("Instance types cannot be given both in the request and in the launch template")
    if len(listed) > MAX_INSTANCE_TYPES:
        raise invalid(f"At most {MAX_INSTANCE_TYPES} instance types can be given, not {len(listed)}")
    if given.get("capacityType") == "CAPACITY_BLOCK" and not in_template:
        raise invalid("Capacity type CAPACITY_BLOCK needs the instance type in the launch template")
    return [in_template] if in_template else listed or [DEFAULT_INSTANCE_TYPE]


def check_ami(region: str, ami_type: str, types: list[str], template: Any | None) -> None:
    """The AMI type must fit every instance type, and Amazon Linux merges user data in MIME form only.

    A type that the region does not offer does not exist for EKS, which asks EC2 there (DescribeInstanceTypes).
    """
    offered = {row["InstanceType"] for row in INSTANCE_TYPE_OFFERINGS["region"].get(region, [])}
    unknown = [name for name in types if name not in INSTANCE_TYPES or name not in offered]
    if unknown:
        raise invalid(f"The following supplied instance types do not exist: {unknown}")
    for name in types:
        if not _fits(ami_type, INSTANCE_TYPES[name]):
            raise invalid(f"[{name}] is not a valid instance type for requested amiType {ami_type}")
    user_data = template.data.get("UserData") if template else None
    if user_data and ami_type.startswith(("AL2_", "AL2023_")) and not _is_mime(user_data):
        raise _bad_template("User data was not in the MIME multipart format.")


def _fits(ami_type: str, facts: dict[str, Any]) -> bool:
    if ami_type == "CUSTOM":
        return True
    wanted = "arm64" if "ARM_64" in ami_type else "x86_64"
    if wanted not in facts["ProcessorInfo"]["SupportedArchitectures"]:
        return False
    if "NVIDIA" in ami_type or ami_type.endswith("_GPU"):
        return any(gpu["Manufacturer"] == "NVIDIA" for gpu in facts.get("GpuInfo", {}).get("Gpus", []))
    return "NEURON" not in ami_type or bool(facts.get("NeuronInfo") or facts.get("InferenceAcceleratorInfo"))


def _is_mime(user_data: Base64EncodedString | str) -> bool:
    encoded = user_data if isinstance(user_data, Base64EncodedString) else Base64EncodedString(user_data)
    head = encoded.decode().lstrip()[:200].lower()
    return bool(head.startswith(("mime-version:", "content-type: multipart/")))


def _bad_template(message: str) -> Refusal:
    return Refusal("InvalidRequestException", message)
